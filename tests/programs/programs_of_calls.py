"""Small programs that call backward and grad in every way, right and wrong, and ask about the call while it runs."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

from programs_tools import attempt, function, programs_in, values, vector


def told_warnings(action: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        action()
    return [f"{item.category.__name__}: {str(item.message).split(' (Triggered internally')[0]}" for item in caught]


def chain(framework: Any) -> Any:
    x = vector(framework, 1.0, 2.0, 3.0)
    y = x * 2
    return x, y, y.sum()


def arguments_of_grad(fw: Any) -> Any:
    x, y, z = chain(fw)
    grad, other = fw.autograd.grad, vector(fw, 1.0, 1.0)
    calls: list[Any] = [
        lambda: grad(z, None),
        lambda: grad(z, 3),
        lambda: grad(3, x),
        lambda: grad(z, []),
        lambda: grad([], x),
        lambda: grad(z, (y.grad_fn, 0)),
        lambda: grad(z, [(y.grad_fn, 0)]),
        lambda: grad(z, [x, other], retain_graph=True),
        lambda: grad(z, [x, other.detach()], retain_graph=True),
        lambda: grad(z, x, allow_unused=False, materialize_grads=True),
        lambda: grad(y, x),
        lambda: grad(y, x, y, retain_graph=True),
        lambda: grad(y, x, [None]),
        lambda: grad(y, x, [3]),
        lambda: grad(y, x, vector(fw, 1.0, 1.0)),
        lambda: grad(y.detach(), x),
        lambda: grad(fw.tensor(1), x),
    ]
    return [attempt(call) for call in calls]


def arguments_of_backward(fw: Any) -> Any:
    _, y, z = chain(fw)
    backward, one = fw.autograd.backward, fw.ones(())
    calls: list[Any] = [
        lambda: backward(z, inputs=[]),
        lambda: backward(z, inputs=[3]),
        lambda: backward(z, inputs=3),
        lambda: backward(z, inputs=[fw.ones(3)]),
        lambda: backward(z, [None, None], retain_graph=True),
        lambda: backward([z, z], [None]),
        lambda: backward(z, 3),
        lambda: backward(z, [3]),
        lambda: backward(y),
        lambda: backward(y, fw.ones(2)),
        lambda: backward(fw.ones(3)),
        lambda: backward([z, fw.ones(())], retain_graph=True),
        lambda: backward(z, grad_tensors=one, grad_variables=one),
        lambda: z.backward(3),
        lambda: backward(fw.tensor(1)),
    ]
    return [attempt(call) for call in calls]


def deprecated_arguments(fw: Any) -> Any:
    x, _, z = chain(fw)
    return [
        told_warnings(lambda: fw.autograd.grad(z, x, only_inputs=False, retain_graph=True)),
        told_warnings(lambda: fw.autograd.backward(z, grad_variables=fw.ones(()))),
    ]


def gradients_that_are_missing(fw: Any) -> Any:
    x, _, z = chain(fw)
    other = vector(fw, 1.0, 1.0)
    made = fw.autograd.grad(z, [x, other], materialize_grads=True, retain_graph=True, create_graph=True)
    edge = fw.autograd.graph.get_gradient_edge
    return [
        values(made),
        [gradient.requires_grad for gradient in made],
        attempt(lambda: fw.autograd.grad(z, [x, edge(other)], materialize_grads=True)),
    ]


def gradient_of_a_non_leaf(fw: Any) -> Any:
    x, y, _ = chain(fw)
    kept = x * 3
    kept.retain_grad()
    return [told_warnings(partial(getattr, item, "grad")) for item in (x, y, kept)]


def edges_as_outputs_and_inputs(fw: Any) -> Any:
    x, y, z = chain(fw)
    edge = fw.autograd.graph.get_gradient_edge
    whole = fw.autograd.grad(edge(z), x, retain_graph=True)
    seeded = fw.autograd.grad(edge(y), edge(x), fw.ones(3), retain_graph=True)
    refused = [
        attempt(lambda: fw.autograd.grad(edge(y), x)),
        attempt(lambda: fw.autograd.backward(edge(y), fw.ones(2))),
        attempt(lambda: edge(fw.ones(2))),
    ]
    fw.autograd.backward(edge(z), inputs=[edge(x)])
    return [values(whole), values(seeded), refused, x.grad.tolist()]


def what_an_edge_holds(fw: Any) -> Any:
    x, y, _ = chain(fw)
    custom = function(fw, lambda ctx, x: x.clone(), lambda ctx, g: g).apply(x)
    edges = [fw.autograd.graph.get_gradient_edge(item) for item in (x, y, custom)]
    tokens = [type(edge.ownership_token).__name__ for edge in edges]
    return [tokens, [type(edge.node).__name__ for edge in edges], [edge.output_nr for edge in edges], edges[0]._fields]


def an_edge_keeps_a_custom_graph(fw: Any) -> Any:
    x = vector(fw)
    y = function(fw, lambda ctx, x: x * 2, lambda ctx, g: g * 2).apply(x)
    edge = fw.autograd.graph.get_gradient_edge(y)
    del y
    return values(fw.autograd.grad(edge, x, fw.ones(1)))


def what_a_call_will_run(fw: Any) -> Any:
    x, other = vector(fw), vector(fw)
    y = x * 2
    z = y * other
    leaf = fw.autograd.graph.get_gradient_edge(x).node
    seen: list[Any] = []

    def ask(gradient: Any) -> None:
        will = fw._C._will_engine_execute_node
        seen.append([attempt(lambda: will(leaf)), will(y.grad_fn), will(z.grad_fn), attempt(lambda: will(3))])

    z.register_hook(ask)
    z.backward(retain_graph=True)
    fw.autograd.grad(z, y, retain_graph=True)
    fw.autograd.grad(z, x, retain_graph=True)
    z.backward(inputs=[other], retain_graph=True)
    return [seen, attempt(lambda: fw._C._will_engine_execute_node(z.grad_fn))]


def the_order_of_a_call(fw: Any) -> Any:
    x, other = vector(fw), vector(fw)
    z = (x.sin() * other).exp() + x
    seen: list[Any] = []

    def ask(gradient: Any) -> None:
        seen.append([node.name() for node in fw._C._current_graph_task_execution_order()])

    z.register_hook(ask)
    refused = attempt(lambda: z.backward(retain_graph=True))
    with fw.autograd.set_multithreading_enabled(False):
        z.backward(retain_graph=True)
        fw.autograd.grad(z, other)
    return [refused, seen, attempt(fw._C._current_graph_task_execution_order)]


def the_node_that_runs(fw: Any) -> Any:
    x = vector(fw)
    y = x * 2
    seen: list[Any] = []

    def ask(*_: Any) -> None:
        seen.append(type(fw._C._current_autograd_node()).__name__)

    for register in (x.register_hook, y.register_hook, y.grad_fn.register_hook, y.grad_fn.register_prehook):
        register(ask)
    x.register_post_accumulate_grad_hook(ask)
    y.backward()
    return [seen, fw._C._current_autograd_node(), fw._C._current_graph_task_id()]


def callbacks_at_the_end(fw: Any) -> Any:
    x = vector(fw)
    said: list[str] = []
    queue = fw.autograd.Variable._execution_engine.queue_callback

    def callback() -> None:
        said.append("first")
        queue(lambda: said.append("added by the first"))

    def hook(gradient: Any) -> None:
        queue(callback)
        said.append("hook")

    y = x * 2
    y.register_hook(hook)
    x.register_hook(lambda gradient: said.append("leaf"))
    y.backward()
    return [said, attempt(lambda: queue(callback)), x.grad.tolist()]


def keeping_the_graph(fw: Any) -> Any:
    _x, _, z = chain(fw)
    ask = fw._C._autograd._get_current_graph_task_keep_graph
    seen = [ask()]
    z.register_hook(lambda gradient: seen.append(ask()))
    z.backward(retain_graph=True)
    z.backward()
    return seen


def nodes_called_by_hand(fw: Any) -> Any:
    _x, _y, z = chain(fw)
    node, one = z.grad_fn, fw.ones(())
    calls: list[Any] = [
        lambda: node(),
        lambda: node(one, one),
        lambda: node(3),
        lambda: node(one),
        lambda: node.register_hook(),
        lambda: node.register_prehook(),
        lambda: node._register_hook_dict(3),
    ]
    return [[attempt(call) for call in calls], node(None) is None, node(one).tolist()]


def what_nodes_say(fw: Any) -> Any:
    x, y, z = chain(fw)
    custom = function(fw, lambda ctx, x: x.clone(), lambda ctx, g: g).apply(x)
    nodes = [y.grad_fn, z.grad_fn, custom.grad_fn, y.grad_fn.next_functions[0][0]]
    metadata = [
        [(tuple(item.shape), str(item.dtype), str(item.device)) for item in node._input_metadata] for node in nodes
    ]
    nested = [item.is_nested_tensor or item.is_cpp_nested_tensor for node in nodes for item in node._input_metadata]
    before = z.grad_fn._sequence_nr() - y.grad_fn._sequence_nr()
    z.grad_fn._set_sequence_nr(5)
    are_nodes = [isinstance(node, fw.autograd.graph.Node) for node in nodes] + [isinstance(x, fw.autograd.graph.Node)]
    return [metadata, nested, before, z.grad_fn._sequence_nr(), are_nodes, [node.name() for node in nodes]]


def nodes_that_stand_in(fw: Any) -> Any:
    x, y, _ = chain(fw)
    functions = fw._C._functions
    refused = functions.DelayedError("not again", 2)(x, y)
    swallowed = functions.UndefinedGrad()(x)
    (swallowed * 1).sum().backward()
    return [
        [type(item.grad_fn).__name__ for item in refused],
        [item.output_nr for item in refused],
        attempt(lambda: (refused[0] + refused[1]).sum().backward()),
        type(swallowed.grad_fn).__name__,
        swallowed.tolist(),
        x.grad,
        functions.DelayedError("never", 1)(x.detach()).requires_grad,
    ]


def once_only(fw: Any) -> Any:
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient * 2, None

    once = fw.autograd.function.once_differentiable(backward)
    x = vector(fw)
    y = function(fw, lambda ctx, x, n: x * n, once).apply(x, 2)
    (gradient,) = fw.autograd.grad(y, x, create_graph=True)
    return [gradient.requires_grad, type(gradient.grad_fn).__name__, attempt(gradient.backward)]


def changes_of_versions(fw: Any) -> Any:
    a, b = vector(fw, requires_grad=False), vector(fw)
    increment = fw.autograd.graph.increment_version
    increment(a)
    increment([a, b])
    seen = [a._version, b._version, attempt(lambda: increment(3)), attempt(lambda: increment([3]))]
    with fw.autograd._unsafe_preserve_version_counter(a):
        a.add_(1)
    return [*seen, a._version]


def attributes_of_tensors(fw: Any) -> Any:
    seen: list[Any] = []
    for name in ("requires_grad", "grad", "data", "_backward_hooks", "_grad_fn", "_post_accumulate_grad_hooks"):
        x = vector(fw)
        seen.append([attempt(partial(delattr, x, name)), attempt(partial(setattr, x, name, None))])
    x = vector(fw)
    seen.append(told_warnings(lambda: x.volatile))
    seen.append(told_warnings(lambda: setattr(x, "volatile", True)))
    seen.append([x._grad_fn, x._fix_weakref(), type((x * 2)._grad_fn).__name__])
    return seen


def weak_references_to_the_impl(fw: Any) -> Any:
    x = vector(fw)
    reference = fw._C._WeakTensorRef(x)
    y = x * x
    before = reference.expired()
    del x
    held = reference.expired()
    del y
    return [before, held, reference.expired()]


def cached_tensors(fw: Any) -> Any:
    x = fw.ones(2)
    fw._C._set_cached_tensors_enabled(True)
    try:
        fw._C._add_cached_tensor(x)
        added = fw._C._is_cached_tensor(x)
        fw._C._remove_cached_tensor(x)
        return [added, fw._C._is_cached_tensor(x)]
    finally:
        fw._C._set_cached_tensors_enabled(False)


PROGRAMS = programs_in(globals())
