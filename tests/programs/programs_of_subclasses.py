"""Small programs of subclasses of Tensor: what class results have, whose histories they join, and who dies when."""

from __future__ import annotations

import copy
import gc
import re
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from programs_tools import function, hooks, programs_in

Make = Callable[[], Any]
ADDRESS = re.compile(r"0x[0-9a-f]+")
OWN_NAME = re.compile(r"gradlife\.engine\b(\.tensors)?\.|torch\.(storage\.|_tensor\.)?")


def tried(call: Callable[[], Any]) -> Any:
    """The result of a call, or the first line of its error."""
    try:
        return call()
    except Exception as error:
        return OWN_NAME.sub("", ADDRESS.sub("0x", f"{type(error).__name__}: {error}")).split("\n")[0]


def node_text(node: Any, depth: int = 2) -> str:
    """The names of a node and of those behind it."""
    if node is None or isinstance(node, str):
        return str(node)
    name = str(node.name()).replace("torch::autograd::", "")
    return name if not depth else f"{name}({', '.join(node_text(n, depth - 1) for n, _ in node.next_functions)})"


def described(fw: Any, found: Any) -> Any:
    """Class, history, base, version and numbers of a tensor, read without asking its class."""
    if isinstance(found, (tuple, list)):
        return [type(found).__name__, *(described(fw, item) for item in found)]
    if not isinstance(found, fw.Tensor):
        return type(found).__name__ if callable(found) else OWN_NAME.sub("", ADDRESS.sub("0x", str(found)))
    with fw._C.DisableTorchFunctionSubclass():
        return (
            type(found).__name__,
            node_text(tried(lambda: found.grad_fn)),
            type(tried(lambda: found._base)).__name__,
            tried(lambda: found.is_leaf),
            found.requires_grad,
            tried(lambda: found._version),
            found._is_view(),
            list(found.shape),
            tried(found.tolist),
            sorted(found.__dict__),
        )


def numbers(framework: Any) -> Any:
    return framework.tensor([3.0, 4.0])


def leaf(framework: Any) -> Any:
    return framework.tensor([1.0, 2.0], requires_grad=True)


def classes(framework: Any) -> tuple[Any, Any, Any, Any]:
    """A subclass, one of that, one besides, and one that is not asked."""
    sub = type("Sub", (framework.Tensor,), {})
    off = type("Off", (framework.Tensor,), {"__torch_function__": framework._C._disabled_torch_function_impl})
    return sub, type("SubSub", (sub,), {}), type("Other", (framework.Tensor,), {}), off


def makers(framework: Any) -> dict[str, Make]:
    """All ways to a tensor of a subclass."""
    sub, sub_sub, _, off = classes(framework)
    return {
        "of a leaf": lambda: leaf(framework).as_subclass(sub),
        "of numbers": lambda: numbers(framework).as_subclass(sub),
        "required": lambda: numbers(framework).as_subclass(sub).requires_grad_(),
        "of a result": lambda: (leaf(framework) * 2).as_subclass(sub),
        "made": lambda: framework.Tensor._make_subclass(sub, numbers(framework), True),
        "made of a leaf": lambda: framework.Tensor._make_subclass(sub_sub, leaf(framework)),
        "constructed": lambda: sub([1.0, 2.0]),
        "constructed of a leaf": lambda: sub(leaf(framework)),
        "not asked": lambda: leaf(framework).as_subclass(off),
        "parameter": lambda: framework.nn.Parameter(numbers(framework).as_subclass(sub)),
        "view": lambda: framework.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True).as_subclass(sub)[0],
    }


def each_maker(fw: Any, part: Callable[[Any, Make], Iterator[Any]]) -> list[Any]:
    """The lines of a part, for each way to a tensor, up to what it raises."""
    lines: list[Any] = []
    for name, make in makers(fw).items():
        steps = part(fw, make)
        while (line := tried(lambda steps=steps: next(steps, "end"))) != "end":  # type: ignore[misc]
            lines.append((name, line))
    return lines


def each_call(fw: Any, calls: dict[str, Callable[[Any], Any]]) -> list[Any]:
    """What each call gives for each way to a tensor, and what became of the tensor."""
    return [
        (name, call, described(fw, tried(lambda of=of, x=x: of(x))), described(fw, x))  # type: ignore[misc]
        for name, make in makers(fw).items()
        for call, of in calls.items()
        for x in [make()]
    ]


def results_of_operations_on_subclasses(fw: Any) -> Any:
    plain = leaf(fw)
    return each_call(
        fw,
        {
            "number": lambda x: x * 2,
            "plain right": lambda x: x * plain,
            "plain left": lambda x: plain * x,
            "reversed": lambda x: (1 + x, 2 - x, 2 / x, 2**x),
            "matmul": lambda x: (x @ plain, plain @ x),
            "unary": lambda x: (-x, +x, abs(x), x**2, x.exp(), fw.exp(x), x.sin()),
            "reduced": lambda x: (x.sum(), x.sum(0), x.mean(), x.max(), x.prod()),
            "named tuple": lambda x: x.max(0),
            "joined": lambda x: (fw.cat([x, plain]), fw.stack([plain, x])),
            "compared": lambda x: (x == 1, numbers(fw) < x),
            "like": lambda x: fw.ones_like(x),
            "converted": lambda x: (x.double(), x.to(fw.float64), x.contiguous()),
            "relu": lambda x: (fw.relu(x), fw.nn.functional.relu(x)),
        },
    )


def views_of_subclasses(fw: Any) -> Any:
    return each_call(
        fw,
        {
            "indexed": lambda x: (x[0], x[1:], x[:], x[None], x[[0]], x[fw.tensor([1])]),
            "viewed": lambda x: (x.view(2, 1), x.view_as(x), x.reshape(1, 2)),
            "turned": lambda x: (x.view(1, 2).T, x.view(1, 2).mT, x.view(1, 2).t()),
            "several": lambda x: (x.unbind(0), x.split(1), x.chunk(2), list(x)),
            "sized": lambda x: (x.expand(2, 2), x.unsqueeze(0), x.unsqueeze(0).squeeze(), x.narrow(0, 0, 1)),
            "detached": lambda x: (x.detach(), x.data, x.clone()),
            "as classes": lambda x: (x.as_subclass(fw.Tensor), x.as_subclass(classes(fw)[2])),
            "with its subclass": lambda x: x + numbers(fw).as_subclass(type("Lower", (type(x),), {})),
            "with another class": lambda x: x + numbers(fw).as_subclass(classes(fw)[2]),
        },
    )


def attributes_and_values_of_subclasses(fw: Any) -> Any:
    return each_call(
        fw,
        {
            "sizes": lambda x: (x.size(), x.shape, len(x), x.dim(), str(x.dtype)),
            "values": lambda x: (x.sum().item(), x.tolist(), bool(x.sum()), float(x.sum()), int(x.sum()), 1.0 in x),
            "text": lambda x: f"{x.sum():.1f}",
            "history": lambda x: (x.grad, x._base, node_text(x.grad_fn), x.untyped_storage().nbytes()),
            "copied": lambda x: copy.copy(x),
            "array": lambda x: x.detach().numpy().tolist(),
            "hooked": lambda x: x.register_hook(lambda gradient: None) is not None,
            "data": lambda x: setattr(x, "data", numbers(fw)),
            "flag": lambda x: setattr(x, "requires_grad", False),
            "gradient": lambda x: (x.__setattr__("grad", numbers(fw)), x.grad),
            "gradient of the class": lambda x: (x.__setattr__("grad", numbers(fw).as_subclass(type(x))), x.grad),
            "no gradient": lambda x: x.__delattr__("grad"),
            "wrong": lambda x: x * "a",
            "none": lambda x: x + None,
            "too many": lambda x: x.view(7),
            "outside": lambda x: x[5],
        },
    )


def changes_in_place_of_subclasses(fw: Any) -> Any:
    def assigned(y: Any, index: Any, value: Any) -> Any:
        y[index] = value
        return y

    return each_call(
        fw,
        {
            "itself": lambda x: x.mul_(2),
            "operator": lambda x: x.__imul__(2),
            "result": lambda x: (x * 2).mul_(3),
            "by a plain one": lambda x: (x * 1).add_(leaf(fw)),
            "of a plain one": lambda x: leaf(fw).mul(1).add_(x),
            "of a plain leaf": lambda x: numbers(fw).add_(x),
            "detached": lambda x: (x.detach().add_(1), x.data.mul_(2), x.detach().copy_(numbers(fw))),
            "filled": lambda x: ((x * 1).fill_(0.5), (x * 1).sin_(), x.detach().zero_()),
            "item": lambda x: x.__setitem__(0, 5.0),
            "item of a result": lambda x: assigned(x * 1, slice(1, None), 5.0),
            "item of a plain one": lambda x: assigned(numbers(fw), 0, x[1]),
            "detached in place": lambda x: (x * 1).detach_(),
            "view": lambda x: (x * 1).view(2, 1).mul_(3),
            "required": lambda x: (x.requires_grad_(), x.detach().requires_grad_()),
            "retained": lambda x: (x * 1).retain_grad(),
        },
    )


def histories_of_changed_subclasses(fw: Any) -> Any:
    def part(fw: Any, make: Make) -> Iterator[Any]:
        x = make()
        y = x * 2
        yield y.add_(1) is y, described(fw, y), described(fw, y._base)
        view = y.view(2, 1)
        view.mul_(3)
        yield described(fw, view), described(fw, y), node_text(y.grad_fn, 4)
        y.add_(x)
        yield described(fw, y), node_text(view.grad_fn, 4)
        y *= y
        y[0] = x[1]
        yield described(fw, y), node_text(y.grad_fn, 3)
        plain = fw.zeros(2)
        plain[1:] = x[1:]
        plain += x
        yield described(fw, plain)

    return each_maker(fw, part)


def gradients_of_subclasses(fw: Any) -> Any:
    def part(fw: Any, make: Make) -> Iterator[Any]:
        x = make().requires_grad_()
        y = x * 3
        if x.grad_fn is not None:
            x.retain_grad()
        y.retain_grad()
        seen: list[Any] = []
        x.register_hook(lambda gradient: seen.append(described(fw, gradient)))
        y.register_hook(lambda gradient: seen.append(described(fw, gradient * 2)))
        y.sum().backward()
        yield described(fw, x.grad), described(fw, y.grad), seen
        first = fw.autograd.grad((x * x).sum(), x, create_graph=True)
        yield described(fw, first), described(fw, fw.autograd.grad(first[0].sum(), [x], allow_unused=True))
        x.grad = None
        fw.autograd.backward((x * 2).sum())
        yield described(fw, x.grad)
        x.grad.zero_()
        yield described(fw, x.grad)
        with fw.no_grad():
            x.add_(x.grad)
        yield described(fw, x)

    return each_maker(fw, part)


def saved_tensors_of_subclasses(fw: Any) -> Any:
    def part(fw: Any, make: Make) -> Iterator[Any]:
        x = make()
        y = x.exp()
        node = (x * y).grad_fn.next_functions[0][0]
        yield described(fw, node._saved_self), described(fw, node._saved_other)
        yield node._saved_self is x, node._saved_other is y
        packed: list[Any] = []

        def pack(tensor: Any) -> Any:
            packed.append(described(fw, tensor))
            return tensor

        with hooks(fw, pack, lambda tensor: tensor):
            z = (x.exp() * x).sum()
        z.backward()
        yield packed, described(fw, x.grad)

    return each_maker(fw, part)


def accumulators_of_subclasses(fw: Any) -> Any:
    def part(fw: Any, make: Make) -> Iterator[Any]:
        x = make()
        node = (x * 1).grad_fn
        while node.next_functions:
            node = node.next_functions[0][0]
        yield described(fw, node.variable), node.variable is x
        gone = weakref.ref(x)
        del x
        yield gone() is None, described(fw, node.variable)

    return each_maker(fw, part)


def lifetimes_of_subclasses(fw: Any) -> Any:
    def part(fw: Any, make: Make) -> Iterator[Any]:
        x = make()
        y = x.exp()
        z = y * x
        watched = [weakref.ref(x), weakref.ref(y), weakref.ref(z), weakref.ref(y._base or x)]
        y.tag = "tag"
        del y
        yield [each() is None for each in watched]
        del x
        yield [each() is None for each in watched]
        total = z.sum()
        del z
        yield [each() is None for each in watched]
        total.backward()
        yield [each() is None for each in watched]
        del total
        yield [each() is None for each in watched]

    return each_maker(fw, part)


def cycles_of_subclasses(fw: Any) -> Any:
    def part(fw: Any, make: Make) -> Iterator[Any]:
        x = make()
        x.child = x * 2
        x.child.parent = x.child
        watched = [weakref.ref(x), weakref.ref(x.child)]
        del x
        yield [each() is None for each in watched]
        gc.collect()
        yield [each() is None for each in watched]

    return each_maker(fw, part)


def functions_of_subclasses(fw: Any) -> Any:
    def double(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * 2

    def dirty(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        return x.mul_(2)

    def part(fw: Any, make: Make) -> Iterator[Any]:
        seen: list[Any] = []

        def backward(ctx: Any, *gradients: Any) -> Any:
            seen.append([described(fw, each) for each in (*gradients, *ctx.saved_tensors)])
            return sum(each.reshape(2) for each in gradients)

        forwards = {
            "double": double,
            "same": lambda ctx, x: x,
            "dirty": dirty,
            "view": lambda ctx, x: x.view(2, 1),
            "two": lambda ctx, x: (x * 2, x),
        }
        for name, forward in forwards.items():
            custom = function(fw, forward, backward)
            result = tried(lambda custom=custom: custom.apply(make() * 1))  # type: ignore[misc]
            yield name, described(fw, result)
            last = result[-1] if isinstance(result, tuple) else result
            yield tried(lambda last=last: last.sum().backward()), seen  # type: ignore[misc]
            yield described(fw, tried(lambda last=last: last.mul_(2)))  # type: ignore[misc]

    return each_maker(fw, part)


def a_subclass_whose_function_is_its_own(fw: Any) -> Any:
    """It calls methods that are limited to some releases, as one that failed did."""
    asked: list[str] = []

    class Own(fw.Tensor):  # type: ignore[misc]
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            asked.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

        def twice(self) -> Any:
            return super().mul(2)

    x = leaf(fw).as_subclass(Own)
    found = [x.untyped_storage().nbytes(), x.twice(), 2 * x, x[0], x.detach(), x.shape, x.grad, x.backward(numbers(fw))]
    x.data = numbers(fw).as_subclass(classes(fw)[0])
    return [described(fw, item) for item in found], asked


def a_subclass_whose_function_raises(fw: Any) -> Any:
    raised: list[Exception] = []

    class Raising(fw.Tensor):  # type: ignore[misc]
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            raise raised[0]

    x = leaf(fw).as_subclass(Raising)
    calls: list[Callable[[], Any]] = [
        lambda: x * 2,
        lambda: 2 * x,
        lambda: x.sin(),
        lambda: fw.sin(x),
        lambda: x.grad_fn,
        lambda: x[0],
        lambda: len(x),
        lambda: bool(x),
        lambda: x.backward(),
        lambda: x.__setitem__(0, 1),
        lambda: setattr(x, "grad", None),
        lambda: x == x,
        lambda: fw.cat([fw.ones(2), x]),
        lambda: fw.autograd.grad(x, x),
    ]
    lines = []
    for error in (ValueError("no"), TypeError("no")):
        raised[:] = [error]
        lines += [described(fw, tried(call)) for call in calls]
    return lines


def a_class_disabled_later(fw: Any) -> Any:
    sub = classes(fw)[0]
    x = leaf(fw).as_subclass(sub)
    before = type(x * 2).__name__
    sub.__torch_function__ = fw._C._disabled_torch_function_impl
    return before, type(x * 2).__name__


PROGRAMS = programs_in(globals())
