"""Rules about hooks: on tensors, after accumulation, on nodes, on several tensors, on what is saved."""

from __future__ import annotations

from benchmarks.fuzz.draft import Draft, Kind
from benchmarks.fuzz.grammar import rule

DOES = (
    "nothing",
    "nothing",
    "nothing",
    "stashes",
    "scales",
    "raises",
    "returns text",
    "drops",
    "runs backward",
    "returns what it holds",
)


def a_hook(draft: Draft, over: str | None = None) -> str:
    """Return a hook that holds something or nothing, and does something or nothing."""
    does, held = draft.pick(DOES), over or draft.held()
    if does == "drops" and held != "None" and not held.startswith("["):
        held = f"[{held}]"
    if does in ("drops", "runs backward") and held == "None":
        does = "nothing"
    words = ([held] if held != "None" or does != "nothing" else []) + ([repr(does)] if does != "nothing" else [])
    return f"hook({', '.join(['lab', draft.label('h'), *words])})"


@rule(4)
def tensor_hook(draft: Draft) -> str | None:
    name = draft.tensor(grad=True)
    if name is None:
        return None
    over = name if draft.often(0.3) else None
    return draft.bind_handle(f"{name}.register_hook({a_hook(draft, over)})")


@rule(1.5)
def accumulation_hook(draft: Draft) -> str | None:
    name = draft.tensor("leaf", grad=True)
    if name is None:
        return None
    over = name if draft.often(0.4) else None
    return draft.bind_handle(f"{name}.register_post_accumulate_grad_hook({a_hook(draft, over)})")


@rule(2.5)
def node_hook(draft: Draft) -> str | None:
    name = draft.made()
    if name is None:
        return None
    node = draft.pick([*draft.nodes, f"{name}.grad_fn"])
    over = name if draft.often(0.2) else None
    return draft.bind_handle(f"{node}.{draft.pick(('register_hook', 'register_prehook'))}({a_hook(draft, over)})")


@rule(1)
def hook_on_several(draft: Draft) -> str | None:
    one, other = draft.tensor(grad=True), draft.tensor(grad=True)
    if one is None or other is None:
        return None
    mode = draft.pick(("", ", mode='any'"))
    call = f"fw.autograd.graph.register_multi_grad_hook(({one}, {other}), {a_hook(draft)}{mode})"
    return draft.bind_handle(call)


@rule(1.8)
def hook_removed(draft: Draft) -> str | None:
    return f"{draft.pick(draft.handles)}.remove()" if draft.handles else None


@rule(0.9)
def hooks_of_a_tensor_set(draft: Draft) -> str | None:
    name = draft.tensor()
    return None if name is None else f"{name}._backward_hooks = {draft.pick(('None', '{}'))}"


PACKING = ("same", "list", "detached", "numbers", "other", "raises", "changes")


def hooks_of_saving(draft: Draft) -> str:
    kind = draft.pick(PACKING) if draft.often(0.6) else "list"
    back = draft.pick(("unpack raises", "text")) if draft.often(0.1) else kind
    over = draft.held()
    while kind == "other" and over == "None" and draft.tensors:
        over = draft.pick(list(draft.tensors))
    packing = ", ".join(["lab", draft.label("p"), repr(kind), *([over] if over != "None" else [])])
    return f"pack({packing}), unpack(lab, {draft.label('u')}, {back!r})"


@rule(3)
def saved_hooks(draft: Draft) -> str | None:
    name, other = draft.tensor(grad=True), draft.tensor()
    if name is None or other is None:
        return None
    op = draft.pick(("*", "sin", "exp", "/", "tanh", "**", "@", "custom"))
    if op == "custom":
        made = f"custom(lab, {draft.label('f')}, save={draft.pick(('input', 'output', 'middle', 'both'))!r}, back='reads saved')"
        expression = f"{made}.apply({name})"
    else:
        expression = f"{name}.{op}()" if op.isalpha() else f"{name} {op} {'2' if op == '**' else other}"
    kind = Kind(max(draft.tensors[name].dims, draft.tensors[other].dims), True, op)
    hooks = hooks_of_saving(draft)
    return f"with fw.autograd.graph.saved_tensors_hooks({hooks}): {draft.bind(expression, kind)}"


@rule(5)
def hooks_of_a_saved_slot(draft: Draft) -> str | None:
    """Set hooks on one slot of a node. The handle never outlives its node: in PyTorch it would read another's memory."""
    slots = {"*": "self", "sin": "self", "exp": "result", "/": "other", "tanh": "result", "**": "self", "cos": "self"}
    ops = {name: op for name, op in draft.nodes.items() if op in slots}
    ops.update((f"{name}.grad_fn", kind.op) for name, kind in draft.tensors.items() if kind.op in slots)
    if not ops:
        return None
    node = draft.pick(list(ops))
    return f"{node}._raw_saved_{slots[ops[node]]}.register_hooks({hooks_of_saving(draft)})"
