"""The base class of modules: named parameters, buffers and children, and a callable forward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from gradlife._engine import TensorBase
from gradlife.engine.nn.modules.calling import Calling
from gradlife.engine.nn.modules.every_module import (
    register_module_backward_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
)
from gradlife.engine.nn.modules.loading import Loading
from gradlife.engine.nn.modules.naming import checked_name
from gradlife.engine.nn.parameter import Buffer, Parameter
from gradlife.engine.release import drops_gradients
from gradlife.engine.tensors import Tensor
from gradlife.engine.typename import typename

__all__ = [
    "Module",
    "register_module_backward_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
]

_REGISTRIES = ("_parameters", "_buffers", "_modules")


class Module(Calling, Loading):
    """A piece of a model. Assigning a `Parameter` or another module to an attribute registers it."""

    dump_patches = False
    _version = 1
    training: bool
    call_super_init = False

    def __init__(self) -> None:
        write = super().__setattr__
        write("training", True)
        write("_parameters", {})
        write("_buffers", {})
        write("_non_persistent_buffers_set", set())
        self._make_hooks(write)
        write("_modules", {})

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the module's output; each subclass defines its own."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter under ``name``; ``None`` reserves the name for an optional one."""
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        checked_name(self, "parameter", name, self._parameters)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{typename(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)"
            )
        if param is not None and param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. To "
                f"express '{name}' as a function of another Tensor, compute the value in the forward() method."
            )
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that belongs to the state but is not trained; a non-persistent one is not saved."""
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        checked_name(self, "buffer", name, self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = tensor
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Adds a child under ``name``."""
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{typename(module)} is not a Module subclass")
        checked_name(self, "module", name, self._modules)
        self._modules[name] = module

    def register_module(self, name: str, module: Module | None) -> None:
        """The same as `add_module`."""
        self.add_module(name, module)

    def __getattr__(self, name: str) -> Any:
        for registry in _REGISTRIES:
            entries = self.__dict__.get(registry)
            if entries is not None and name in entries:
                return entries[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        if isinstance(value, Parameter):
            if "_parameters" not in own:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, keep="_parameters")
            self.register_parameter(name, value)
        elif name in own.get("_parameters", ()):
            self._replace(name, value, "parameter", "torch.nn.Parameter or None")
        elif isinstance(value, Module):
            if "_modules" not in own:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, keep="_modules")
            self._modules[name] = value
        elif name in own.get("_modules", ()):
            self._replace(name, value, "child module", "torch.nn.Module or None")
        elif isinstance(value, Buffer) or name in own.get("_buffers", ()):
            self._set_buffer(name, value)
        else:
            super().__setattr__(name, value)

    def _replace(self, name: str, value: Any, kind: str, expected: str) -> None:
        if value is not None:
            raise TypeError(f"cannot assign '{typename(value)}' as {kind} '{name}' ({expected} expected)")
        (self._parameters if kind == "parameter" else self._modules)[name] = None

    def _set_buffer(self, name: str, value: Any) -> None:
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(
                f"cannot assign '{typename(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None expected)"
            )
        is_persistent = name not in self.__dict__.get("_non_persistent_buffers_set", ())
        self.register_buffer(name, value, value.persistent if isinstance(value, Buffer) else is_persistent)

    def _forget(self, name: str, keep: str) -> None:
        self.__dict__.pop(name, None)
        for registry in _REGISTRIES:
            if registry != keep:
                self.__dict__.get(registry, {}).pop(name, None)
        if keep != "_buffers":
            self.__dict__.get("_non_persistent_buffers_set", set()).discard(name)

    def __delattr__(self, name: str) -> None:
        for registry in _REGISTRIES:
            if name in self.__dict__[registry]:
                del self.__dict__[registry][name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        names = [*dir(type(self)), *self.__dict__]
        for registry in _REGISTRIES:
            names.extend(self.__dict__[registry])
        return sorted(name for name in names if not name[0].isdigit())

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._make_hooks(self.__dict__.__setitem__)
        self.__dict__.update(state)

    def apply(self, fn: Callable[[Module], None]) -> Self:
        """Call ``fn`` with every module, children first."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def train(self, mode: bool = True) -> Self:
        """Switch this module and its descendants to training or evaluation."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for child in self.children():
            child.train(mode)
        return self

    def eval(self) -> Self:
        """Switch to evaluation."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set whether all parameters require grad."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool | None = None) -> None:
        """Drop all parameters' gradients, or zero them: the default before 2.0 and in OneFlow."""
        drops = drops_gradients() if set_to_none is None else set_to_none
        for parameter in self.parameters():
            if drops:
                parameter.grad = None
            elif parameter.grad is not None:
                clear_in_place(parameter.grad)

    def extra_repr(self) -> str:
        """Return the text that the representation shows beside the children."""
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = [f"({name}): {_indent(repr(child))}" for name, child in self._modules.items()]
        if not lines and "\n" not in extra:
            return f"{self._get_name()}({extra})"
        return "\n  ".join([f"{self._get_name()}(", *filter(None, extra.split("\n")), *lines]) + "\n)"


def clear_in_place(grad: Any) -> None:
    """Zero a gradient and detach it from its graph."""
    if grad.grad_fn is not None:
        TensorBase.detach_(grad)  # OneFlow has no public name for it
    else:
        grad.requires_grad_(False)
    grad.zero_()


def _indent(text: str) -> str:
    return text.replace("\n", "\n  ")
