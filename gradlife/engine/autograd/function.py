"""Custom Functions: the classes around the extension's context."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from gradlife import _engine
from gradlife._engine import _FunctionBase
from gradlife.engine.grad_mode import no_grad
from gradlife.engine.hooks import RemovableHandle, add_hook
from gradlife.engine.release import is_oneflow, release
from gradlife.engine.tensors import Tensor


class FunctionCtx:
    """The context methods that forward may call."""

    to_save: tuple[Tensor | None, ...] | None
    saved_for_forward: tuple[Tensor | None, ...] | None
    dirty_tensors: tuple[Tensor, ...] | None
    non_differentiable: tuple[Tensor, ...] | None
    materialize_grads: bool

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Saves tensors for backward, which finds them in ``saved_tensors``. Call it once, with everything."""
        self.to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Saves tensors for ``jvp``; ``saved_tensors`` shows them until forward has returned."""
        assert all(each is None or isinstance(each, Tensor) for each in tensors), (
            "save_for_forward expects all arguments to be tensors; you should save non-tensors as attributes on ctx."
        )
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """Says which inputs forward changed in place; each must be an output too."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Mark the outputs that have no gradient."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Set whether backward receives zeros (True, the default) or None for unused outputs."""
        self.materialize_grads = value


class _ContextMethodMixin:
    """The name of FunctionCtx until 1.9."""

    save_for_backward = FunctionCtx.save_for_backward
    mark_dirty = FunctionCtx.mark_dirty
    mark_non_differentiable = FunctionCtx.mark_non_differentiable
    set_materialize_grads = FunctionCtx.set_materialize_grads


class _HookMixin:
    """Hooks that a context itself keeps."""

    @staticmethod
    def _register_hook(backward_hooks: Any, hook: Callable[..., Any]) -> tuple[Any, RemovableHandle]:
        hooks = OrderedDict() if backward_hooks is None else backward_hooks
        return hooks, add_hook(hooks, hook)


class BackwardCFunction(_FunctionBase, FunctionCtx, _HookMixin):
    """The context of one application, which is also the ``grad_fn`` of its outputs."""

    _is_legacy = False
    _forward_cls: Any

    def apply(self, *args: Any) -> Any:  # type: ignore[override]  # a class method of Function, as in PyTorch
        """Runs the user's backward."""
        if getattr(self._forward_cls, "boxed_grads_call", False) and release() >= (2, 13):
            args = (list(args),)
        return self._user_backward()(self, *args)

    def apply_boxed(self, *args: Any) -> Any:
        """Run a backward that takes its gradients in one list, which is their only owner."""
        return self._user_backward()(self, *args)

    def _user_backward(self) -> Callable[..., Any]:
        backward, vjp = self._forward_cls.backward, self._forward_cls.vjp
        if backward is not Function.backward and vjp is not Function.vjp:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one "
                "of them."
            )
        found: Callable[..., Any] = backward if vjp is Function.vjp else vjp
        return found


class _BackwardCFunctionBefore110(_FunctionBase, _ContextMethodMixin, _HookMixin):
    _is_legacy = False
    _forward_cls: Any
    apply = BackwardCFunction.apply
    _user_backward = BackwardCFunction._user_backward


_BackwardCFunctionBefore110.__name__ = "BackwardCFunction"


class FunctionMeta(type):
    """Give every Function its own context class, named after it."""

    def __init__(cls, name: str, bases: tuple[type, ...], attributes: dict[str, Any]) -> None:
        super().__init__(name, bases, attributes)
        framework, release = _engine._current_release()
        is_old = framework == "torch" and release < 110
        base = _BackwardCFunctionBefore110 if is_old else BackwardCFunction
        context = type(name + "Backward", (base,), {"_forward_cls": cls})
        context.__module__ = "torch.autograd.function"
        cls._backward_cls = context

    @property
    def _has_setup_context(cls) -> bool:
        """Whether it has a setup_context of its own now: then forward gets no context."""
        return next(base for base in cls.__mro__ if "setup_context" in base.__dict__) is not _SingleLevelFunction


class _SingleLevelFunction(_FunctionBase, FunctionCtx, _HookMixin, metaclass=FunctionMeta):
    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Fill the context after a forward without ctx."""
        raise NotImplementedError("setup_context is not implemented.")


class Function(_SingleLevelFunction):
    """An operation with its own forward and backward.

    Static ``forward`` and ``backward``, called through ``apply``. An instance with its own forward is a legacy
    Function: it is its own context and called directly, if the policy of legacy functions allows it.
    """

    _is_legacy = True
    #: Whether ``saved_tensors`` can be read only once and releases the tensors then. Read when the class is applied.
    clear_saved_tensors_on_access = False
    #: Whether backward receives the gradients in one list, from which it may remove those it no longer needs.
    boxed_grads_call = False
    generate_vmap_rule = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not is_oneflow() and _engine._current_policy()[1]["legacy_functions"] == "refused":
            warnings.warn(
                f"{self.__class__} should not be instantiated. Methods on autograd functions are all static, so you should "
                "invoke them on the class itself. Instantiating an autograd function will raise an error in a future version "
                "of PyTorch.",
                DeprecationWarning,
                stacklevel=2,
            )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Apply a legacy Function; all profiles from torch 1.5 on refuse. OneFlow applies the class instead."""
        return type(self).apply(*args) if is_oneflow() else self._do_forward(*args, **kwargs)

    @classmethod
    def _bind_arguments(cls, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return all arguments in the order of forward's parameters; only with a setup_context also its defaults."""
        forward: Any = cls.forward
        if cls._has_setup_context:
            bound = inspect.signature(forward).bind(*args, **kwargs)
            bound.apply_defaults()
            args, kwargs = bound.args, bound.kwargs
        if not kwargs:
            return args
        code = forward.__code__
        names = code.co_varnames[not cls._has_setup_context : code.co_argcount]
        for name in kwargs:
            if name not in names:
                raise TypeError(f"forward() got an unexpected keyword argument '{name}'")
            if name in names[: len(args)]:
                raise TypeError(f"forward() got multiple values for argument '{name}'")
        named = names[len(args) : len(args) + len(kwargs)]
        for position, name in enumerate(named, len(args)):
            if name not in kwargs:
                raise TypeError(f"forward() missing required argument: '{name}' (position {position})")
        return (*args, *(kwargs[name] for name in named))

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Computes the outputs."""
        _raise_not_implemented("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Computes the gradients of the inputs from those of the outputs."""
        if (1, 2) < release() < (1, 10):
            raise NotImplementedError("You must implement the backward function for custom autograd.Function.")
        _raise_not_implemented(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward "
            "mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Compute the outputs' derivatives from those of the inputs. Never called here: the engine runs backward only."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """Compute for a batch. Never called here: the engine has no batches."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set "
            "generate_vmap_rule=True."
        )


def _raise_not_implemented(text: str) -> None:
    raise NotImplementedError(*([text] if release() > (1, 2) else []))


class InplaceFunction(Function):
    """A Function with an ``inplace`` flag."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Runs a backward without recording; differentiating its result raises."""

    @functools.wraps(backward)
    def wrapper(ctx: Any, *args: Any) -> Any:
        with no_grad():
            outputs = backward(ctx, *args)
        if not _engine.is_grad_enabled():
            return outputs
        if not any(isinstance(argument, Tensor) and argument.requires_grad for argument in args):
            return outputs
        return _guard_against_second(outputs)

    return wrapper


def _guard_against_second(outputs: Any) -> Any:
    values = outputs if isinstance(outputs, tuple) else (outputs,)
    gradients = [None if value is None else value.detach().requires_grad_() for value in values]
    space = " " if release() >= (1, 10) else ""
    guarded = _engine._delayed_error(
        f"trying to differentiate twice a function that was marked{space}with @once_differentiable", gradients
    )
    return guarded if isinstance(outputs, tuple) else guarded[0]
