"""Programs of the fuzzer with subclasses of Tensor, setup_context and several outputs of one node."""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

from programs_tools import attempt, fates, function, programs_in, vector


def classes(framework: Any) -> list[Any]:
    """Plain, a subclass, and one that is not asked."""
    disabled = {"__torch_function__": framework._C._disabled_torch_function_impl}
    return [framework.Tensor, type("Sub", (framework.Tensor,), {}), type("Off", (framework.Tensor,), disabled)]


def names_behind(node: Any) -> list[str]:
    found = []
    while node is not None:
        found.append(node.name().replace("torch::autograd::", ""))
        node = node.next_functions[0][0] if node.next_functions else None
    return found


def operators_ask_the_other_class_in_reverse(fw: Any) -> Any:
    """Unrelated classes refuse each other; `==` asks only the class of its first operand."""
    asked: list[Any] = []

    def tell(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        asked.append((func.__name__, [each.__name__ for each in types]))
        return (
            NotImplemented
            if cls.__name__ == "Refusing"
            else fw.Tensor.__torch_function__.__func__(cls, func, types, args, kwargs)
        )

    asking = {"__torch_function__": classmethod(tell)}
    kinds = [*classes(fw), type("Asking", (fw.Tensor,), asking), type("Refusing", (fw.Tensor,), asking)]
    operands = [fw.ones(2).as_subclass(each) for each in kinds]
    for one in operands:
        for other in operands:
            for operation in (operator.add, operator.sub, operator.pow, operator.matmul, operator.eq, operator.ne):
                asked.append(attempt(partial(operation, one, other)))
    return asked


def node_of_a_leaf_is_read_from_behind_a_view_of_it(fw: Any) -> Any:
    leaves = [fw.tensor([1.0, 2.0]).as_subclass(cls).requires_grad_() for cls in classes(fw)]
    return [names_behind(fw.autograd.graph.get_gradient_edge(leaf).node) for leaf in leaves]


def hooks_on_several_read_whether_each_requires_grad_first(fw: Any) -> Any:
    x = vector(fw, 1.0, 2.0)
    given: list[Any] = [(None,), (x, None), (x.detach(), None), ((x,),), (x, (x * 2,))]
    register = fw.autograd.graph.register_multi_grad_hook
    return [attempt(partial(register, tensors, print)) for tensors in given]


def input_returned_as_is_and_saved_by_setup_context(fw: Any) -> Any:
    class PassOn(fw.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(x: Any) -> Any:
            return x

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(output)

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return gradient

    seen = []
    for cls in classes(fw):
        leaf = fw.tensor([1.0, 2.0]).as_subclass(cls).requires_grad_()
        for enabled in (True, False):
            with fw.set_grad_enabled(enabled):
                seen += [attempt(partial(PassOn.apply, x)) for x in (leaf, leaf.detach())]
    return seen


def hook_that_retains_a_gradient_is_looked_for_by_number(fw: Any) -> Any:
    two = function(fw, lambda ctx, x: (x * 2, x * 3), lambda ctx, one, other: one * 2 + other * 3)
    seen = []
    for retaining, changed in (((0,), 0), ((1,), 1), ((0, 1), 1), ((0, 1), 0)):
        outputs = two.apply(vector(fw, 1.0, 2.0))
        for number in retaining:
            outputs[number].retain_grad()
        error = attempt(partial(outputs[changed].mul_, 2))
        (outputs[0].sum() + 5 * outputs[1].sum()).backward()
        gradients = [None if outputs[number].grad is None else outputs[number].grad.tolist() for number in (0, 1)]
        seen.append((error.split(" at ")[0], gradients))
    return seen


def logging(fw: Any, calls: list[Any]) -> Any:
    """A subclass that notes what it is asked and computes as by default."""

    def asked(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        calls.append((func.__name__, [each.__name__ for each in types], len(args), sorted(kwargs or {})))
        return super(cls, cls).__torch_function__(func, types, args, kwargs or {})

    return type("Logging", (fw.Tensor,), {"__torch_function__": classmethod(asked)})


def methods_written_in_python_are_given_by_position_and_name(fw: Any) -> Any:
    calls: list[Any] = []
    x = fw.ones(2).as_subclass(logging(fw, calls)).requires_grad_()
    x.sum().backward(retain_graph=True)
    x.backward(fw.ones(2), inputs=[x])
    fw.autograd.backward([x.sum(), fw.ones(2, requires_grad=True).sum()])
    fw.ones(2, requires_grad=True).sum().backward(inputs=[x, fw.ones(2, requires_grad=True)])
    fw.autograd.grad(x.sum(), [x, fw.ones(2, requires_grad=True)], allow_unused=True)
    return [repr(x), len(x.split(1)), len(x.split(split_size=1)), x.T.shape, x.mT if x.dim() > 1 else 0, calls]


def classes_that_answer_nothing(fw: Any) -> Any:
    body = {"__torch_function__": classmethod(lambda cls, func, types, args=(), kwargs=None: NotImplemented)}
    silent = type("Silent", (fw.Tensor,), body)
    x = fw.Tensor._make_subclass(silent, fw.ones(2))
    y = fw.Tensor._make_subclass(type("Other", (fw.Tensor,), {}), fw.ones(2))
    calls: list[Callable[[], Any]] = [
        lambda: x.is_leaf,
        lambda: x.exp(),
        lambda: fw.exp(x),
        lambda: x.backward(),
        lambda: x.copy_(y),
        lambda: x[0],
        lambda: x.__setitem__(0, y),
        lambda: setattr(x, "requires_grad", True),
        lambda: fw.autograd.backward(x),
        lambda: x + 1,
    ]
    texts = []
    for call in calls:
        try:
            texts.append(str(call()))
        except TypeError as error:
            texts.append(
                str(error)
                .replace("torch._tensor.", "")
                .replace("torch.", "")
                .replace("gradlife.engine.tensors.", "")
                .replace("gradlife.engine.", "")
            )
    return texts


def parameters_of_a_class_whose_detach_gives_another(fw: Any) -> Any:
    plain, sub, off = classes(fw)
    made = [fw.ones(2).as_subclass(cls) for cls in (plain, sub, off)]
    return [attempt(partial(fw.nn.Parameter, tensor)) for tensor in made]


def tensors_of_one_number(fw: Any) -> Any:
    make = fw.Tensor._make_subclass
    calls = [partial(cls, 1.5) for cls in classes(fw)] + [partial(make, fw.Tensor, 5), partial(make, fw.Tensor, None)]
    return [attempt(call) for call in calls]


def negative_dimensions_are_shown_without_sign(fw: Any) -> Any:
    x = fw.ones(2, 2, requires_grad=True)
    results = [x.transpose(0, -1), x.unsqueeze(-1), x.sum(-1), x.select(-1, -1), x.squeeze(-1), x.softmax(-1)]
    nodes = [result.grad_fn for result in results] + [(x**-2).grad_fn, (x * -3).grad_fn]
    fields = ("dim", "dim0", "dim1", "index", "exponent", "self_sym_sizes")
    return [[getattr(node, f"_saved_{field}", None) for field in fields] for node in nodes]


def sole_root_that_nothing_needs_runs_its_hooks(fw: Any) -> Any:
    seen: list[Any] = []
    for roots in (1, 2):
        x, other = vector(fw, 1.0), vector(fw, 2.0)
        y = x * 3
        y.retain_grad()
        y.register_hook(lambda gradient: seen.append(gradient.tolist()))
        x.register_hook(lambda gradient: seen.append(gradient.tolist()))
        for ends in ([y.sum()], [y], [x], [y, y], [x, y]):
            ones = [None if end.dim() == 0 else fw.ones_like(end) for end in ends[:roots]]
            seen.append(attempt(partial(fw.autograd.grad, ends[:roots], other, ones, retain_graph=True)))
        seen.append(None if y.grad is None else y.grad.tolist())
    return seen


def inputs_of_a_function_that_fails_live_as_long_as_its_context(fw: Any) -> Any:
    def build(fails: str, kept: list[Any]) -> list[Any]:
        def forward(ctx: Any, x: Any) -> Any:
            kept.append(ctx)
            seen.append([node and node.name() for node, _ in ctx.next_functions])
            if fails == "in a cycle":
                ctx.me = ctx
            if fails:
                raise ValueError(fails)
            return x * 2

        x = vector(fw, 1.0)
        attempt(partial(function(fw, forward, lambda ctx, gradient: gradient).apply, x))
        return [weakref.ref(x)]

    seen: list[Any] = []
    for fails in ("", "alone", "in a cycle"):
        kept: list[Any] = []
        seen.append(fates(partial(build, fails, kept)))
        kept.clear()
        seen.append(fates(partial(build, fails, [])))
    return seen


def augmented_assignments_of_what_is_no_operand(fw: Any) -> Any:
    texts = []
    for cls in classes(fw):
        for sign in ("+=", "-=", "*=", "/=", "**="):
            names = {"x": fw.Tensor._make_subclass(cls, fw.ones(2))}
            texts.append(attempt(partial(exec, f"x {sign} None", names)))
            texts.append(type(names["x"]).__name__)
    return texts


def inputs_given_back_as_they_are(fw: Any) -> Any:
    """Their class and whether the result keeps the input alive: marked, changed, without gradients."""

    def forward(marks: str, ctx: Any, x: Any) -> Any:
        if "dirty" in marks:
            ctx.mark_dirty(x)
        if "no gradient" in marks:
            ctx.mark_non_differentiable(x)
        return x

    def build(cls: Any, marks: str, seen: list[Any], kept: list[Any]) -> list[Any]:
        x = fw.ones(2).as_subclass(cls)
        x = x.requires_grad_() if "leaf" in marks else x
        apply = function(fw, partial(forward, marks), lambda ctx, gradient: gradient).apply
        with fw.set_grad_enabled("off" not in marks):
            seen.append(attempt(lambda: kept.append(apply(x))).split(" at ")[0])
        seen += [(type(y).__name__, y is x, y.requires_grad, y._is_view()) for y in kept]
        return [weakref.ref(x)]

    found: list[Any] = []
    for cls in classes(fw):
        for marks in ("", "off", "no gradient", "dirty", "dirty, no gradient"):
            for grown in ("", ", leaf"):
                seen: list[Any] = []
                kept: list[Any] = []
                found += [fates(partial(build, cls, marks + grown, seen, kept)), seen]
    return found


PROGRAMS = programs_in(globals())
