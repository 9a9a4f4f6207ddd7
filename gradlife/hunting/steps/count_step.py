"""The types of what counts the steps of a program."""

from __future__ import annotations

from collections.abc import Callable

#: Counts one step.
CountStep = Callable[[], object]

#: Begins a count when steps are found, or better ones than before. Its argument: the name of such a step.
Begin = Callable[[str], CountStep]
