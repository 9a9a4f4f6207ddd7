"""Modules that hold other modules in order, or by name."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, Self, SupportsIndex

from gradlife.engine.nn.modules.module import Module

__all__ = ["ModuleDict", "ModuleList", "Sequential"]


class _Ordered(Module):
    """Children named by their numbers."""

    def _position(self, index: SupportsIndex) -> int:
        position = operator.index(index)
        if not -len(self) <= position < len(self):
            raise IndexError(f"index {position} is out of range")
        return position % len(self)

    def _renumber(self, modules: Iterable[Any]) -> None:
        children = {str(number): module for number, module in enumerate(modules)}
        self._modules.clear()
        self._modules.update(children)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def pop(self, key: int | slice) -> Any:
        """Takes out and gives a child, or several."""
        module = self[key]
        del self[key]
        return module

    def __getitem__(self, index: Any) -> Any:
        children = list(self._modules.values())
        return self._slice(index) if isinstance(index, slice) else children[self._position(index)]

    def _slice(self, index: slice) -> Any:
        kind: Any = type(self)
        return kind(list(self._modules.values())[index])

    def __setitem__(self, index: SupportsIndex, module: Any) -> None:
        setattr(self, list(self._modules)[self._position(index)], module)

    def __delitem__(self, index: Any) -> None:
        names = list(self._modules)
        for name in names[index] if isinstance(index, slice) else [names[self._position(index)]]:
            delattr(self, name)
        self._renumber(self._modules.values())


class Sequential(_Ordered):
    """Calls its children one after the other, each with what the one before gave."""

    def __init__(self, *args: Any) -> None:
        super().__init__()
        named = args[0] if len(args) == 1 and isinstance(args[0], OrderedDict) else None
        for name, module in named.items() if named is not None else ((str(i), item) for i, item in enumerate(args)):
            self.add_module(name, module)

    def _slice(self, index: slice) -> Any:
        return type(self)(OrderedDict(list(self._modules.items())[index]))

    def __add__(self, other: Any) -> Sequential:
        return Sequential(*self, *self._checked(other))

    def __iadd__(self, other: Any) -> Self:
        return self.extend(list(self._checked(other)))

    @staticmethod
    def _checked(other: Any) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return other

    def __mul__(self, other: int) -> Sequential:
        self._check_factor(other)
        return Sequential(*(list(self) * other))

    __rmul__ = __mul__

    def __imul__(self, other: int) -> Self:
        self._check_factor(other)
        return self.extend(list(self) * (other - 1))

    def _check_factor(self, other: Any) -> None:
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")

    def forward(self, input: Any) -> Any:
        for module in self:
            input = module(input)
        return input

    def append(self, module: Module) -> Self:
        """Adds a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index: int, module: Module) -> Self:
        """Adds a module before the one at ``index``."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)
        return self

    def extend(self, sequential: Iterable[Any]) -> Self:
        """Adds modules at the end."""
        for module in sequential:
            self.append(module)
        return self


class ModuleList(_Ordered):
    """A list of modules; it computes nothing."""

    def __init__(self, modules: Iterable[Any] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def append(self, module: Module | None) -> Self:
        """Adds a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Any]) -> Self:
        """Adds modules at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        for module in modules:
            self.append(module)
        return self

    __iadd__ = extend

    def __add__(self, other: Iterable[Any]) -> ModuleList:
        return ModuleList([*self, *other])

    def insert(self, index: int, module: Module) -> None:
        """Adds a module before the one at ``index``."""
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)

    def __repr__(self) -> str:
        runs = [list(run) for _, run in groupby(enumerate(map(repr, self)), key=lambda item: item[1])]
        if not runs:
            return f"{self._get_name()}()"
        lines = []
        for run in runs:
            (first, text), last = run[0], run[-1][0]
            line = f"({first}): {text}" if first == last else f"({first}-{last}): {len(run)} x {text}"
            lines.append(line.replace("\n", "\n  "))
        return "\n  ".join([f"{self._get_name()}(", *lines]) + "\n)"


class ModuleDict(Module):
    """A dictionary of modules; it computes nothing."""

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Takes out every module."""
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Takes out and gives the module of this name."""
        return self._modules.pop(key)

    def keys(self) -> Any:
        """The names."""
        return self._modules.keys()

    def items(self) -> Any:
        """The names with their modules."""
        return self._modules.items()

    def values(self) -> Any:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Adds the modules of a mapping, or of an iterable of pairs."""
        for key, module in checked_pairs("ModuleDict", modules):
            self[key] = module


def checked_pairs(kind: str, entries: Any) -> Iterator[tuple[Any, Any]]:
    """The pairs of a mapping, or of an iterable of pairs, each looked at first."""
    if not isinstance(entries, Iterable):
        raise TypeError(
            f"{kind}.update should be called with an iterable of key/value pairs, but got {type(entries).__name__}"
        )
    if isinstance(entries, (Mapping, ModuleDict)):
        yield from entries.items()
        return
    name = kind.replace("Parameters", "Parameter")
    for place, pair in enumerate(entries):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{name} update sequence element #{place} should be Iterable; is{type(pair).__name__}")
        values = list(pair)
        if len(values) != 2:
            raise ValueError(f"{name} update sequence element #{place} has length {len(values)}; 2 is required")
        yield values[0], values[1]
