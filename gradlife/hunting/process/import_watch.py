"""Calls a function once a module is imported, without importing it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

from gradlife.safe_access import LibraryObject


class WhenImported:
    """A finder that finds nothing itself: it makes the loader of one module call back."""

    def __init__(self, name: str, then: Callable[[Any], None]) -> None:
        self._name = name
        self._then = then
        self._is_busy = False

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return the spec from the other finders, with its loader hooked."""
        if name != self._name or self._is_busy:
            return None
        self._is_busy = True
        try:
            spec = next((found for found in self._others(name, path, target) if found is not None), None)
        finally:
            self._is_busy = False
        if spec is not None and spec.loader is not None:
            self._hook(spec.loader)
        return spec

    def _others(self, name: str, path: Any, target: Any) -> Iterator[Any]:
        for finder in [*sys.meta_path]:
            if finder is not self and hasattr(finder, "find_spec"):  # as Python itself asks
                yield finder.find_spec(name, path, target)

    def _hook(self, loader: LibraryObject) -> None:
        execute = loader.exec_module

        def exec_module(module: Any) -> None:
            execute(module)
            loader.exec_module = execute
            sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not self]
            self._then(module)

        loader.exec_module = exec_module


def when_imported(name: str, then: Callable[[Any], None]) -> None:
    """Call ``then`` with a module once it is imported: now, or at the end of its import."""
    if name in sys.modules:
        then(sys.modules[name])
    else:
        sys.meta_path.insert(0, WhenImported(name, then))
