"""Programs of the fuzzer about gradients on their way, marks of Functions, and inference tensors as data of others."""

from __future__ import annotations

import gc
from functools import partial
from typing import Any

from programs_tools import Mark, attempt, function, programs_in, values, vector, watch


def gradient_that_arrives_later_is_not_written_to(fw: Any) -> Any:
    given: list[Any] = []
    x = vector(fw, 1.0, 2.0)
    y = x - x
    y.grad_fn.register_hook(lambda grads, arrived: given.extend(grads))
    (gradient,) = fw.autograd.grad(y.sum(), [x])
    return [gradient is grad for grad in given], values(given), gradient.tolist(), gradient._version


def version_of_a_gradient_of_three_parts(fw: Any) -> Any:
    x = vector(fw, 1.0, 2.0)
    (x + (x - x)).sum().backward()
    return x.grad._version, x.grad.tolist()


def told_hook(seen: list[Any]) -> Any:
    return lambda grads, arrived: seen.append([grad is None for grad in grads])


def joined_parts_of_which_none_is_wanted(fw: Any) -> Any:
    seen: list[Any] = []
    x = vector(fw, 1.0, 2.0)
    for join in (fw.stack, fw.cat):
        joined = join([x, x])
        joined.grad_fn.register_hook(told_hook(seen))
        joined.sum().backward(inputs=[joined])
        joined = join([x, x])
        joined.grad_fn.register_hook(told_hook(seen))
        joined.sum().backward(inputs=[x])
    return seen


def gradient_that_leads_nowhere_is_not_computed(fw: Any) -> Any:
    seen: list[Any] = []
    x = vector(fw, 1.0, 2.0, requires_grad=False)
    part = x.unbind()[0]
    x.requires_grad_()
    y = part.neg()
    y.grad_fn.register_hook(told_hook(seen))
    y.backward()
    return seen, y.grad_fn.next_functions


def chunks_of_nothing(fw: Any) -> Any:
    parts = vector(fw, 1.0)[1:].chunk(3)
    return [list(part.shape) for part in parts], parts[2].grad_fn.name(), parts[2].grad_fn._saved_split_sizes


def dirty_view_of_a_leaf_that_requires_no_more(fw: Any) -> Any:
    def forward(ctx: Any, item: Any) -> Any:
        item.mul_(2)
        ctx.mark_dirty(item)
        return item

    x = vector(fw, 1.0, 2.0)
    part = x.select(0, 0)
    x.requires_grad_(False)
    return attempt(lambda: function(fw, forward, lambda ctx, grad: grad).apply(part))


def indices_that_were_freed_are_refused_without_a_gradient(fw: Any) -> Any:
    x = vector(fw, 1.0, 2.0)
    y = function(fw, lambda ctx, item: item * 2, lambda ctx, grad: None).apply(x[[0]])
    return [attempt(y.sum().backward) for _ in range(2)]


def inference_tensor_as_data(fw: Any) -> Any:
    x = vector(fw, 1.0, 2.0)
    y = x.neg()
    with fw.inference_mode():
        made = fw.ones(2)
    y.data = made.data
    seen = y.is_inference(), y._version, (y * 2).requires_grad, y.sum().requires_grad, y.view(-1)._is_view()
    return seen, attempt(lambda: x * y), attempt(lambda: y.add_(1)), y._version


def data_of_an_inference_tensor(fw: Any) -> Any:
    with fw.inference_mode():
        made = fw.ones(2)
    made.data = vector(fw, 1.0, 2.0, requires_grad=False)
    return made.is_inference(), attempt(lambda: made._version), attempt(lambda: made.view(-1))


def such_views_are_refused_before_they_are_taken_apart(fw: Any) -> Any:
    x = vector(fw, 1.0, 2.0) * 2
    part = x.unbind()[1]
    x.mul_(2)
    return [attempt(part.unbind), attempt(lambda: part.split(1)), attempt(lambda: part.split([3]))]


def gradient_of_a_leaf_whose_data_has_other_sizes(fw: Any) -> Any:
    x = vector(fw, 1.0, 2.0)
    y = x[0].neg()
    x.data = fw.ones(2, 1)
    return attempt(y.backward), x.grad.tolist()


def saved_input_that_was_detached_in_place(fw: Any) -> Any:
    item = vector(fw).neg()
    result = item.square()
    item.detach_()
    return result.grad_fn._saved_self is item, attempt(result.backward)


def two_tensors_that_stand_for_one_output(fw: Any) -> Any:
    x = vector(fw)
    result = x.tanh()
    again = result.grad_fn._saved_result
    result.sum().backward(retain_graph=True, inputs=[result, again])
    return result.grad is None, again.grad.tolist()


def hooks_of_an_accumulator_that_an_unpacked_leaf_shares(fw: Any) -> Any:
    x = vector(fw)
    node = fw.autograd.graph.get_gradient_edge(x).node
    mark = Mark()
    node.register_prehook(lambda grads, held=mark: None)
    seen = watch(mark)
    del mark
    with fw.autograd.graph.saved_tensors_hooks(lambda item: [item], lambda packed: packed[0]):
        product = x * x
    leaf = product.grad_fn._saved_self
    leaf.tied = leaf
    is_same = leaf is x
    del leaf
    gc.collect()
    return is_same, seen[0]() is None


def gradient_edge_of_what_only_looks_like_a_tensor(fw: Any) -> Any:
    node = function(fw, lambda ctx, item: item * 2, lambda ctx, grad: grad).apply(vector(fw)).grad_fn
    said = [attempt(partial(fw.autograd.graph.get_gradient_edge, thing)) for thing in (node, None)]
    return said, attempt(lambda: fw.autograd.graph.register_multi_grad_hook((node, vector(fw)), print))


def changed_window_that_gives_no_gradient(fw: Any) -> Any:
    seen: list[Any] = []

    def forward(ctx: Any, item: Any) -> Any:
        item.mul_(2)
        ctx.mark_dirty(item)
        return item

    base = vector(fw, 1.0, 2.0).neg()
    base.grad_fn.register_hook(lambda grads, arrived: seen.append([grad is None for grad in (*grads, *arrived)]))
    function(fw, forward, lambda ctx, grad: None).apply(base.select(0, 0)).backward()
    return seen


def gradient_of_a_leaf_whose_data_lost_its_dimension(fw: Any) -> Any:
    x = vector(fw, 1.0, 2.0)
    y = (x * 2).sum()
    x.data = fw.tensor(3.0)
    return attempt(y.backward), x.grad.tolist()


def accumulator_after_data_of_another_dtype(fw: Any) -> Any:
    x = vector(fw, 1.0, 2.0)
    edge = fw.autograd.graph.get_gradient_edge(x)
    x.data = fw.ones(2)
    is_same = fw.autograd.graph.get_gradient_edge(x).node is edge.node
    x.data = fw.ones(2, dtype=fw.float64)
    return is_same, fw.autograd.graph.get_gradient_edge(x).node is edge.node


def hooks_of_a_saved_leaf_that_is_none_any_more(fw: Any) -> Any:
    constant = vector(fw, requires_grad=False)
    product = constant * vector(fw)
    constant.mul_(vector(fw))
    return attempt(lambda: product.grad_fn._raw_saved_self.register_hooks(lambda item: item, lambda item: item))


def copy_of_a_number_and_an_integer_divided(fw: Any) -> Any:
    x = vector(fw, 1.0, 2.0, requires_grad=False)
    integer = fw.tensor(3)
    return x.copy_(4).tolist(), attempt(lambda: integer.div_(x)), attempt(lambda: integer.div_(2))


def with_inference_data(fw: Any, tensor: Any) -> tuple[Any, Any]:
    with fw.inference_mode():
        made = vector(fw, 1.0, 2.0, requires_grad=False).neg()
    tensor.data = made.data
    return tensor, made


def leaf_with_inference_data_changed_by_inference_tensors_alone(fw: Any) -> Any:
    seen = []
    changes = ("mul_", "sub_", "copy_"), ("neg_", "zero_", "tanh_")
    for mode in (fw.enable_grad, fw.no_grad, fw.inference_mode):
        for name in changes[0] + changes[1]:
            x, made = with_inference_data(fw, vector(fw, 5.0, 6.0))
            arguments = (made,) if name in changes[0] else ()
            with mode():
                said = attempt(partial(getattr(x, name), *arguments))
            seen.append((name, said, x._version, x.is_leaf, [round(item, 5) for item in x.detach().tolist()]))
    return seen


def leaf_with_inference_data_changed_by_others(fw: Any) -> Any:
    x, _ = with_inference_data(fw, vector(fw, 5.0, 6.0))
    others = vector(fw, 1.0, 1.0, requires_grad=False)
    said = [attempt(call) for call in (partial(x.mul_, others), partial(x.mul_, 2), partial(x.copy_, others))]
    return said, x.detach().tolist()


def version_of_result(fw: Any, is_turned: bool, requires_grad: bool, mode: str, call: tuple[Any, ...]) -> Any:
    with fw.inference_mode():
        made = fw.tensor([[1.0, 2.0], [4.0, 3.0]]).neg()
    x = fw.tensor([[0.0, 0.0], [0.0, 0.0]]).requires_grad_(requires_grad)
    x.data = made.t() if is_turned else made
    name, *arguments = call
    versions: list[int] = []
    with getattr(fw, mode)():
        said = attempt(lambda: versions.append(getattr(x, name)(*arguments)._version))
    return said, versions


def results_that_are_written_into_and_inference_data(fw: Any) -> Any:
    calls: list[tuple[Any, ...]] = [("abs",), ("mean",), ("mean", 0), ("logsumexp", 0)]
    calls += [("sum", 0), ("neg",)]
    modes = (True, "enable_grad"), (True, "no_grad"), (False, "enable_grad")
    return [
        (call, is_turned, mode, version_of_result(fw, is_turned, *mode, call))
        for call in calls
        for is_turned in (False, True)
        for mode in modes
    ]


def largest_and_smallest_of_zeros_of_both_signs(fw: Any) -> Any:
    seen = []
    for items in ([-0.0, 0.0], [0.0, -0.0], [-0.0, -0.0, 0.0], [0.0, float("nan"), -0.0]):
        x = vector(fw, *items)
        found = [x.max(), *x.max(0)]
        seen.append([str(one.item()) for one in found])
    return seen


def requirement_of_a_gradient_by_inference_data(fw: Any) -> Any:
    computed, _ = with_inference_data(fw, vector(fw, 5.0, 6.0) * 2)
    said = [attempt(computed.requires_grad_), attempt(lambda: computed.requires_grad_(False))]
    with fw.inference_mode():
        said.append(attempt(computed.requires_grad_))
        integers = fw.tensor([1, 2]).neg()
    said += [attempt(integers.requires_grad_), attempt(lambda: setattr(integers, "requires_grad", True))]
    return said, computed.is_leaf


def stack_of_inference_tensors_alone(fw: Any) -> Any:
    with fw.inference_mode():
        made = vector(fw, 1.0, 2.0, requires_grad=False).neg()
        inside = fw.stack([made, made])
    seen = [inside.is_inference()]
    for items, dim in (([made, made], 0), ([made, made], 1), ([made, vector(fw, 1.0, 2.0)], 0), ([made.sum()] * 2, 0)):
        joined = fw.stack(items, dim)
        base = joined._base
        seen.append((joined.tolist(), joined.is_inference(), base if base is None else base.tolist()))
    return seen


def data_of_a_normal_tensor_in_an_inference_tensor(fw: Any) -> Any:
    with fw.inference_mode():
        made = vector(fw, 1.0, 2.0, requires_grad=False).neg()
    made.data = vector(fw, 3.0, 4.0, requires_grad=False)
    x = vector(fw, 1.0, 2.0)
    return made.is_inference(), attempt(lambda: x * made), attempt(lambda: made.sin()), (x + made).tolist()


def versions_of_results_of_inference_tensors_alone(fw: Any) -> Any:
    with fw.inference_mode():
        made = vector(fw, 1.0, 2.0, requires_grad=False).neg()
        inside = made.sum()
    results = (made.sum(), made.mean(), made.prod(), made.max(), made.abs(), made.clone(), made.double(), made.neg())
    return [result._version for result in results], inside.is_inference(), made.sum(0)._version


def parts_of_a_view_that_was_made_in_inference_mode(fw: Any) -> Any:
    x = vector(fw, 1.0, 2.0, requires_grad=False)
    with fw.inference_mode():
        view = x.view_as(x)
    with fw.no_grad():
        again = view.view(-1)
    parts = view.unbind()[0], view.split(1)[0], again
    return [attempt(partial(part.add_, vector(fw, 1.0)[0])) for part in parts]


def gradient_edge_of_a_leaf_with_inference_data(fw: Any) -> Any:
    x, _ = with_inference_data(fw, vector(fw, 5.0, 6.0))
    edge = fw.autograd.graph.get_gradient_edge
    said = [attempt(lambda: edge(x)), attempt(lambda: fw.autograd.graph.register_multi_grad_hook((x, x), print))]
    with fw.inference_mode():
        said.append(attempt(lambda: edge(vector(fw))))
    return said


def changed_base_that_is_an_input_of_backward(fw: Any) -> Any:
    seen: list[Any] = []
    x = vector(fw)
    middle = x * 2
    middle.expand(2).zero_()
    middle.grad_fn.register_hook(lambda grads, arrived: seen.append([grad is None for grad in grads]))
    said = [attempt(lambda: middle.sum().backward(inputs=[middle], retain_graph=True))]
    said.append(attempt(lambda: middle.sum().backward(inputs=[x])))
    return said, seen, middle.grad.tolist()


def gradient_of_an_only_factor_that_is_zero(fw: Any) -> Any:
    seen = []
    for arguments in ((), (0,), (0, True)):
        x = vector(fw, 0.0)
        (gradient,) = fw.autograd.grad((x * 2).prod(*arguments).sum(), [x], create_graph=True)
        seen.append((gradient.tolist(), gradient.requires_grad))
    return seen


def gradient_that_was_added_is_owned_until_its_node_has_delivered(fw: Any) -> Any:
    x = vector(fw, 1.0, 2.0)
    places: list[int] = []
    y = x.neg()
    z = y - x
    x.register_hook(lambda grad: places.append(grad.data_ptr()))
    z.grad_fn.register_prehook(lambda grads: places.append(grads[0].data_ptr()))
    (y * (z + x)).sum().backward()
    return places[0] == places[1]


def changed_view_without_gradient_is_saved_as_it_is(fw: Any) -> Any:
    def forward(ctx: Any, a: Any) -> Any:
        ctx.mark_dirty(a)
        ctx.save_for_backward(a)
        ctx.mark_non_differentiable(a)
        return a, a * 2

    view = (vector(fw, 1.0, 2.0) * 1)[:]
    result = function(fw, forward, lambda ctx, *gradients: gradients[1]).apply(view)[1]
    (saved,) = result.grad_fn.saved_tensors
    said = [saved is view, saved.grad_fn and saved.grad_fn.name(), saved.requires_grad]
    (alive,) = watch(view)
    del view, saved
    gc.collect()
    said.append(alive() is not None)
    del result
    gc.collect()
    return [*said, alive() is None]


def accumulators_that_are_called_call_the_hooks_after(fw: Any) -> Any:
    seen: list[Any] = []
    x = vector(fw, 1.0, 2.0)
    x.register_post_accumulate_grad_hook(
        lambda leaf: seen.append(leaf.grad if leaf.grad is None else leaf.grad.tolist())
    )
    node = (x * 1).grad_fn.next_functions[0][0]
    return [attempt(partial(node, given)) for given in (None, fw.ones(2), fw.ones(2), None)], seen


def outputs_that_are_integers_have_no_metadata(fw: Any) -> Any:
    seen = []
    for mark in (False, True):

        def forward(ctx: Any, a: Any, mark: bool = mark) -> Any:
            number = fw.tensor([1, 2])
            if mark:
                ctx.mark_non_differentiable(number)
            return a * 2, number, fw.tensor([True])

        y, number, _ = function(fw, forward, lambda ctx, *gradients: gradients[0]).apply(vector(fw, 1.0, 2.0))
        seen += [(list(each.shape), str(each.dtype)[-7:]) for each in y.grad_fn._input_metadata]
        seen.append((number.grad_fn, number.requires_grad))
        y.sum().backward()
    return seen


def complex_gradients_of_real_inputs(fw: Any) -> Any:
    said: list[Any] = []
    for leaf, given in (
        (fw.ones(2), fw.tensor([1j, 2j])),
        (fw.ones(2, dtype=fw.complex64), fw.ones(2)),
        (fw.ones(2), fw.tensor([1, 2])),
        (fw.ones(2, dtype=fw.complex64), fw.tensor([1, 2])),
        (fw.ones(2), fw.tensor([1j, 2j, 3j])),
        (fw.ones(2), fw.tensor([[1j, 2j]])),
        (fw.ones(2), fw.ones(2, dtype=fw.float64)),
    ):
        leaf.requires_grad_()
        scaled = function(fw, lambda ctx, a: a * 2, lambda ctx, gradient, given=given: given).apply(leaf)
        said.append(attempt(partial(scaled.backward, fw.ones_like(leaf))).split(" at ")[0])
        said.append(None if leaf.grad is None else str(leaf.grad.dtype)[-7:])
    return said


def hooks_run_in_the_order_of_a_plain_dict(fw: Any) -> Any:
    seen: list[Any] = []
    x = vector(fw, 1.0, 2.0)
    handles = [x.register_hook(lambda grad, name=name: seen.append(name)) for name in "abc"]
    (x * 2).sum().backward()
    x._backward_hooks.move_to_end(handles[0].id)
    (x * 2).sum().backward()
    x._backward_hooks.move_to_end(handles[2].id, last=False)
    (x * 2).sum().backward()
    del x._backward_hooks[handles[1].id]
    x._backward_hooks[handles[1].id] = lambda grad: seen.append("d")
    (x * 2).sum().backward()
    return seen


def order_of_nodes_is_told_at_the_root_only(fw: Any) -> Any:
    seen: list[Any] = []

    def tell(*_: Any) -> None:
        try:
            seen.append([node.name() for node in fw._C._current_graph_task_execution_order()])
        except RuntimeError as error:
            seen.append(str(error))

    for many in (False, True):
        x = vector(fw, 1.0, 2.0)
        middle = x * 2
        y = middle.sin()
        z = middle.exp()
        for node in (middle.grad_fn, y.grad_fn, z.grad_fn):
            node.register_prehook(tell)
        if many:
            fw.autograd.backward([y.sum(), z.sum()])
        else:
            y.register_hook(tell)
            y.backward(fw.ones(2))
        seen.append("next")
    return seen


def tensors_to_save_are_a_tuple_without_gradients_as_well(fw: Any) -> Any:
    said = []
    for given in ("list", "object", "tuple"):

        def forward(ctx: Any, a: Any, given: str = given) -> Any:
            ctx.to_save = {"list": [a], "object": 3, "tuple": (3,)}[given]
            return a * 2

        for enabled in (True, False):
            with fw.set_grad_enabled(enabled):
                apply = function(fw, forward, lambda ctx, gradient: gradient).apply
                said.append(attempt(partial(apply, vector(fw, 1.0, 2.0))))
    return said


def numbers_of_nodes_that_a_function_makes(fw: Any) -> Any:
    base = vector(fw, 1.0, 2.0, 3.0) * 1
    view = base[:2]
    base.mul_(2)
    before = (base * 1).grad_fn._sequence_nr()
    result = function(fw, lambda ctx, a: a * 2, lambda ctx, gradient: gradient).apply(view)
    return [node._sequence_nr() - before for node in (view.grad_fn, result.grad_fn)]


def gradients_of_several_outputs_with_wrong_shapes(fw: Any) -> Any:
    x = vector(fw, 1.0, 2.0, 3.0)
    outputs = [x * 2, x[:2] * 3, x.sum()]
    ones = fw.ones
    given: list[Any] = [
        [ones(2), ones(2), ones(())],
        [ones(3), ones(3), ones(())],
        [ones(3), ones(2), ones(1)],
        [ones(()), ones(()), ones(1)],
        [None, ones(3), None],
        [ones(3), ones(2, dtype=fw.complex64), ones(())],
    ]
    said = [attempt(partial(fw.autograd.grad, outputs, x, each)) for each in given]
    sums = [x.sum(), (x * 2).sum()]
    given = [[fw.tensor(1.0), ones(1)], [ones(1), fw.tensor(1.0)], [fw.tensor(2.0), ones(1)]]
    return said + [attempt(partial(fw.autograd.backward, sums, each)) for each in given]


def gradients_for_each_row_of_a_batch(fw: Any) -> Any:
    x, unused = vector(fw, 1.0, 2.0, 3.0), vector(fw, 1.0)
    y, z = x * x, (x * 2).sum()
    rows = fw.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 1.0]])
    batched = partial(fw.autograd.grad, is_grads_batched=True)
    found = [batched(y, x, rows, retain_graph=True), batched([y, z], [x], [rows, fw.ones(3)], retain_graph=True)]
    found.append(batched(y, [x, unused], rows, retain_graph=True, allow_unused=True))
    found.append(batched(y, x, rows, create_graph=True))
    found.append(fw.autograd.grad(found[-1][0].sum(), x, retain_graph=True))
    said = [attempt(partial(batched, y, x, given, retain_graph=True)) for given in (fw.ones(3), fw.ones(2, 2))]
    said.append(attempt(partial(batched, fw.autograd.graph.get_gradient_edge(y), x, fw.ones(2, 2))))
    said += [attempt(partial(batched, y, unused, rows, retain_graph=True)), attempt(partial(batched, y, x, rows))]
    said.append(attempt(partial(batched, y, x, rows)))
    return [values(each) for each in found], [each.split(" at ")[0] for each in said]


PROGRAMS = programs_in(globals())
