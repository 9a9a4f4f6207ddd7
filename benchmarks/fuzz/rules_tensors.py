"""Rules that make and change tensors: leaves, operations, views, in-place changes, dropped names."""

from __future__ import annotations

from benchmarks.fuzz.draft import ODD, Draft, Kind
from benchmarks.fuzz.grammar import rule

UNARY = ("sin", "cos", "tanh", "sigmoid", "exp", "neg", "abs", "relu", "square", "clone")
BINARY = ("*", "+", "-", "/")
NUMBERS = ("2", "0.5", "-1.5", "3.0")
VIEWS = {
    0: ("view_as({0})", "unsqueeze(0)", "detach()", "expand(2)", "reshape(1)"),
    1: (
        "view_as({0})",
        "narrow(0, 0, 1)",
        "unsqueeze(0)",
        "unsqueeze(-1)",
        "detach()",
        "view(-1, 1)",
        "expand(2, 2)",
        "select(0, 0)",
    ),
    2: ("view_as({0})", "t()", "squeeze()", "detach()", "view(-1)", "transpose(0, -1)", "select(0, 0)"),
}
CHANGED_DIMS = {
    "unsqueeze(0)": 1,
    "unsqueeze(-1)": 1,
    "view(-1, 1)": 1,
    "expand(2)": 1,
    "expand(2, 2)": 1,
    "reshape(1)": 1,
    "select(0, 0)": -1,
}
CHANGES = (
    "mul_(2)",
    "add_(1)",
    "sin_()",
    "zero_()",
    "exp_()",
    "neg_()",
    "fill_(0.5)",
    "div_(2)",
    "tanh_()",
    "sigmoid_()",
    "pow_(2)",
)


@rule(3)
def leaf(draft: Draft) -> str | None:
    needs_grad = draft.often(0.85)
    numbers = draft.pick(("[1.0, 2.0]", "[0.5, -1.0]", "[-2.0, 0.25]", "1.5", "[[1.0, 2.0], [3.0, -1.0]]"))
    dtype = "float32" if draft.often(0.1) else "float64"
    kind = Kind(numbers.count("[[") + numbers.startswith("["), needs_grad)
    wanted = ", requires_grad=True" if needs_grad else ""
    return draft.bind(f"fw.tensor({numbers}, dtype=fw.{dtype}{wanted})", kind)


@rule(4)
def unary(draft: Draft) -> str | None:
    name = draft.tensor()
    if name is None:
        return None
    op, kind = draft.pick(UNARY), draft.tensors[name]
    return draft.bind(f"{name}.{op}()", Kind(kind.dims, kind.needs_grad, op))


@rule(4)
def binary(draft: Draft) -> str | None:
    one, other = draft.tensor(), draft.tensor()
    if one is None or other is None:
        return None
    op, left, right = draft.pick(BINARY), draft.tensors[one], draft.tensors[other]
    return draft.bind(f"{one} {op} {other}", Kind(max(left.dims, right.dims), left.needs_grad or right.needs_grad, op))


@rule(3)
def with_a_number(draft: Draft) -> str | None:
    name = draft.tensor()
    if name is None:
        return None
    op, kind = draft.pick((*BINARY, "**")), draft.tensors[name]
    number = "2" if op == "**" else draft.pick(NUMBERS)
    return draft.bind(f"{name} {op} {number}", Kind(kind.dims, kind.needs_grad, op))


@rule(1.5)
def reduction(draft: Draft) -> str | None:
    name = draft.tensor()
    if name is None:
        return None
    op = draft.pick(("sum", "mean", "prod", "max"))
    return draft.bind(f"{name}.{op}()", Kind(0, draft.tensors[name].needs_grad, op))


@rule(1)
def joined(draft: Draft) -> str | None:
    one, other = draft.tensor(), draft.tensor()
    if one is None or other is None:
        return None
    kind = draft.tensors[one]
    return draft.bind(f"fw.{draft.pick(('cat', 'stack'))}([{one}, {other}])", Kind(kind.dims, True, "joined"))


@rule(4)
def view(draft: Draft) -> str | None:
    name = draft.tensor()
    if name is None:
        return None
    kind = draft.tensors[name]
    op = draft.pick(VIEWS[min(kind.dims, 2)])
    dims = 1 if op in ("view(-1)", "squeeze()") else max(kind.dims + CHANGED_DIMS.get(op, 0), 0)
    needs_grad = kind.needs_grad and op != "detach()"
    return draft.bind(f"{name}.{op.format(name)}", Kind(dims, needs_grad, "leaf" if op == "detach()" else "view"))


@rule(1)
def one_of_several_views(draft: Draft) -> str | None:
    name = draft.tensor(dims=1)
    if name is None:
        return None
    op = draft.pick(("unbind()[0]", "unbind()[1]", "chunk(2)[1]", "split(1)[0]"))
    kind = draft.tensors[name]
    return draft.bind(f"{name}.{op}", Kind(0 if "unbind" in op else 1, kind.needs_grad, "unbind"))


@rule(1)
def indexed(draft: Draft) -> str | None:
    name = draft.tensor(dims=1)
    if name is None:
        return None
    op = draft.pick(("[0]", "[1:]", "[:]", "[[0]]", "[None]", "[...]"))
    kind = draft.tensors[name]
    dims = {"[0]": 0, "[None]": 2}.get(op, 1)
    return draft.bind(f"{name}{op}", Kind(dims, kind.needs_grad, "view"))


@rule(3)
def changed_in_place(draft: Draft) -> str | None:
    name = draft.made() if draft.often(0.8) else draft.tensor()
    return None if name is None else f"{name}.{draft.pick(CHANGES)}"


@rule(1.5)
def changed_by_another(draft: Draft) -> str | None:
    name, other = draft.made(), draft.tensor()
    if name is None or other is None:
        return None
    return f"{name}.{draft.pick(('mul_', 'add_', 'copy_', 'sub_', 'div_'))}({other})"


@rule(1)
def assigned_at_index(draft: Draft) -> str | None:
    name, other = draft.made(), draft.tensor(dims=0)
    if name is None:
        return None
    value = other if other is not None and draft.often(0.5) else draft.pick(NUMBERS)
    return f"{name}[{draft.pick(('0', ':', '1:', '...'))}] = {value}"


@rule(1)
def under_no_grad(draft: Draft) -> str | None:
    name = draft.tensor()
    if name is None:
        return None
    mode = draft.pick(("no_grad()", "no_grad()", "inference_mode()", "enable_grad()", "set_grad_enabled(False)"))
    if draft.often(0.5):
        return f"with fw.{mode}: {name}.{draft.pick(CHANGES)}"
    kind = draft.tensors[name]
    op = draft.pick(("* 2", ".sin()", ".view_as({0})", ".detach()", ".clone()")).format(name)
    return f"with fw.{mode}: " + draft.bind(f"{name} {op}" if op[0] == "*" else name + op, Kind(kind.dims, False))


@rule(1)
def attribute_changed(draft: Draft) -> str | None:
    name, other = draft.tensor(), draft.tensor()
    if name is None or other is None:
        return None
    change = draft.pick(
        (
            "{0}.detach_()",
            "{0}.requires_grad_()",
            "{0}.requires_grad = False",
            "{0}.data = {1}",
            "{0}.data = {1}.data",
            "{0}.requires_grad_(False)",
            "{0}.tag = 'tag'",
            "{0}.data.mul_(2)",
            "{0}.detach().add_(1)",
        )
    )
    return change.format(name, other)


@rule(1)
def gradient_assigned(draft: Draft) -> str | None:
    name, other = draft.tensor("leaf"), draft.tensor()
    if name is None or other is None:
        return None
    change = draft.pick(
        (
            "{0}.grad = None",
            "{0}.grad = None",
            "{0}.grad = {1}",
            "{0}.grad = {1}.detach()",
            "{0}.grad.zero_()",
            "del {0}.grad",
            "{0}.grad = {0}",
            "{0}.grad.mul_(2)",
        )
    )
    return change.format(name, other)


@rule(5)
def name_dropped(draft: Draft) -> str | None:
    names = [*draft.tensors, *draft.nodes, *draft.handles]
    if len(names) < 2:
        return None
    name = draft.pick(names)
    if not draft.often(ODD):  # otherwise it is used after its release
        draft.forget(name)
    return f"del {name}"


@rule(0.9)
def several_dropped(draft: Draft) -> str | None:
    names = [*draft.tensors, *draft.nodes]
    if len(names) < 4:
        return None
    chosen = draft.chance.sample(names, 3)
    for name in chosen:
        draft.forget(name)
    return "del " + ", ".join(chosen)


@rule(1.8)
def collect(draft: Draft) -> str | None:
    return "gc.collect()"


@rule(4)
def held(draft: Draft) -> str | None:
    names = [*draft.tensors, *draft.nodes]
    return f"lab.hold({draft.pick(names)})" if names else None


@rule(5)
def tied(draft: Draft) -> str | None:
    """Tie one thing to another by an attribute: cycles, some through the graph."""
    names = [*draft.tensors, *draft.nodes]
    if not names:
        return None
    one, other = draft.pick(names), draft.pick(names)
    if draft.often(0.4):
        other = one
    if one in draft.nodes:
        return f"{one}.metadata['tied'] = {other}"
    return f"{one}.tied = {other}"
