"""Small programs that tell how hooks on gradients, nodes and saved tensors keep things alive."""

from __future__ import annotations

import weakref
from typing import Any

from programs_tools import Mark, fates, function, hooks, mark_on_the_node_of, programs_in, same, vector, watch


def hook_on_a_leaf(fw: Any) -> Any:
    def build() -> list[Any]:
        x = vector(fw)
        x.register_hook(lambda grad: x)
        return watch(x)

    return fates(build)


def hook_on_a_non_leaf(fw: Any) -> Any:
    def build() -> list[Any]:
        y = vector(fw) * 2
        y.register_hook(lambda grad: y)
        return watch(y)

    return fates(build)


def hook_on_a_node(fw: Any) -> Any:
    def build() -> list[Any]:
        y = vector(fw) * 2
        node = y.grad_fn
        node.register_hook(lambda outputs, grads: node)
        return [*watch(y), mark_on_the_node_of(y)]

    return fates(build)


def hook_on_a_node_with_its_output(fw: Any) -> Any:
    def build() -> list[Any]:
        y = vector(fw) * 2
        y.grad_fn.register_prehook(lambda grads: y)
        return watch(y)

    return fates(build)


def hook_on_a_custom_node(fw: Any) -> Any:
    custom = function(fw, lambda ctx, x: x * 2, lambda ctx, gradient: gradient)

    def build() -> list[Any]:
        y = custom.apply(vector(fw))
        node = y.grad_fn
        node.register_hook(lambda outputs, grads: node)
        return watch(node, y)

    return fates(build)


def removed_hook_on_a_non_leaf(fw: Any) -> Any:
    def build() -> list[Any]:
        y = vector(fw) * 2
        y.register_hook(lambda grad: y).remove()
        return watch(y)

    return fates(build)


def post_accumulate_hook_with_its_leaf(fw: Any) -> Any:
    def build() -> list[Any]:
        x = vector(fw)
        x.register_post_accumulate_grad_hook(lambda leaf: x.detach_() and None)
        return watch(x)

    return fates(build)


def retained_gradient(fw: Any) -> Any:
    def build() -> list[Any]:
        y = vector(fw) * 2
        y.retain_grad()
        return watch(y)

    return fates(build)


def identity_pack_of_an_output(fw: Any) -> Any:
    def build() -> list[Any]:
        with hooks(fw, same, same):
            y = vector(fw).exp()
        return watch(y)

    return fates(build)


def identity_pack_of_an_input(fw: Any) -> Any:
    def build() -> list[Any]:
        with hooks(fw, same, same):
            x = vector(fw) * 1
            y = x.sin()
        return watch(x, y)

    return fates(build)


def packed_that_knows_the_output(fw: Any) -> Any:
    def build() -> list[Any]:
        box: list[Any] = []
        mark = Mark()

        def pack(tensor: Any) -> Any:
            return mark

        with hooks(fw, pack, same):
            y = vector(fw).sin()
        mark.y = y  # type: ignore[attr-defined]
        box.append(y)
        return watch(mark, y)

    return fates(build)


def packed_after_backward(fw: Any) -> Any:
    def build() -> list[Any]:
        marks: list[Any] = []

        def pack(tensor: Any) -> Any:
            mark = Mark()
            mark.tensor = tensor.detach()  # type: ignore[attr-defined]
            marks.append(weakref.ref(mark))
            return mark

        with hooks(fw, pack, lambda mark: mark.tensor):
            y = vector(fw).sin()
        y.backward()
        return marks

    return fates(build)


PROGRAMS = programs_in(globals())
