"""Rules about the graph: running it, reading nodes and saved tensors, custom Functions."""

from __future__ import annotations

from benchmarks.fuzz.draft import ODD, Draft, Kind
from benchmarks.fuzz.grammar import rule

FLAGS = (
    "",
    "",
    "",
    "retain_graph=True",
    "retain_graph=True",
    "create_graph=True",
    "retain_graph=False, create_graph=True",
)
SAVED = {
    "*": ("_saved_self", "_saved_other"),
    "/": ("_saved_self", "_saved_other"),
    "**": ("_saved_self", "_saved_exponent"),
    "custom": ("saved_tensors[0]", "saved_tensors", "kept", "needs_input_grad", "saved_tensors"),
    **dict.fromkeys(("sin", "cos", "abs", "square", "max"), ("_saved_self",)),
    **dict.fromkeys(
        ("exp", "tanh", "sigmoid", "relu"), ("_saved_result", "_saved_result", "_raw_saved_result.unpack()")
    ),
    "prod": ("_saved_self", "_saved_result"),
    "sum": ("_saved_self_sym_sizes",),
    "view": ("_saved_self_sym_sizes", "_saved_dim", "_saved_dim1"),
}
QUESTIONS = (
    "{t}.is_leaf", "{t}.requires_grad", "{t}._version", "{t}.retains_grad", "{t}.output_nr", "{t}._is_view()",
    "{t}.grad_fn is None", "{t}.grad is None", "type({t}.grad_fn).__name__", "{t}._base is None", "str({t})",
    "{t}.grad_fn is {t}.grad_fn", "{t}.grad is {t}.grad", "{t}._backward_hooks is None", "{t}.data is {t}.data",
    "{t}.untyped_storage() is {t}.untyped_storage()", "type({t}.grad_fn.next_functions[0][0]).__name__",
    "len({t}.grad_fn.next_functions)", "{t}.grad_fn.name()", "list({t}.__dict__)", "{t}.is_inference()",
    "{t}._backward_hooks and len({t}._backward_hooks)", "{t}.stride()", "{t}._use_count()",
)  # fmt: skip
NODE_QUESTIONS = (
    "{n}.name()", "len({n}.next_functions)", "{n}.next_functions[0][1]", "{n}.requires_grad", "len({n}.metadata)",
    "{n} is {n}.next_functions[0][0]", "{n}.next_functions[0][0] is {n}.next_functions[0][0]", "str({n}).split(' ')[0]",
    "{n}._input_metadata[0].shape", "{n}.variable is None", "callable({n})",
)  # fmt: skip


@rule(5)
def backward(draft: Draft) -> str | None:
    name = draft.made()
    if name is None:
        return None
    root = name if draft.tensors[name].dims == 0 else f"{name}.sum()"
    return f"{root}.backward({draft.pick(FLAGS)})"


@rule(1.5)
def backward_with_gradient(draft: Draft) -> str | None:
    name, other = draft.made(), draft.tensor()
    if name is None or other is None:
        return None
    flags = draft.pick(FLAGS)
    gradient = draft.pick(("fw.ones_like({0})", "{1}", "{0}.detach()", "{0}")).format(name, other)
    return f"{name}.backward({gradient}{', ' * bool(flags)}{flags})"


@rule(1.5)
def partial_backward(draft: Draft) -> str | None:
    name, wanted = draft.made(), draft.tensor(grad=True)
    if name is None or wanted is None:
        return None
    other = draft.tensor(grad=True)
    inputs = f"[{wanted}, {other}]" if other is not None and draft.often(0.3) else f"[{wanted}]"
    flags = draft.pick(FLAGS)
    return f"{name}.sum().backward({flags}{', ' * bool(flags)}inputs={inputs})"


@rule(1)
def several_roots(draft: Draft) -> str | None:
    one, other = draft.made(), draft.made()
    if one is None or other is None:
        return None
    flags = draft.pick(FLAGS)
    return f"fw.autograd.backward([{one}.sum(), {other}.sum()]{', ' * bool(flags)}{flags})"


@rule(2)
def grad(draft: Draft) -> str | None:
    name, wanted = draft.made(), draft.tensor(grad=True)
    if name is None or wanted is None:
        return None
    flags = [draft.pick(FLAGS), draft.pick(("", "allow_unused=True", "materialize_grads=True"))]
    root, given = (f"{name}.sum()", "") if draft.often(0.7) else (name, f"fw.ones_like({name})")
    call = ", ".join(filter(None, [root, f"[{wanted}]", given, *flags]))
    return draft.bind(f"fw.autograd.grad({call})[0]", Kind(draft.tensors[wanted].dims, "create" in call, "grad"))


@rule(1)
def grad_of_several(draft: Draft) -> str | None:
    name, one, other = draft.made(), draft.tensor(grad=True), draft.tensor(grad=True)
    if name is None or one is None or other is None:
        return None
    call = f"fw.autograd.grad({name}.sum(), [{one}, {other}], retain_graph=True, allow_unused=True)"
    kinds = [Kind(draft.tensors[each].dims, False, "grad") for each in (one, other)]
    first, second = (draft.bind("", kind).split(" ")[0] for kind in kinds)
    return f"{first}, {second} = {call}" if first != second else f"{first} = {call}[1]"


@rule(1)
def retained_gradient_read(draft: Draft) -> str | None:
    name = draft.made()
    return None if name is None else draft.bind(f"{name}.grad", Kind(draft.tensors[name].dims, False, "leaf"))


@rule(1)
def retain_grad(draft: Draft) -> str | None:
    name = draft.made()
    return None if name is None else f"{name}.retain_grad()"


@rule(3)
def gradient_read(draft: Draft) -> str | None:
    name = draft.tensor("leaf", grad=True)
    return None if name is None else draft.bind(f"{name}.grad", Kind(draft.tensors[name].dims, False, "leaf"))


@rule(3)
def node_read(draft: Draft) -> str | None:
    name = draft.made()
    return None if name is None else draft.bind_node(f"{name}.grad_fn", draft.tensors[name].op)


@rule(2)
def next_node_read(draft: Draft) -> str | None:
    if not draft.nodes:
        return None
    return draft.bind_node(f"{draft.pick(list(draft.nodes))}.next_functions[0][0]", "unknown")


@rule(2)
def gradient_edge(draft: Draft) -> str | None:
    name = draft.tensor("leaf", grad=True) if draft.often(0.6) else draft.tensor(grad=True)
    if name is None:
        return None
    return draft.bind_node(f"fw.autograd.graph.get_gradient_edge({name}).node", draft.tensors[name].op)


@rule(4)
def saved_read(draft: Draft) -> str | None:
    names = [name for name, op in draft.nodes.items() if op in SAVED]
    if not names:
        return None
    node = draft.pick(names)
    return draft.bind(f"{node}.{draft.pick(SAVED[draft.nodes[node]])}", Kind())


@rule(3)
def accumulated_variable_read(draft: Draft) -> str | None:
    names = [name for name, op in draft.nodes.items() if op == "leaf" or draft.often(ODD)]
    return draft.bind(f"{draft.pick(names)}.variable", Kind()) if names else None


@rule(1)
def other_read(draft: Draft) -> str | None:
    name = draft.tensor()
    if name is None:
        return None
    what = draft.pick(("data", "_base", "tied", "detach()"))
    return draft.bind(f"{name}.{what}", draft.tensors[name])


@rule(2)
def asked(draft: Draft) -> str | None:
    name = draft.made()
    if name is None:
        return None
    if draft.nodes and draft.often(0.4):
        return f"lab.value('answer', {draft.pick(NODE_QUESTIONS).format(n=draft.pick(list(draft.nodes)))})"
    return f"lab.value('answer', {draft.pick(QUESTIONS).format(t=name)})"


KEPT = ("nothing", "nothing", "input", "output", "middle", "view", "other", "itself", "held")
SAVES = ("nothing", "input", "output", "middle", "view", "both", "other")
GIVES = (
    "new",
    "new",
    "new",
    "error",
    "view",
    "part",
    "input",
    "dirty",
    "two",
    "unmaterialized",
    "marked",
    "dirty view",
    "dirty text",
)
RETURN_TWO = ("two", "unmaterialized", "marked")
BACKS = (
    "plain",
    "plain",
    "reads saved",
    "reads saved",
    "reads kept",
    "drops kept",
    "same",
    "none",
    "two",
    "raises",
    "text",
)


@rule(4)
def custom_function(draft: Draft) -> str | None:
    name = draft.tensor(grad=True)
    if name is None:
        return None
    chosen = {
        "keep": draft.pick(KEPT),
        "save": draft.pick(SAVES),
        "gives": draft.pick(GIVES),
        "back": draft.pick(BACKS),
    }
    words = [f"{key}={value!r}" for key, value in chosen.items() if value not in ("nothing", "new", "plain")]
    if "other" in (chosen["keep"], chosen["save"]):
        words.append(f"over={draft.pick([*draft.tensors, *draft.nodes])}")
    if draft.often(0.3):
        words.append("setup=True")
    call = ", ".join(["lab", draft.label("f"), *words])
    which = draft.pick(("[0]", "[1]")) if chosen["gives"] in RETURN_TWO else ""
    return draft.bind(f"custom({call}).apply({name}){which}", Kind(draft.tensors[name].dims, True, "custom"))
