"""Programs of the fuzzer with subclasses of Tensor: what they are asked, setup_context, several outputs of one node."""

from __future__ import annotations

import copy
import operator
import warnings
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


def asking(fw: Any, calls: list[Any]) -> Any:
    """A subclass that notes each question, with "none" for named arguments that were not passed."""

    def asked(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = "none") -> Any:
        owner = getattr(getattr(func, "__self__", None), "__name__", "")
        calls.append((func.__name__, owner.rpartition(".")[2], [each.__name__ for each in types], len(args), kwargs))
        return fw.Tensor.__torch_function__.__func__(cls, func, types, args, {} if kwargs == "none" else kwargs)

    return type("Asking", (fw.Tensor,), {"__torch_function__": classmethod(asked)})


def questions(fw: Any, of: Callable[[Any, Any], Any], **members: Any) -> Any:
    """What a call asks the class of its first tensor; the second is plain."""
    calls: list[Any] = []
    x = fw.ones(2, 2).as_subclass(asking(fw, calls)).requires_grad_()
    calls.clear()
    of(x, fw.ones(2, 2))
    return [(name, types, count, kwargs) for name, _, types, count, kwargs in calls]


def named_arguments_are_passed_only_if_there_are_some(fw: Any) -> Any:
    calls: list[Callable[[Any, Any], Any]] = [
        lambda x, p: (x + 1, 1 + x, x - p, p - x, 1 - x, x * 2, x / 2, 1 / x, x**2, 2**x, x @ p, p @ x),
        lambda x, p: (-x, +x, abs(x), x == 1, p != x, x < 1, len(x), bool(x[0, 0]), float(x[0, 0]), int(x[0, 0])),
        lambda x, p: (x.sin(), x.sum(0), x.sum(dim=0), x.shape, x.is_leaf, x.T, x.mT, x.detach(), x.size()),
        lambda x, p: (fw.exp(x), fw.stack([x, p]), fw.sum(x, dim=0), fw.ones_like(x)),
        lambda x, p: (x.register_hook(print), x.sum().backward(), x.detach().set_()),
        lambda x, p: (x.is_cuda, x.is_sparse, x.is_nested, x.is_quantized, x.is_meta),
        lambda x, p: [fw.nn.functional.linear(x, p), fw.nn.functional.linear(x, p, p[0])],
        lambda x, p: fw.nn.functional.linear(x, p, bias=None),
        lambda x, p: [fw.autograd.grad(x.sum(), x), fw.autograd.grad(x.sum(), x, materialize_grads=True)],
        lambda x, p: [x.detach().__iadd__(1), x.detach().__setitem__(0, p[0])],
    ]
    return [questions(fw, each) for each in calls]


def modes_get_none_for_missing_named_arguments(fw: Any) -> Any:
    seen: list[Any] = []

    class Log(fw.overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append((func.__name__, kwargs))
            return func(*args, **(kwargs or {}))

    x = fw.ones(2)
    with Log():
        values = [x + 1, 1 - x, x.sum(dim=0), len(x), x.shape, x.register_hook if x.requires_grad else 0]
    return len(values), seen


def without_a_default_for_named_arguments(fw: Any) -> Any:
    def asked(cls: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return func.__name__

    x = fw.ones(2).as_subclass(type("Strict", (fw.Tensor,), {"__torch_function__": classmethod(asked)}))
    calls: list[Callable[[], Any]] = [
        lambda: x + 1,
        lambda: x.sin(),
        lambda: x.shape,
        lambda: x == 1,
        lambda: 1 - x,
        lambda: x.sum(dim=0),
        lambda: len(x),
        lambda: x.backward(),
    ]
    return [attempt(each).split("asked()")[-1] for each in calls]


def plain_methods_are_asked_on_the_instance(fw: Any) -> Any:
    def asked(self: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func.__name__, type(self).__name__, kwargs

    x = fw.ones(2).as_subclass(type("Plain", (fw.Tensor,), {"__torch_function__": asked}))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        answers = [x + 1, x.sin(), x.shape, 1 - x, x.register_hook(print), fw.autograd.backward(x)]
    return answers, [(each.category.__name__, str(each.message).split(" (Trig")[0]) for each in caught]


def answers_that_are_taken_as_they_are(fw: Any) -> Any:
    seen = []
    for answer in (None, "text", 3, -3, 2.5, [1], True, NotImplemented):
        body = {"__torch_function__": classmethod(lambda *args, answer=answer: answer)}
        x = fw.ones(2).as_subclass(type("Fixed", (fw.Tensor,), body))
        for call in (len, bool, fw.autograd.backward, lambda x: fw.autograd.grad(x, x), lambda x: x.backward()):
            try:
                seen.append(call(x))
            except (TypeError, ValueError) as error:
                seen.append(str(error).split("\n")[0])
    return seen


def names_of_functions_in_refusals(fw: Any) -> Any:
    body = {"__torch_function__": classmethod(lambda cls, func, types, args=(), kwargs=None: NotImplemented)}
    x = fw.ones(2).as_subclass(type("Silent", (fw.Tensor,), body))
    linear = fw.nn.functional.linear
    calls: list[Callable[[], Any]] = [
        lambda: len(x),
        lambda: repr(x),
        lambda: x.register_hook(print),
        lambda: x.__reduce_ex__(2),
        lambda: +x,
        lambda: x.T,
        lambda: x.is_cuda,
        lambda: linear(x, x),
        lambda: fw.autograd.backward(x),
        lambda: fw.autograd.grad(x, x),
    ]
    return [attempt(each) for each in calls]


def constructor_takes_data_as_float32(fw: Any) -> Any:
    sub = type("Sub", (fw.Tensor,), {})
    given: list[Any] = [[1, 2], [[1, 2], [3, 4]], [True, False], (1, 2), ((1.5,), (2,)), [], [[]], fw.tensor([1, 2])]
    return [
        (type(made).__name__, str(made.dtype).split(".")[-1], list(made.shape), made.tolist())
        for data in given
        for made in (fw.Tensor(data), sub(data))
    ] + [list(fw.Tensor(size).shape) for size in (2, fw.Size([2]), fw.Size([2, 3]), fw.Size([]))]


def constructor_refuses_what_it_cannot_use(fw: Any) -> Any:
    class Named(fw.Tensor):  # type: ignore[misc]
        def __init__(self, *data: Any, **named: Any) -> None:
            pass

    x = fw.ones(2)
    calls: list[Callable[[], Any]] = [
        lambda: fw.Tensor(-1),
        lambda: fw.Tensor(2, -1),
        lambda: fw.Tensor({}),
        lambda: fw.Tensor(None),
        lambda: fw.Tensor(1.5),
        lambda: fw.Tensor(True),
        lambda: fw.Tensor("a"),
        lambda: fw.Tensor({1}),
        lambda: fw.Tensor(2, "a"),
        lambda: fw.Tensor(2, 1.5),
        lambda: fw.Tensor(True, 2),
        lambda: fw.Tensor([1], 2),
        lambda: fw.Tensor(x, x),
        lambda: fw.Tensor(x, 1),
        lambda: Named([1.0], tag=3),
        lambda: Named(tag=3),
        lambda: Named(2, tag=3),
        lambda: Named(x, tag=1),
        lambda: fw.Tensor(requires_grad=True),
        lambda: fw.Tensor([1.0], device="cpu"),
    ]
    return [attempt(each) for each in calls]


def calls_with_wrong_arguments(fw: Any) -> Any:
    x = fw.ones(2)
    sub, other = type("Sub", (fw.Tensor,), {}), type("Other", (fw.Tensor,), {})
    make = fw.Tensor._make_subclass
    calls: list[Callable[[], Any]] = [
        lambda: x.requires_grad_(1),
        lambda: x.requires_grad_("a"),
        lambda: x.requires_grad_(foo=1),
        lambda: x.requires_grad_(True, False),
        lambda: x.requires_grad_(requires_grad=False),
        lambda: make(fw.Tensor, x, 1),
        lambda: fw.nn.Parameter(x, 1),
        lambda: make(sub, fw.tensor([1]), True),
        lambda: fw.nn.Parameter(fw.tensor([1])),
        lambda: make(fw.Tensor),
        lambda: make(fw.Tensor, x, foo=1),
        lambda: make(sub, data=x, require_grad=True),
        lambda: x.as_subclass(cls=sub),
        lambda: x.as_subclass(),
        lambda: x.as_subclass(sub, other),
        lambda: fw.set_grad_enabled(1),
        lambda: x.unsqueeze(0, 1),
        lambda: x.clone(1),
    ]
    return [attempt(each) for each in calls]


def transposing_what_is_no_matrix(fw: Any) -> Any:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fw.set_warn_always(True)  # else it warns once per process
        shapes = [list(each.T.shape) for each in (fw.ones(2, 3), fw.ones(2, 3, 4), fw.ones(2), fw.tensor(1.0))]
        shapes += [list(each.mT.shape) for each in (fw.ones(2, 3), fw.ones(2, 3, 4))]
        fw.set_warn_always(False)
    texts = [str(each.message).split(" (Trig")[0] for each in caught]
    return shapes, texts, attempt(lambda: fw.ones(2).mT), fw.ones(2, 3, requires_grad=True).T.grad_fn.name()


def copies_and_texts_of_parameters(fw: Any) -> Any:
    named = type("Named", (fw.nn.Parameter,), {})
    sub = type("Sub", (fw.Tensor,), {})
    kinds = [fw.nn.Parameter(fw.ones(2)), named(fw.ones(2)), fw.nn.Parameter(fw.ones(2).as_subclass(sub))]
    copied = copy.copy(kinds[0])._backward_hooks
    return [repr(each) for each in kinds], type(copied).__name__, copied, copy.deepcopy(kinds[0])._backward_hooks


def buffers_are_registered_when_assigned(fw: Any) -> Any:
    model = fw.nn.Module()
    model.saved = fw.nn.Buffer(fw.ones(2))
    model.unsaved = fw.nn.Buffer(fw.zeros(2), persistent=False)
    model.empty = fw.nn.Buffer()
    said = [isinstance(model.saved, fw.nn.Buffer), isinstance(fw.ones(2), fw.nn.Buffer), type(model.saved).__name__]
    said += [sorted(dict(model.named_buffers())), sorted(model.state_dict()), list(model.parameters())]
    model.saved = fw.ones(3)
    model.unsaved = fw.nn.Buffer(fw.ones(1))
    said += [isinstance(model.saved, fw.nn.Buffer), sorted(model.state_dict()), repr(model.saved)]
    bare = fw.nn.Module.__new__(fw.nn.Module)
    said.append(attempt(lambda: setattr(bare, "early", fw.nn.Buffer(fw.ones(1)))))
    said.append(attempt(lambda: setattr(model, "saved", 3)))
    return said, attempt(lambda: fw.autograd.Function.jvp(None, 1))


def setup_context_comes_and_goes_after_the_class_was_made(fw: Any) -> Any:
    """It decides at each call whether forward gets a context, and so what the node keeps alive."""

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    base: Any = type("Base", (fw.autograd.Function,), {"backward": staticmethod(lambda ctx, gradient: gradient)})
    double: Any = type("Double", (base,), {"forward": staticmethod(lambda x: x * 2)})
    seen: list[Any] = [attempt(partial(double.apply, vector(fw)))]
    for owner in (double, base):
        owner.setup_context = staticmethod(setup_context)
        leaf = vector(fw)
        node = double.apply(leaf).grad_fn
        saved, alive = node.saved_tensors[0] is leaf, weakref.ref(leaf)
        del leaf
        seen += [saved, alive() is not None, double.apply(x=vector(fw)).tolist()]
        del owner.setup_context, node
        seen += [alive() is None, attempt(partial(double.apply, vector(fw)))]
    return seen


def what_counts_as_a_node(fw: Any) -> Any:
    double = function(fw, lambda ctx, x: x * 2, lambda ctx, gradient: gradient * 2)
    x = vector(fw)
    node, custom = (x * 2).grad_fn, double.apply(x).grad_fn
    kinds = [
        double,
        fw.autograd.Function,
        fw._C._FunctionBase,
        type(custom),
        type(node),
        fw.autograd.function.FunctionCtx,
    ]
    abstract = fw.autograd.graph.Node
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = double()
    return [issubclass(kind, abstract) for kind in kinds], [
        isinstance(item, abstract) for item in (node, custom, made, x)
    ]


def hook_dict_of_no_tensor(fw: Any) -> Any:
    double = function(fw, lambda ctx, x: x * 2, lambda ctx, gradient: gradient * 2)
    x = vector(fw)
    seen = []
    for node in ((x * 2).grad_fn, double.apply(x).grad_fn):
        seen += [attempt(partial(node._register_hook_dict, given)) for given in (3, None, [x])]
    return seen


def constructor_takes_its_value_by_name(fw: Any) -> Any:
    sub = type("Sub", (fw.Tensor,), {"__init__": lambda self, *args, **kwargs: None})
    x = vector(fw, 1.0, 2.0)
    storage = x.untyped_storage()
    made = [sub(data=[1, 2]), fw.Tensor(data=[[True]], device="cpu"), sub(other=x), fw.Tensor(storage=storage)]
    sizes = [list(fw.Tensor(size=size).shape) for size in ((2, 3), [4], fw.Size([1]))]
    shares = [each.data_ptr() == x.data_ptr() for each in made]
    refused: list[Callable[[], Any]] = [
        lambda: fw.Tensor([1.0], data=[2.0]),
        lambda: sub(data=x),
        lambda: sub(tag=3),
        lambda: fw.Tensor(size=3),
        lambda: fw.Tensor(other=[1.0]),
        lambda: fw.Tensor(storage=[1.0]),
        lambda: fw.Tensor(data=3),
    ]
    return [each.detach().tolist() for each in made], sizes, shares, [attempt(each) for each in refused]


def functions_of_nn_ask_with_their_own_arguments(fw: Any) -> Any:
    """Those that PyTorch has in Python pass what has a default by name; the others pass what was given."""
    asked: list[Any] = []

    def tell(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        named = None if kwargs is None else sorted(kwargs)
        asked.append((func.__name__, [each.__name__ for each in types], len(args), named))
        return fw.Tensor.__torch_function__.__func__(cls, func, types, args, kwargs or {})

    asking = type("Asking", (fw.Tensor,), {"__torch_function__": classmethod(tell)})
    functions, plain, classes = fw.nn.functional, fw.ones(2, 3), fw.tensor([0, 1])
    for x in (plain, plain.as_subclass(asking)):
        functions.relu(x)
        functions.relu(x, inplace=True)
        functions.softmax(x, 1)
        functions.softmax(x, dim=1, dtype=fw.float64)
        functions.tanh(x)
        functions.sigmoid(x)
        functions.threshold(x, 0.5, 0.0)
        functions.batch_norm(x, None, None, training=True)
        for module in (fw.nn.ReLU(), fw.nn.Tanh(), fw.nn.Sigmoid(), fw.nn.Threshold(0.5, 0.0)):
            module(x)
    functions.batch_norm(plain, None, None, plain[0].as_subclass(asking), training=True)
    functions.nll_loss(plain, classes, weight=plain[0].as_subclass(asking))
    return [each for each in asked if each[0] != "__get__"]


PROGRAMS = programs_in(globals())
