"""Small programs from the corners: layouts of gradients, views that change under a retained gradient, calls of nodes."""

from __future__ import annotations

import copy
from typing import Any

from programs_tools import attempt, function, hooks, programs_in, same, values, vector


def retained_gradients_move_with_the_history(fw: Any) -> Any:
    x = vector(fw, 1.0, 2.0)
    base = x * 1
    view = base[:1]
    base.retain_grad()
    view.retain_grad()
    view.mul_(3)
    base.sum().backward()
    return values([x.grad, base.grad, view.grad])


def views_of_a_base_that_was_zeroed(fw: Any) -> Any:
    x = vector(fw, 1.0, 2.0)
    y = x * 2
    a, b = y[0], y[1]
    y.zero_()
    return [type(a.grad_fn).__name__, a.tolist(), attempt((a + b).backward), x.grad.tolist()]


def constant_base_that_learns_to_require_grad(fw: Any) -> Any:
    base, x = fw.zeros(3), vector(fw, 5.0, 6.0)
    first, second = base[:2], base[1:]
    seen = [attempt(lambda: first.copy_(x)), attempt(lambda: second.mul_(2))]
    base.sum().backward()
    names = [type(tensor.grad_fn).__name__ for tensor in (base, first, second)]
    return [seen, base.tolist(), x.grad.tolist(), names, first.requires_grad]


def view_of_a_leaf_changed_unrecorded(fw: Any) -> Any:
    x = vector(fw, 1.0, 2.0)
    with fw.no_grad():
        view = x[:1]
        view.mul_(3)
    result = attempt(lambda: view.mul_(2))
    return [x.tolist(), view.requires_grad, view._base is x, x._version, result]


def layout_of_gradients(fw: Any) -> Any:
    found = []
    for factor in (1, 2):
        for leaf in (fw.ones(2, 3), fw.ones(2, 3).t(), fw.ones(4, 3)[::2], fw.ones(1).expand(3)):
            leaf = leaf.detach().requires_grad_()
            (leaf * factor).sum().backward()
            found.append([list(leaf.stride()), list(leaf.grad.stride())])
    return found


def given_gradients_are_added_to(fw: Any) -> Any:
    x = vector(fw)
    x.grad = given = fw.ones(1)
    (x * 2).backward()
    return [x.grad is given, given.item()]


def empty_and_scalar_tensors(fw: Any) -> Any:
    empty, scalar = fw.ones(0, 3, requires_grad=True), fw.tensor(3.0, requires_grad=True)
    (empty * 2).sum().backward()
    (scalar * scalar).backward()
    return [tuple(empty.grad.shape), scalar.grad.item(), attempt(lambda: scalar[0]), attempt(lambda: len(scalar))]


def calls_of_nodes(fw: Any) -> Any:
    x = vector(fw)
    y = x * 3
    accumulator = y.grad_fn.next_functions[0][0]
    seen = [accumulator.variable is x, accumulator.name(), y.grad_fn.name(), attempt(lambda: accumulator._saved_self)]
    found = values([y.grad_fn(fw.ones(1))[0]])
    y.backward()
    return [*seen, *found, attempt(lambda: y.grad_fn(fw.ones(1)))]


def edges_instead_of_tensors(fw: Any) -> Any:
    x = vector(fw)
    y = x * 3
    edge = fw.autograd.graph.get_gradient_edge(x)
    of_node = fw.autograd.graph.get_gradient_edge(y)
    (gradient,) = fw.autograd.grad(y, edge, retain_graph=True)
    (again,) = fw.autograd.grad(of_node, x, fw.ones(1) * 5)
    return [type(edge.node).__name__, edge.output_nr, gradient.item(), again.item()]


def keywords_of_apply(fw: Any) -> Any:
    custom = function(fw, lambda ctx, x, factor=2.0: x * factor, lambda ctx, gradient, *rest: (gradient * 7, None))
    x = vector(fw)
    y = custom.apply(x, factor=4.0)
    return [y.item(), attempt(y.backward), attempt(lambda: custom.apply())]


def unused_outputs_without_materializing(fw: Any) -> Any:
    def forward(ctx: Any, *tensors: Any) -> Any:
        ctx.set_materialize_grads(False)
        return tuple(tensor * 1 for tensor in tensors)

    a, b, c = vector(fw), vector(fw), vector(fw, requires_grad=False)
    outputs = function(fw, forward, lambda ctx, *gradients: gradients).apply(a, b, c)
    outputs[0].backward()
    return [values([a.grad, b.grad, c.grad]), [tensor.requires_grad for tensor in outputs]]


def what_a_functions_pack_hook_sees(fw: Any) -> Any:
    log: list[Any] = []

    def pack(tensor: Any) -> Any:
        log.append([tensor.requires_grad, tensor.grad_fn is not None])
        return tensor.detach()

    def forward(ctx: Any, x: Any) -> Any:
        y = x * 2
        ctx.save_for_backward(x, y)
        return y

    def backward(ctx: Any, gradient: Any) -> Any:
        saved_input, saved_output = ctx.saved_tensors
        log.append([saved_input.requires_grad, saved_output.grad_fn is ctx])
        return gradient * 2

    with hooks(fw, pack, same):
        y = function(fw, forward, backward).apply(vector(fw) * 1)
    y.backward()
    return log


def overlapping_reads_and_writes(fw: Any) -> Any:
    x = vector(fw, 1.0, 2.0, 3.0)
    y = x.clone()
    y[1:] = y[:2].clone() * 2
    y.sum().backward()
    return values([y, x.grad])


def hook_left_behind_by_an_in_place_operation(fw: Any) -> Any:
    seen: list[float] = []
    x = vector(fw)
    a = x.sin()
    a.register_hook(lambda gradient: seen.append(gradient.item()))
    b = a * 3
    a.mul_(1)
    (b + a).backward()
    return [seen, round(x.grad.item(), 4)]


def copies(fw: Any) -> Any:
    x = vector(fw, 1.0, 2.0)
    result = attempt(lambda: copy.deepcopy(x * 2))
    twin = copy.deepcopy(x)
    return [result, twin.tolist(), twin.requires_grad, twin.is_leaf, twin.data_ptr() == x.data_ptr()]


PROGRAMS = programs_in(globals())
