"""Modules that hold other modules by order or by name."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, Self, SupportsIndex

from gradlife.engine.nn.modules.module import Module


class _Ordered(Module):
    """Children named by number."""

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
        """Remove and return one child or several."""
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
    """Call the children one after the other, each with the result of the one before."""

    def __init__(self, *args: Any) -> None:
        super().__init__()
        named = args[0] if len(args) == 1 and isinstance(args[0], OrderedDict) else None
        for name, module in named.items() if named is not None else ((str(i), item) for i, item in enumerate(args)):
            self.add_module(name, module)

    def _slice(self, index: slice) -> Any:
        return type(self)(OrderedDict(list(self._modules.items())[index]))

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
