"""Parameters: tensors that modules register and optimizers train."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, cast

from gradlife._engine import TensorBase, _TensorMeta
from gradlife.engine import overrides
from gradlife.engine.tensors import Tensor, plain_class


class _MarkedMeta(_TensorMeta):
    """Makes tensors of other classes count as instances if they have the mark of this one."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if super().__instancecheck__(instance):
            return True
        mark = cls.__dict__.get("_mark")
        return mark is not None and isinstance(instance, Tensor) and getattr(instance, mark, False)


class Parameter(Tensor, metaclass=_MarkedMeta):
    """A leaf that requires grad by default, registered by the module that it is assigned to."""

    _mark = "_is_param"

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        tensor = Tensor() if data is None else data
        if plain_class(tensor) in (Tensor, Parameter):
            return TensorBase._make_subclass(cls, tensor.detach(), requires_grad)
        marked: Any = tensor.detach().requires_grad_(requires_grad)
        if not isinstance(marked, Tensor) or plain_class(marked) is not plain_class(tensor):
            raise RuntimeError(
                f"Creating a Parameter from an instance of type {type(tensor).__name__} requires that detach() returns an "
                f"instance of the same type, but return type {type(marked).__name__} was found instead. To use the type as a "
                "Parameter, please correct the detach() semantics defined by its __torch_dispatch__() implementation."
            )
        marked.__dict__["_is_param"] = True
        return marked

    __torch_function__ = overrides.disabled_torch_function_impl

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.detach().clone(), self.requires_grad)
        return memo[id(self)]

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"Parameter containing:\n{super().__repr__()}"

    def __reduce_ex__(self, protocol: Any) -> Any:
        state = self.__dict__
        arguments: tuple[Any, ...] = (self.detach(), self.requires_grad, OrderedDict())
        if not state:
            return _rebuild_parameter, arguments
        return _rebuild_parameter_with_state, (*arguments, state)


TensorBase._make_bare_class(Parameter)


class Buffer(Tensor, metaclass=_MarkedMeta):
    """A tensor that belongs to the state of the module that it is assigned to, but is not trained."""

    _mark = "_is_buffer"
    persistent: bool

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        tensor = Tensor() if data is None else data
        marked: Any = tensor.detach().requires_grad_(tensor.requires_grad)
        marked.persistent = persistent
        marked._is_buffer = True
        return marked

    __torch_function__ = overrides.disabled_torch_function_impl


def _rebuild_parameter(data: Tensor, requires_grad: bool, backward_hooks: Any) -> Parameter:
    parameter = cast(Parameter, Parameter(data, requires_grad))
    parameter._backward_hooks = backward_hooks
    return parameter


def _rebuild_parameter_with_state(data: Tensor, requires_grad: bool, backward_hooks: Any, state: Any) -> Parameter:
    parameter = _rebuild_parameter(data, requires_grad, backward_hooks)
    parameter.__dict__.update(state)
    return parameter
