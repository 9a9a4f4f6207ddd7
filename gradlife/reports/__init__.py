"""Reports: model values in, text for people or machines out. Only this package and `gradlife.cli` use rich."""

import builtins
import importlib.util
import random
import sys
from importlib.abc import Loader
from types import ModuleType, SimpleNamespace
from typing import Any

#: A module of rich whose import draws a random number.
DRAWS = "rich.style"


class WithOwnNumbers(Loader):
    """Loads a module that takes random numbers from a generator of its own: those of the program go on as without it."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def exec_module(self, module: ModuleType) -> None:
        """Run the module with an `__import__` that has another `random` for it."""
        own = random.Random()

        def import_for_it(name: str, *arguments: Any, **options: Any) -> Any:
            if name == "random":
                return SimpleNamespace(getrandbits=own.getrandbits)
            return builtins.__import__(name, *arguments, **options)

        names = vars(module)["__builtins__"] = {**vars(builtins), "__import__": import_for_it}
        try:
            self._loader.exec_module(module)
        finally:
            names["__import__"] = builtins.__import__


def load_without_drawing() -> None:
    """Import the module that draws a number, if nobody has."""
    spec = importlib.util.find_spec(DRAWS) if DRAWS not in sys.modules else None
    if spec is not None and spec.loader is not None:
        plain, spec.loader = spec.loader, WithOwnNumbers(spec.loader)
        module = importlib._bootstrap._load(spec)  # type: ignore[attr-defined]
        module.__loader__ = spec.loader = plain
        package, _, name = DRAWS.rpartition(".")
        setattr(sys.modules[package], name, module)


load_without_drawing()
