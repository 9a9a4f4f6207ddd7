"""Small programs that tell gradients, flags, names, and the order in which hooks run."""

from __future__ import annotations

from typing import Any

from programs_tools import attempt, function, hooks, programs_in, values, vector


def broadcast_arithmetic(fw: Any) -> Any:
    x, w = fw.ones(2, 1, requires_grad=True), vector(fw, 1.0, 2.0, 4.0)
    y = (x + w) * x / w - w**2
    y.sum().backward()
    return values([y, x.grad, w.grad])


def in_place_chain(fw: Any) -> Any:
    x = vector(fw, 1.0, 2.0)
    y = x * 1
    y.add_(1).mul_(x)
    y[0] = 7.0
    y.sum().backward()
    return [*values([y, x.grad]), y._version, type(y.grad_fn).__name__]


def change_through_a_view(fw: Any) -> Any:
    x = vector(fw, 1.0, 2.0, 3.0, 4.0)
    base = x * 2
    base[1:3].mul_(x[:2])
    base.view(2, 2)[0].add_(1)
    base.sum().backward()
    return values([base, x.grad])


def node_names(fw: Any) -> Any:
    x = fw.ones(2, 3, requires_grad=True)
    made = [
        x + x, x * x, x * 2, x - 1, x / x, -x, x**2, x**x, x.exp(), x.cos(), x.sin(), x.tanh(), x.relu(), x.sqrt(),
        x @ x.t(), x.sum(), x.sum(0), x.mean(), x.clone(), x.view(6), x.reshape(6), x.t(), x.transpose(0, 1), x[0], x[:, 1:],
        x[None], x.expand(2, 2, 3), x.unsqueeze(0), x.view_as(x), fw.cat((x, x)), x.double(), x.detach().requires_grad_() * 1,
    ]  # fmt: skip
    return [type(item.grad_fn).__name__ for item in made]


def next_functions(fw: Any) -> Any:
    x, w = vector(fw), vector(fw, requires_grad=False)
    y = x * w + x.sin()
    found: list[Any] = []
    level = [y.grad_fn]
    while level:
        names = [[(type(node).__name__, number) for node, number in item.next_functions] for item in level]
        found.append(names)
        level = [node for item in level for node, _ in item.next_functions if node is not None]
    return found


def saved_attributes(fw: Any) -> Any:
    x = vector(fw, 3.0)
    y = x.exp()
    names = [[name for name in dir(item.grad_fn) if name.startswith("_saved_")] for item in (x.sin(), y, x * x, x**2)]
    return [names, y.grad_fn._saved_result.tolist(), (x**2).grad_fn._saved_exponent, (x * 5).grad_fn._saved_self]


def every_kind_of_hook(fw: Any) -> Any:
    log: list[str] = []
    x = vector(fw)
    y = x * 3
    z = y.sin()
    for name, tensor in (("x", x), ("y", y), ("z", z)):
        tensor.register_hook(lambda grad, name=name: log.append(f"tensor {name}"))
    for name, node in (("y", y.grad_fn), ("z", z.grad_fn), ("x", y.grad_fn.next_functions[0][0])):
        node.register_hook(lambda outputs, grads, name=name: log.append(f"post {name} {len(outputs)} {len(grads)}"))
        node.register_prehook(lambda grads, name=name: log.append(f"pre {name}"))
    x.register_post_accumulate_grad_hook(lambda leaf: log.append("post-accumulate"))
    z.backward()
    return log


def hooks_of_captured_inputs(fw: Any) -> Any:
    log: list[str] = []
    x = vector(fw)
    y = x * 3
    y.register_hook(lambda grad: log.append("tensor y"))
    y.grad_fn.register_prehook(lambda grads: log.append("pre y"))
    z = y * 2
    fw.autograd.grad(z, y, retain_graph=True)
    log.append("then x")
    fw.autograd.grad(z, (x, y))
    return log


def order_of_branches(fw: Any) -> Any:
    log: list[str] = []
    x = vector(fw)
    first, second, third = x.sin(), x.cos(), x.exp()
    for name, tensor in (("first", first), ("second", second), ("third", third)):
        tensor.register_hook(lambda grad, name=name: log.append(name))
    (third + (first * second)).backward()
    return log


def pack_and_unpack_order(fw: Any) -> Any:
    log: list[str] = []

    def pack(tensor: Any) -> Any:
        log.append(f"pack {tensor.tolist()}")
        return tensor.detach().clone()

    def unpack(tensor: Any) -> Any:
        log.append(f"unpack {tensor.tolist()}")
        return tensor

    x, w = vector(fw, 2.0), vector(fw, 3.0)
    with hooks(fw, pack, unpack):
        y = x * w
        z = y * y
    z.backward()
    return [log, values([x.grad, w.grad])]


def function_with_several_outputs(fw: Any) -> Any:
    seen: list[Any] = []

    def forward(ctx: Any, x: Any, number: float) -> Any:
        ctx.save_for_backward(x)
        mask = x > 1
        ctx.mark_non_differentiable(mask)
        seen.append(list(ctx.needs_input_grad))
        return x * number, mask, x + number

    def backward(ctx: Any, first: Any, mask: Any, last: Any) -> Any:
        seen.append(values([first, last]))
        return first * 2 + last * ctx.saved_tensors[0], None

    x = vector(fw, 1.0, 2.0)
    a, mask, b = function(fw, forward, backward).apply(x, 2.0)
    b.sum().backward(retain_graph=True)
    (a * b).sum().backward()
    return [seen, x.grad.tolist(), mask.tolist(), mask.requires_grad, a.output_nr, b.output_nr]


def returned_inputs(fw: Any) -> Any:
    def forward(ctx: Any, x: Any, w: Any) -> Any:
        w.mul_(3)
        ctx.mark_dirty(w)
        return x, w

    x, w = vector(fw), vector(fw, requires_grad=False)
    y, v = function(fw, forward, lambda ctx, a, b: (a * 10, b * 100)).apply(x, w)
    (y + v).backward()
    return [y is x, v is w, y._base is x, w._version, w.requires_grad, x.grad.tolist(), attempt(lambda: y.mul_(2))]


def second_derivatives(fw: Any) -> Any:
    x = vector(fw, 0.5, 1.5)
    found = []
    for y in (x.sin() * x.exp(), (x.cos() * x).tanh(), x.sqrt() / (x + 1), x**3):
        (first,) = fw.autograd.grad(y.sum(), x, create_graph=True)
        (second,) = fw.autograd.grad((first * first).sum(), x)
        found.append([round(value, 4) for value in [*first.tolist(), *second.tolist()]])
    return found


def reentrant_backward(fw: Any) -> Any:
    log: list[str] = []
    x, other = vector(fw), vector(fw, 3.0)

    def inner(gradient: Any) -> None:
        with fw.enable_grad():
            z = other * other
        z.register_hook(lambda grad: log.append("inner"))
        z.backward()

    y = x * 2
    y.register_hook(inner)
    x.register_hook(lambda grad: log.append("outer"))
    y.backward()
    return [log, *values([x.grad, other.grad])]


def inputs_of_backward(fw: Any) -> Any:
    a, b = vector(fw), vector(fw, 3.0)
    middle = a * b
    (middle * 5).backward(inputs=[middle, a])
    used, unused = fw.autograd.grad(a * 2, (a, b), allow_unused=True)
    filled = fw.autograd.grad(a * 2, (a, b), materialize_grads=True)
    return [*values([middle.grad, a.grad, b.grad, used, unused]), *values(filled)]


def flags(fw: Any) -> Any:
    x = vector(fw)
    y = x * 2
    found = [x, y, x.detach(), x.data, y.detach(), y.view(-1), vector(fw, requires_grad=False)]
    return [
        [
            t.is_leaf,
            t.requires_grad,
            t.grad_fn is None,
            t._base is None,
            t._is_view(),
            t.output_nr,
            t._version,
            t.retains_grad,
        ]
        for t in found
    ]


def identities(fw: Any) -> Any:
    x = vector(fw)
    y = x.exp()
    node = y.grad_fn
    return [
        y.grad_fn is node, node.next_functions[0][0] is node.next_functions[0][0], y._base is None,
        x.untyped_storage() is x.detach().untyped_storage(), node._saved_result is y, x.sin().grad_fn._saved_self is x,
        y.data is y.data, x.grad is None, x[0]._base is x, node.metadata is node.metadata,
    ]  # fmt: skip


def arrays_of_each_dtype(fw: Any) -> Any:
    kinds = [fw.float32, fw.float64, fw.int64, fw.int32, fw.bool, fw.complex64, fw.complex128]
    arrays = [fw.ones(2, dtype=kind).numpy() for kind in kinds]
    return [(str(array.dtype), array.tolist(), str(fw.from_numpy(array).dtype)) for array in arrays]


PROGRAMS = programs_in(globals())
