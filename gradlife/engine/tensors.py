"""The Python part of the extension's tensor type."""

from __future__ import annotations

import copy
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

from gradlife import _engine
from gradlife._engine import TensorBase, _TensorMeta
from gradlife.engine import overrides, rebuilding
from gradlife.engine.attributes import (
    Size as Size,
    contiguous_format as contiguous_format,
    device as device,
    layout as layout,
    memory_format as memory_format,
    preserve_format as preserve_format,
    strided as strided,
)
from gradlife.engine.hooks import RemovableHandle, add_hook
from gradlife.engine.printing import text_of
from gradlife.engine.release import release
from gradlife.engine.storage import TypedStorage, typed, untyped_for, warn_of_typed_storage


class Tensor(TensorBase, metaclass=_TensorMeta):
    """A typed, strided window on a storage, with the history that made it."""

    __array_priority__ = 1000  # numpy then leaves `array * tensor` to the tensor

    __torch_function__ = classmethod(overrides.default_torch_function)
    _has_symbolic_sizes_strides = property(lambda self: False)

    @overrides.asking
    def storage(self) -> TypedStorage:
        """Return the storage as elements of this dtype, a new object at each call; `untyped_storage()` is the storage."""
        warn_of_typed_storage()
        return typed(TensorBase.untyped_storage(self), self.dtype)

    def set_(self, source: Any = None, *window: Any, **named: Any) -> Self:
        """Move this tensor to the memory of a storage or another tensor, which then share it."""
        memory = untyped_for(source, self.dtype) if isinstance(source, TypedStorage) else source
        return super().set_(*(() if memory is None else (memory,)), *window, **named)

    def _typed_storage(self) -> TypedStorage:
        return typed(TensorBase.untyped_storage(self), self.dtype)

    @overrides.asking
    def backward(
        self,
        gradient: Tensor | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Sequence[Any] | None = None,
    ) -> None:
        """Add this tensor's gradient to ``.grad`` of every leaf behind it. Releases saved tensors unless retained."""
        from gradlife.engine import autograd

        autograd.backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    @overrides.asking
    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> Any:
        """Call ``hook`` with this tensor's gradient when complete; a returned tensor replaces it."""
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if self._backward_hooks is None:
            self._backward_hooks = OrderedDict()
            if self.grad_fn is not None:
                # this query may remake a view's node, without its hooks: PyTorch 2.13 crashes there
                if self._backward_hooks is None:
                    self._backward_hooks = OrderedDict()
                self._register_hook_dict()
        handle = add_hook(self._backward_hooks, hook)
        return handle if _engine._current_release()[0] == "torch" else None  # OneFlow returns no handle

    @overrides.asking
    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Call ``hook`` with this leaf after its ``.grad`` was added to."""
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if self.grad_fn is not None:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        if self._post_accumulate_grad_hooks is None:
            self._post_accumulate_grad_hooks = OrderedDict()
        return add_hook(self._post_accumulate_grad_hooks, hook)

    @overrides.asking
    def __repr__(self, *, tensor_contents: Any = None) -> str:
        assert self.device.type == "cpu"  # an empty wrapper fails here, as in torch
        cls = plain_class(self)
        is_plain = cls is Tensor or cls.__name__ == "Parameter" or release() < (1, 13)
        text = text_of(self, "tensor(" if is_plain else f"{cls.__name__}(")
        is_parameter = hasattr(self, "_is_param") or any(base.__name__ == "Parameter" for base in cls.__mro__)
        return f"Parameter({text})" if is_parameter and not is_plain else text

    @overrides.asking
    def split(self, split_size: Any, dim: int = 0) -> tuple[Tensor, ...]:
        """Views of ``split_size`` along ``dim``, one after another; a sequence gives the size of each."""
        return super().split(split_size, dim)

    def __iter__(self) -> Iterator[Tensor]:
        if self.dim() == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    @overrides.asking
    def __contains__(self, element: Any) -> bool:
        if isinstance(element, (TensorBase, bool, int, float)) or hasattr(element, "__index__"):
            return super().__contains__(element)
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")

    def __hash__(self) -> int:
        return id(self)

    @overrides.asking
    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if self.grad_fn is not None:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  If "
                "you were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, see "
                "https://github.com/pytorch/pytorch/pull/103001"
            )
        if id(self) not in memo:
            copied = rebuilding.deep_copy(self, plain_class(self), memo)
            copied.grad = copy.deepcopy(self.grad, memo)
            copied.__dict__ = copy.deepcopy(self.__dict__, memo)  # which copies a tensor twice that holds itself
            memo[id(self)] = copied
        return memo[id(self)]

    @overrides.asking
    def __reduce_ex__(self, protocol: Any) -> Any:
        cls, state = plain_class(self), rebuilding.state_of(self)
        parts = rebuilding.parts_of(self)
        if cls is Tensor and not state:
            return rebuilding.rebuild_tensor, parts
        return rebuilding.rebuild_typed, (cls, parts, state)

    def __setstate__(self, state: Any) -> None:
        rebuilding.set_attributes(self, state)

    @overrides.asking
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.numpy() if dtype is None else self.numpy().astype(dtype)

    @overrides.asking
    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if self.dim() == 0 and type(self) is Tensor else object.__format__(self, spec)


def plain_class(tensor: Tensor) -> type[Tensor]:
    """Return the class of a tensor; for OneFlow's, which have no Python attributes, the class they stand for."""
    cls = type(tensor)
    return cls if cls.__weakrefoffset__ else cls.__bases__[0]


def _warn(category: type[Warning], text: str) -> None:
    warnings.warn(text, category, stacklevel=3)


_engine._register("size_type", Size)
_engine._register("tensor_class", Tensor)
_engine._register("cpu_device", device("cpu"))
_engine._register("strided_layout", strided)
_engine._register("warn", _warn)
TensorBase._make_bare_class(Tensor)
