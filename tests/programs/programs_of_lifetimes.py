"""Small programs that tell who dies when: by reference counts ("del"), by the collector ("gc"), or not at all."""

from __future__ import annotations

import sys
from typing import Any

from programs_tools import fates, function, mark_on_the_node_of, programs_in, vector, watch


def chain(fw: Any) -> Any:
    def build() -> list[Any]:
        x = vector(fw)
        middle = x.sin()
        y = middle.exp()
        return [*watch(x, middle, y), mark_on_the_node_of(middle), mark_on_the_node_of(y)]

    return fates(build)


def output_saved_by_its_own_node(fw: Any) -> Any:
    def build() -> list[Any]:
        y = vector(fw).exp()
        return [*watch(y), mark_on_the_node_of(y)]

    return fates(build)


def retained_graph(fw: Any) -> Any:
    def build() -> list[Any]:
        x = vector(fw)
        y = x.exp()
        y.backward(retain_graph=True)
        return [*watch(x, y, x.grad), mark_on_the_node_of(y)]

    return fates(build)


def input_on_ctx(fw: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.x = x
        return x * 2

    return custom_output_fates(fw, forward)


def custom_output_fates(fw: Any, forward: Any, run: bool = False) -> Any:
    custom = function(fw, forward, lambda ctx, gradient: gradient * 2)

    def build() -> list[Any]:
        x = vector(fw)
        middle = x * 1
        y = custom.apply(middle)
        references = watch(y.grad_fn, y, middle)
        if run:
            y.sum().backward()
        return references

    return fates(build)


def keep_output(ctx: Any, x: Any) -> Any:
    ctx.y = x * 2
    return ctx.y


def output_on_ctx(fw: Any) -> Any:
    return custom_output_fates(fw, keep_output)


def output_on_ctx_after_backward(fw: Any) -> Any:
    return custom_output_fates(fw, keep_output, run=True)


def save_output(ctx: Any, x: Any) -> Any:
    y = x * 2
    ctx.save_for_backward(y)
    return y


def output_saved_for_backward(fw: Any) -> Any:
    return custom_output_fates(fw, save_output)


def view_of_output_saved_for_backward(fw: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        y = x * 2
        ctx.save_for_backward(y.view(-1))
        return y

    return custom_output_fates(fw, forward)


def detached_output_on_ctx(fw: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        y = x * 2
        ctx.y = y.detach()
        return y

    return custom_output_fates(fw, forward)


def ctx_that_knows_itself(fw: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.me = ctx
        return x * 2

    return custom_output_fates(fw, forward)


def leaf_with_an_attribute_made_of_it(fw: Any) -> Any:
    def build() -> list[Any]:
        x = vector(fw)
        x.out = x * x
        return watch(x, x.out)

    return fates(build)


def gradient_with_its_owner(fw: Any) -> Any:
    def build() -> list[Any]:
        x = vector(fw)
        (x * 2).backward()
        x.grad.owner = x
        return watch(x, x.grad)

    return fates(build)


def tensor_that_knows_itself(fw: Any) -> Any:
    def build() -> list[Any]:
        x = vector(fw)
        x.me = x
        return watch(x)

    return fates(build)


def gradient_with_history(fw: Any) -> Any:
    def build() -> list[Any]:
        x = vector(fw)
        (gradient,) = fw.autograd.grad(x * x, x, create_graph=True)
        return watch(x, gradient)

    return fates(build)


def view_keeps_its_base(fw: Any) -> Any:
    kept: list[Any] = []

    def build() -> list[Any]:
        base = vector(fw, 1.0, 2.0) * 1
        kept.append(base[:1])
        other = vector(fw, 1.0, 2.0) * 1
        kept.append(other[:1].detach())
        return [*watch(base, other), *watch(other.untyped_storage())]

    return fates(build)


def node_held_by_name(fw: Any) -> Any:
    kept: list[Any] = []

    def build() -> list[Any]:
        x = vector(fw) * 1
        y = x.sin()
        kept.append(y.grad_fn)
        return watch(x, y)

    result = fates(build)
    kept.clear()
    return result


def wrapper_of_a_gradient_that_nobody_holds(fw: Any) -> Any:
    x = vector(fw)
    (x * 2).backward()
    x.grad.tag = "kept"
    identity = {id(x.grad) for _ in range(8)}
    return [x.grad.tag, len(identity), x.grad is x.grad]


def reference_counts_of_a_tensor(fw: Any) -> Any:
    x = vector(fw)
    counts = [sys.getrefcount(x)]
    y = x.sin()
    counts.append(sys.getrefcount(x))
    z = x.cos()
    counts.append(sys.getrefcount(x))
    del y, z
    counts.append(sys.getrefcount(x))
    return [count - counts[0] for count in counts]


def use_counts_of_a_tensor(fw: Any) -> Any:
    x = vector(fw)
    counts = [x._use_count()]
    y = x.sin()
    counts.append(x._use_count())
    y.backward()
    counts.append(x._use_count())
    del y
    counts.append(x._use_count())
    return counts


PROGRAMS = programs_in(globals())
