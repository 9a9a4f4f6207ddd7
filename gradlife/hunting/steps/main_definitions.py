"""Calls a function once the main module defines a name. No import of the main module can be hooked."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

from gradlife.errors import GradlifeError
from gradlife.hunting.process.import_watch import when_imported
from gradlife.hunting.steps.function_calls import MAIN, CallSteps

#: The name of a module's code.
MODULE = "<module>"


class WhenDefined:
    """Traces the statements that this thread runs in the main module, and in no function."""

    def __init__(self, name: str, then: Callable[[Any], None]) -> None:
        self._name = name
        self._then = then

    def start(self) -> None:
        """Start tracing, unless another tool traces."""
        if sys.gettrace() is None:
            sys.settrace(self._call)

    def _call(self, frame: FrameType, event: str, argument: Any) -> Any:
        is_main = frame.f_code.co_name == MODULE and frame.f_globals.get("__name__") == "__main__"
        return self._line if is_main else None

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        if self._name not in frame.f_globals:
            return self._line
        sys.settrace(None)
        with suppress(GradlifeError):  # there is no such function: the program goes on
            self._then(sys.modules["__main__"])
        return None


def count_when_loaded(counted: CallSteps) -> None:
    """Count the calls of a function as soon as its module defines it."""
    if counted.module == MAIN:
        when_defined(counted.name, counted.attach)
    else:
        when_imported(counted.module, counted.attach)


def when_defined(name: str, then: Callable[[Any], None]) -> None:
    """Call ``then`` with the main module before the statement after the definition of a name."""
    WhenDefined(name, then).start()
