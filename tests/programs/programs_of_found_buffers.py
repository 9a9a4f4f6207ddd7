"""Programs that the fuzzer found about saved buffers: how long they are kept, and for which gradients they are read."""

from __future__ import annotations

import gc
from functools import partial
from typing import Any

from programs_tools import attempt, function, programs_in, vector, watch


def leaf_kept_by_a_slot_that_got_hooks(fw: Any) -> Any:
    """A slot owns the accumulator of the leaf that it saved, and what was freed with the buffers is all but that."""
    seen = []
    for late, hooked in ((True, True), (True, False), (False, True), (False, False)):
        gc.collect()
        x, saved = vector(fw, 1.0, 2.0), vector(fw, 3.0, 4.0, requires_grad=not late)
        y = x / saved
        if late:
            saved.requires_grad_()
        if hooked:
            slot = y.grad_fn._raw_saved_other
            slot.register_hooks(lambda tensor: tensor.tolist(), lambda numbers: vector(fw, *numbers))
            del slot
        (reference,) = watch(saved)
        y.sum().backward()
        del saved
        alive = [reference() is not None]
        gc.collect()
        alive.append(reference() is not None)
        del x, y
        alive.append(reference() is not None)
        seen.append(alive)
    return seen


def leaf_kept_by_a_function_that_saved_it_under_hooks(fw: Any) -> Any:
    def forward(ctx: Any, item: Any) -> Any:
        ctx.save_for_backward(leaves[0])
        return item * 2

    leaves = [vector(fw, 5.0)]
    (reference,) = watch(leaves[0])
    with fw.autograd.graph.saved_tensors_hooks(lambda tensor: tensor.tolist(), lambda numbers: vector(fw, *numbers)):
        y = function(fw, forward, lambda ctx, grad: grad * ctx.saved_tensors[0]).apply(vector(fw))
    y.sum().backward()
    leaves.clear()
    gc.collect()
    return y.grad_fn is not None, reference() is None


def saved_again_with_another_size(fw: Any, *sizes: int) -> Any:
    other = fw.ones(*sizes)
    return fw.autograd.graph.saved_tensors_hooks(lambda tensor: None, lambda packed: other)


def gradient_that_nobody_asked_for_is_not_computed(fw: Any) -> Any:
    """An operation that is itself an input of the backward runs, and computes nothing that nobody wants."""
    seen = []
    for name in ("tanh", "exp", "sin", "prod", "sigmoid", "sqrt"):
        x = vector(fw, 1.0, 2.0)
        with saved_again_with_another_size(fw, 3):
            y = getattr(x * 1, name)()
        seen.append(attempt(partial(y.sum().backward, inputs=[y], retain_graph=True)))
        seen.append(attempt(partial(y.sum().backward, inputs=[x])))
    return seen


def one_of_two_gradients_is_computed(fw: Any) -> Any:
    seen: list[Any] = []
    for combine in (fw.mul, fw.div, fw.matmul):
        for wanted in (0, 1):
            inputs = vector(fw, 1.0, 2.0), vector(fw, 3.0, 4.0)
            used = 0

            def unpacked(packed: Any) -> Any:
                nonlocal used
                used += 1
                return fw.ones(3) if used == 1 else packed

            with fw.autograd.graph.saved_tensors_hooks(lambda tensor: tensor.detach(), unpacked):
                y = combine(*inputs)
            seen.append(attempt(partial(y.sum().backward, inputs=[inputs[wanted]])))
            seen.append(used)
    return seen


def change_of_a_view_replayed_for_some_inputs(fw: Any) -> Any:
    seen: list[Any] = []
    for wanted in ("leaf", "base", "other", "view"):
        leaf, other = vector(fw, 1.0, 2.0), vector(fw, 3.0)
        base = leaf * 2
        view = base[:1]
        view.mul_(other)
        inputs = [{"leaf": leaf, "base": base, "other": other, "view": view}[wanted]]
        seen.append(attempt(lambda given=inputs, root=base: root.sum().backward(inputs=given)))  # type: ignore[misc]
        seen.append([item.grad if item.grad is None else item.grad.tolist() for item in (leaf, other)])
    return seen


def gradient_of_a_product_of_zeros_is_its_own(fw: Any) -> Any:
    results = []
    for numbers in ((0.0, 0.0), (0.0, 0.0, 5.0), (0.0, 3.0)):
        seen: list[Any] = []
        x = vector(fw, *numbers)
        x.register_hook(seen.append)
        middle = x * 1
        middle.register_hook(seen.append)
        product = (middle + middle).prod()
        product.backward(product.detach())
        results.append((len(seen), [item._base is None for item in seen], x.grad.tolist()))
    return results


def gradient_of_a_product_of_zeros_becomes_the_sum(fw: Any) -> Any:
    results = []
    for numbers in ((0.0, 0.0), (1.0, 1.0)):
        seen: list[Any] = []
        x = vector(fw, *numbers)
        x.register_hook(lambda grad, seen=seen: seen.append(grad is seen[0]()))
        middle = x - x
        middle.register_hook(lambda grad, seen=seen: seen.extend(watch(grad)))
        middle.prod().backward()
        results.append(seen[1:])
    return results


def saved_number_stays_a_number_where_it_is_detached(fw: Any) -> Any:
    """A number decides no dtype and is not packed; what is detached of it is one, what is computed of it is a tensor."""
    x = fw.tensor([1.0, 2.0], dtype=fw.float64, requires_grad=True)
    number = (x * 0.5).grad_fn._saved_other
    single = fw.tensor(1.0)
    kinds = [number, number.detach(), number.data, number.clone(), number.view_as(number), number.mul_(2)]
    packed: list[Any] = []
    with fw.autograd.graph.saved_tensors_hooks(packed.append, lambda item: item):
        x * number.detach()
    return [str((single * item).dtype).split(".")[-1] for item in kinds], [item.tolist() for item in packed]


def hook_unpacks_the_tensor_itself_whose_data_is_of_inference(fw: Any) -> Any:
    with fw.inference_mode():
        made = vector(fw, 1.0, 2.0, requires_grad=False)
    x = vector(fw, 1.0, 2.0)
    with fw.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor):
        y = x * x
    with fw.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, lambda tensor: made):
        z = x * x
    x.data = made.data
    return attempt(y.sum().backward), attempt(z.sum().backward)


PROGRAMS = programs_in(globals())
