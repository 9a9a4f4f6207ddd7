"""A call when the main module defines a name. Python runs a main module without an import that could be heard."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

from gradlife.errors import GradlifeError

#: What the code of a module is called.
MODULE = "<module>"


class WhenDefined:
    """Watches the statements of the main module that this thread will run, and of no function."""

    def __init__(self, name: str, then: Callable[[Any], None]) -> None:
        self._name = name
        self._then = then

    def start(self) -> None:
        """Watch from here on, unless another tool traces."""
        if sys.gettrace() is None:
            sys.settrace(self._call)

    def _call(self, frame: FrameType, event: str, argument: Any) -> Any:
        is_main = frame.f_code.co_name == MODULE and frame.f_globals.get("__name__") == "__main__"
        return self._line if is_main else None

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        if self._name not in frame.f_globals:
            return self._line
        sys.settrace(None)
        with suppress(GradlifeError):  # it has no such function, and runs as it would
            self._then(sys.modules["__main__"])
        return None


def when_defined(name: str, then: Callable[[Any], None]) -> None:
    """Call `then` with the main module before the statement that follows the definition of a name."""
    WhenDefined(name, then).start()
