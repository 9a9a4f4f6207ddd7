"""Reports whose texts are safe to show: each text of a report is one line, unless its field is declared as `Lines`."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, ParamSpec, TypeVar

from gradlife.visible_text import visible, visible_lines

#: The annotation of fields with several lines: `gradlife.model.source_text.Lines`.
LINES = "Lines"

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

CONTAINERS = frozenset({tuple, list, dict})

Spell = Callable[[str], str]


def shows_report(show: Callable[P, R]) -> Callable[P, R]:
    """Make a function that shows reports receive them with visible texts."""

    @functools.wraps(show)
    def shown(*args: P.args, **kwargs: P.kwargs) -> R:
        walk = Walk()
        safe = [walk.value(one, visible) for one in args]
        return show(*safe, **{name: walk.value(one, visible) for name, one in kwargs.items()})

    return shown


def visible_report(report: T, is_one_line: bool = True) -> T:
    """Return a value with visible texts: a dataclass, a container, a text; anything else as it is."""
    made: T = Walk().value(report, visible if is_one_line else visible_lines)
    return made


class Walk:
    """One pass through a report. An object in two places stays one object, and one without a change stays itself."""

    def __init__(self) -> None:
        #: Fields by class. Not for all walks: a notebook would see it grow.
        self._spellings: dict[Any, tuple[tuple[str, Spell], ...]] = {}
        #: The original and what was made of it. The original is kept, so that no other object has its id.
        self._done: dict[tuple[int, Spell], tuple[Any, Any]] = {}

    def value(self, value: Any, spell: Spell) -> Any:
        """Return the value with visible texts."""
        kind = type(value)
        if kind is str:
            return spell(value)
        if kind in CONTAINERS or is_dataclass(kind):
            return self._once(value, spell)
        return value

    def _once(self, value: Any, spell: Spell) -> Any:
        done = self._done.get((id(value), spell))
        if done is None:
            made = self._made(value, spell)
            done = self._done[id(value), spell] = (value, made)
        return done[1]

    def _made(self, value: Any, spell: Spell) -> Any:
        if isinstance(value, dict):
            pairs = {self.value(key, visible): self.value(item, spell) for key, item in value.items()}
            return value if all(pairs.get(key, pairs) is item for key, item in value.items()) else pairs
        if isinstance(value, (tuple, list)):
            items = [self.value(item, spell) for item in value]
            if all(new is old for new, old in zip(items, value, strict=True)):
                return value
            return type(value)(items)
        return self._dataclass(value)

    def _dataclass(self, value: Any) -> Any:
        spellings = self._spellings_of(type(value))
        changed = {}
        for name, spell in spellings:
            old = getattr(value, name)
            new = self.value(old, spell)
            if new is not old:
                changed[name] = new
        if not changed:
            return value
        made = copy.copy(value)
        for name in set(getattr(made, "__dict__", ())) - {name for name, _ in spellings}:
            del made.__dict__[name]  # a cached property, computed from the original
        for name, new in changed.items():
            object.__setattr__(made, name, new)
        return made

    def _spellings_of(self, kind: Any) -> tuple[tuple[str, Spell], ...]:
        """Return the fields of a dataclass, each with the function for its texts."""
        found = self._spellings.get(kind)
        if found is None:
            found = tuple((one.name, visible_lines if LINES in str(one.type) else visible) for one in fields(kind))
            self._spellings[kind] = found
        return found
