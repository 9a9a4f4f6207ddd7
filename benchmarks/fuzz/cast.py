"""The hooks, pack and unpack hooks and custom Functions that programs use.

Each takes the `lab` first, the one of a scenario or the fuzzer's own, and reports its arguments to it. A found
program becomes a scenario file with the source of what it uses from here, so this file stays in the Python 3.7
subset.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

SCALE = 0.5


class Numbered:
    """A scenario's lab for programs: repeated reports of a hook are numbered."""

    def __init__(self, lab: Any) -> None:
        self.lab = lab
        self.count = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.lab, name)

    def value(self, name: str, value: Any) -> None:
        self.count += 1
        self.lab.value(name + ", " + str(self.count), value)

    def watch(self, name: str, obj: Any) -> None:
        self.count += 1
        if hasattr(obj, "metadata") or hasattr(obj, "__weakref__") or hasattr(obj, "untyped_storage"):
            self.lab.watch(name + ", " + str(self.count), obj)

    def numbers(self, name: str, tensor: Any, looks: bool) -> None:
        self.lab.attempt("numbers of " + name, lambda: tensor.tolist())
        if looks:
            self.lab.attempt("gradient of " + name, lambda: tensor.grad.tolist())


def noted(lab: Any, label: str, given: Any) -> None:
    """Record arguments, flat: numbers of tensors, whether they require grad, None."""
    if isinstance(given, (tuple, list)):
        for item in given:
            noted(lab, label, item)
    elif hasattr(given, "tolist"):
        lab.value(label, [given.tolist(), given.requires_grad])
        lab.watch(label + " given", given)
    else:
        lab.value(label, None if given is None else type(given).__name__)


def scaled(given: Any) -> Any:
    """The same structure with each tensor halved."""
    if isinstance(given, (tuple, list)):
        return tuple(scaled(item) for item in given)
    return None if given is None else given * SCALE


def hook(lab: Any, label: str, over: Any = None, does: str = "nothing") -> Callable[..., Any]:
    """Return a hook of any kind that holds `over`, records its arguments, and has one side effect."""

    calls = []

    def called(*given: Any) -> Any:
        held = over  # noqa: F841 - holding it is all that this does with it
        calls.append(1)
        noted(lab, label, given)
        if does == "stashes":
            lab.hold(given)
        # nested backwards from hooks would end only with the stack
        return None if does == "runs backward" and len(calls) > 1 else hook_answer(does, over, given)

    lab.watch(label, called)
    return called


def hook_answer(does: str, over: Any, given: Any) -> Any:
    """Return the value of a hook, after its action."""
    if does == "scales":
        return scaled(given[0])
    if does == "raises":
        raise ValueError("raised in a hook")
    if does == "returns text":
        return "text"
    if does == "drops":
        over.clear()
    if does == "runs backward":
        over.sum().backward(retain_graph=True)
    if does == "returns what it holds":
        return over
    return None


def pack(lab: Any, label: str, kind: str = "same", over: Any = None) -> Callable[[Any], Any]:
    """Pack a tensor: unchanged, in a list, detached, as numbers, as something else, or raise."""

    def packing(tensor: Any) -> Any:
        lab.value(label, [tensor.tolist(), tensor.requires_grad, tensor.grad_fn is None])
        lab.watch(label + " packed", tensor)
        if kind == "raises":
            raise ValueError("raised while packing")
        if kind == "changes":
            tensor.mul_(2)
        return {"list": [tensor], "detached": tensor.detach(), "numbers": tensor.tolist(), "other": over}.get(
            kind, tensor
        )

    lab.watch(label, packing)
    return packing


def unpack(lab: Any, label: str, kind: str = "same", over: Any = None) -> Callable[[Any], Any]:
    """Return the unpack hook for `pack` of the same kind; it may hold something, too."""

    def unpacking(packed: Any) -> Any:
        held = over  # noqa: F841 - holding it is all that this does with it
        lab.value(label, kind)
        if kind == "unpack raises":
            raise ValueError("raised while unpacking")
        if kind == "text":
            return "text"
        if kind == "numbers":
            return lab.fw.tensor(packed, dtype=lab.fw.float64)
        return packed[0] if kind == "list" else packed

    lab.watch(label, unpacking)
    return unpacking


def subclass(lab: Any, name: str = "Sub") -> Any:
    """Return the Tensor subclass of this name. `Off` does not override, `Under` is a subclass of `Sub`."""
    Tensor = lab.fw.Tensor
    base = subclass(lab) if name == "Under" else Tensor
    known = [each for each in base.__subclasses__() if each.__name__ == name]
    if known:
        return known[-1]
    body = {"__torch_function__": lab.fw._C._disabled_torch_function_impl} if name == "Off" else {}
    return type(name, (base,), body)


def custom(
    lab: Any,
    label: str,
    keep: str = "nothing",
    save: str = "nothing",
    gives: str = "new",
    back: str = "plain",
    over: Any = None,
    setup: bool = False,
) -> Any:
    """A Function that keeps something on its ctx, saves something, and gives something new, a view, its input or an error.

    With `setup` it is written with setup_context.
    """

    def compute(x: Any) -> Any:
        if gives == "dirty":
            x.mul_(2)
        middle = x * 2
        y = {"view": x.view_as(x), "part": x[...], "input": x, "dirty": x, "dirty view": middle.view_as(middle)}.get(
            gives, middle + 1
        )
        return (y, middle) if gives in ("two", "unmaterialized", "marked") else y

    def prepare(ctx: Any, inputs: Any, output: Any) -> None:
        (x,) = inputs
        y, middle = output if isinstance(output, tuple) else (output, x * 2)
        if gives.startswith("dirty"):
            ctx.mark_dirty({"dirty": x, "dirty view": y}.get(gives, "text"))
        things = {"input": x, "output": y, "middle": middle, "view": y.view_as(y), "other": over, "itself": ctx}
        if keep == "held":
            lab.hold(ctx)
        elif keep != "nothing":
            ctx.kept = things[keep]
        if save in things:
            ctx.save_for_backward(things[save])
        elif save == "both":
            ctx.save_for_backward(x, y)
        if gives == "unmaterialized":
            ctx.set_materialize_grads(False)
        if gives == "marked":
            ctx.mark_non_differentiable(middle)

    class Custom(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            output = compute(x)
            prepare(ctx, (x,), output)
            if gives == "error":
                raise ValueError("raised in forward")
            return output

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            noted(lab, label + " backward", grads)
            grad: Any = next((item for item in grads if item is not None), None)
            if back == "raises":
                raise ValueError("raised in backward")
            if back == "reads saved":
                noted(lab, label + " saved", ctx.saved_tensors)
                return grad * ctx.saved_tensors[0]
            if back == "reads kept":
                return grad * ctx.kept
            if back == "drops kept":
                del ctx.kept
            return {"none": None, "two": (grad, grad), "same": grad, "text": "text"}.get(back, grad * 2)

    if not setup:
        return Custom
    parts: dict[str, Callable[..., Any]] = {"forward": compute, "setup_context": prepare, "backward": Custom.backward}
    return type("Custom", (lab.fw.autograd.Function,), {name: staticmethod(part) for name, part in parts.items()})
