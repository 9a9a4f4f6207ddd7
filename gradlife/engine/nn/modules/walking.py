"""Iterate over the parameters, buffers and children of a module, each once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Self

from gradlife._engine import dtype
from gradlife.engine.grad_mode import no_grad
from gradlife.engine.nn.parameter import Parameter
from gradlife.engine.tensors import Tensor

if TYPE_CHECKING:
    from gradlife.engine.nn.modules.module import Module


class Walking:
    """The part of a module that finds everything registered in it and its descendants."""

    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]
    _non_persistent_buffers_set: set[str]

    def children(self) -> Iterator[Module]:
        """Yield the direct children, each once."""
        for _, child in self.named_children():
            yield child

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Yield the direct children with their names."""
        seen: set[int] = set()
        for name, child in self._modules.items():
            if child is not None and id(child) not in seen:
                seen.add(id(child))
                yield name, child

    def modules(self) -> Iterator[Module]:
        """Yield this module and all descendants, each once."""
        for _, module in self.named_modules():
            yield module

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Yield this module and all descendants with dotted names, parents first."""
        memo = set() if memo is None else memo
        waiting: list[tuple[str, Any]] = [(prefix, self)]
        while waiting:
            path, module = waiting.pop()
            if module in memo:
                continue
            if remove_duplicate:
                memo.add(module)
            yield path, module
            below = [(_join(path, name), child) for name, child in module._modules.items() if child is not None]
            waiting.extend(reversed(below))

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Yield the parameters of this module and its descendants."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """The parameters with their dotted names."""
        return self._named_members(lambda module: module._parameters.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Yield the buffers of this module and its descendants."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """The buffers with their dotted names."""
        return self._named_members(lambda module: module._buffers.items(), prefix, recurse, remove_duplicate)

    def _named_members(
        self,
        members_of: Callable[[Any], Iterable[tuple[str, Any]]],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, member in members_of(module):
                if member is None or id(member) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(member))
                yield _join(path, name), member

    def get_submodule(self, target: str) -> Any:
        """Return the module with a dotted name; this one for the empty name."""
        module: Any = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Walking):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def get_parameter(self, target: str) -> Parameter:
        """Return the parameter with a dotted name."""
        found = self._get_member(target)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{target.rpartition('.')[2]}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """Return the buffer with a dotted name."""
        found, path, name = self._get_member(target), *target.rpartition(".")[::2]
        if name not in self.get_submodule(path)._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return found  # type: ignore[no-any-return]  # a buffer by its registry

    def _get_member(self, target: str) -> Any:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        return getattr(module, name)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Apply ``fn`` to the data of parameters, their gradients, and buffers; parameters stay the same objects."""
        for module in list(self.modules()) if recurse else [self]:
            for parameter in module._parameters.values():
                if parameter is not None:
                    _replace_data(parameter, fn)
            for name, buffer in module._buffers.items():
                module._buffers[name] = None if buffer is None else fn(buffer)
        return self

    def float(self) -> Self:
        """Convert floating point parameters and buffers to float32."""
        return self._apply(lambda tensor: tensor.float() if tensor.is_floating_point() else tensor)

    def double(self) -> Self:
        """Convert floating point parameters and buffers to float64."""
        return self._apply(lambda tensor: tensor.double() if tensor.is_floating_point() else tensor)

    def cpu(self) -> Self:
        """Do nothing: everything is on the CPU."""
        return self._apply(lambda tensor: tensor.cpu())

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move parameters and buffers to a dtype (floating point ones only) or a device."""
        wanted = [*args, kwargs.get("dtype")]
        kinds = [item for item in wanted if isinstance(item, dtype)]
        if kinds and not kinds[0].is_floating_point:
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={kinds[0]}"
            )
        return self._apply(lambda tensor: tensor.to(*args, **kwargs) if tensor.is_floating_point() else tensor)


def _replace_data(parameter: Any, fn: Callable[[Tensor], Tensor]) -> None:
    with no_grad():
        parameter.data = fn(parameter)
        if parameter.grad is not None:
            grad = parameter.grad
            grad.data = fn(grad)


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
