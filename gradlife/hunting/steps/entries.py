"""Counts entries into functions, by their code, and leaves the program's own profiler alone.

It uses `sys.monitoring` on Python 3.12 and later, else a call inserted at the start of the code.
"""

from __future__ import annotations

import functools
import gc
import sys
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import CodeType, FrameType, FunctionType
from typing import Any

from gradlife import _heap
from gradlife.hunting.steps.code_prefix import with_call
from gradlife.safe_access import is_a, loaded_modules

HAS_MONITORING = sys.version_info >= (3, 12)

#: Tool numbers that no debugger, coverage tool, profiler or optimizer uses.
FREE_TOOLS = (3, 4)


class Entry(_heap.UnheardCall):
    """A watched function: how often it was entered, and a function to call at each entry.

    Entries from within itself are none: a module calls modules, and a walk over a tree walks its branches. What the outer
    call has put together by then would seem to grow.
    """

    def __init__(self, code: CodeType) -> None:
        self.code = self.running = code  # its own, and the one that runs: it may have a call inserted
        self.count = 0
        self.is_exact = True  # otherwise entries from within count, too: to tell them takes up to a few microseconds
        self.on_entry: Callable[[], object] | None = None

    def called(self) -> object:
        """Count an entry into the function that calls this, unheard by functions that trace or profile it."""
        return self.entered(sys._getframe(1))

    def entered(self, frame: FrameType) -> object:
        """Count an entry into this frame."""
        if self.is_exact and self._is_within(frame.f_back):
            return None
        self.count += 1
        return self.on_entry() if self.on_entry is not None else None

    def _is_within(self, frame: FrameType | None) -> bool:
        """Whether a frame, or one around it, is of this function."""
        running, own = self.running, self.code
        while frame is not None:
            code = frame.f_code
            if code is running or code is own:
                return True
            frame = frame.f_back
        return False

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[object, ...]]:
        """Pickle as a function that does nothing: where the code is sent to another process, nothing counts."""
        return functools.partial, (int,)


class Entered(_heap.UnheardCall):
    """The callback of `sys.monitoring` for entries into functions."""

    def __init__(self, entries: Mapping[CodeType, Entry]) -> None:
        self._entries = entries

    def called(self, code: CodeType, offset: int) -> object:
        """Count an entry, unheard by functions that trace or profile the program."""
        entry = self._entries.get(code)
        return entry.entered(sys._getframe(1)) if entry is not None else None


class MonitoredEntries:
    """Counts entries with `sys.monitoring`, enabled for the watched code only."""

    def __init__(self) -> None:
        self._monitoring: Any = getattr(sys, "monitoring")  # noqa: B009 - not there before Python 3.12
        self._entries: dict[CodeType, Entry] = {}
        self._tool: int | None = None  # tool number, while something is watched

    def watch(self, codes: Sequence[CodeType]) -> list[Entry]:
        """Start counting the entries of these functions."""
        if self._tool is None and codes:
            self._begin()
        if self._tool is None:
            return []
        found = [Entry(code) for code in codes]
        for entry in found:
            self._entries[entry.code] = entry
            self._monitoring.set_local_events(self._tool, entry.code, self._monitoring.events.PY_START)
        return found

    def _begin(self) -> None:
        free = (number for number in FREE_TOOLS if self._monitoring.get_tool(number) is None)
        self._tool = next(free, None)
        if self._tool is not None:
            self._monitoring.use_tool_id(self._tool, "gradlife")
            self._monitoring.register_callback(self._tool, self._monitoring.events.PY_START, Entered(self._entries))

    def watch_in(self, program: CodeType, names: Collection[str]) -> tuple[CodeType, list[Entry]]:
        """Count entries of functions that a program will define, by qualified name; return the code to run, too."""
        return program, self.watch([code for code in nested(program) if code.co_qualname in names])

    def drop(self, entry: Entry) -> None:
        """Stop counting."""
        if self._entries.pop(entry.code, None) is not None:
            self._monitoring.set_local_events(self._tool, entry.code, 0)
        if self._tool is not None and not self._entries:
            self._monitoring.register_callback(self._tool, self._monitoring.events.PY_START, None)
            self._monitoring.free_tool_id(self._tool)
            self._tool = None


class PrefixedEntries:
    """Counts entries by a call inserted at the start of the code."""

    def __init__(self) -> None:
        self._functions: dict[CodeType, list[weakref.ref[FunctionType]]] = {}

    def watch(self, codes: Sequence[CodeType]) -> list[Entry]:
        """Start counting the entries of these functions, except those that no longer exist.

        This searches all objects of the process: some 50 ms.
        """
        wanted = {id(code): Entry(code) for code in codes}
        found = []
        for function in functions_of(codes):
            entry = wanted.get(id(plain_code(function.__code__)))  # a fork may inherit counted code
            if entry is not None:
                self._prefix(function, entry)
                found.append(entry)
        return list({id(entry): entry for entry in found}.values())

    def watch_in(self, program: CodeType, names: Collection[str]) -> tuple[CodeType, list[Entry]]:
        """Count entries of functions that a program will define, by qualified name; return the code to run, too."""
        entries: list[Entry] = []

        def prefixed(code: CodeType) -> CodeType:
            inner = tuple(prefixed(one) if isinstance(one, CodeType) else one for one in code.co_consts)
            changed = code.replace(co_consts=inner) if inner != code.co_consts else code
            if code.co_qualname not in names:
                return changed
            entries.append(Entry(changed))
            return prefixed_code(entries[-1])

        return prefixed(program), entries

    def drop(self, entry: Entry) -> None:
        """Restore the functions' own code."""
        for reference in self._functions.pop(entry.code, ()):
            function = reference()
            if function is not None and plain_code(function.__code__) is entry.code:
                function.__code__ = entry.code
        entry.running, entry.is_exact = entry.code, False  # the two would keep each other alive for ever

    def _prefix(self, function: FunctionType, entry: Entry) -> None:
        function.__code__ = prefixed_code(entry)
        self._functions.setdefault(entry.code, []).append(weakref.ref(function))


def prefixed_code(entry: Entry) -> CodeType:
    """Return a function's code with a call of its entry inserted, always the same one."""
    if entry.running is entry.code:
        entry.running = with_call(entry.code, entry)
    return entry.running


def functions_of(codes: Sequence[CodeType]) -> Iterator[FunctionType]:
    """Yield functions that may have some code: by name, as the collector hides frozen ones, then by referrers."""
    for code in codes:
        yield from functions_named(code)
    found = gc.get_referrers(*codes) if codes else []
    yield from (one for one in found if type(one) is FunctionType)


def functions_named(code: CodeType) -> Iterator[FunctionType]:
    """Yield functions and methods of loaded modules with the name of some code, without running the program's code."""
    first, *rest = code.co_qualname.split(".")
    for _, module in loaded_modules():
        found = vars(module).get(first)
        for name in rest:
            found = type.__dict__["__dict__"].__get__(found).get(name) if is_a(found, type) else None
        if type(found) is FunctionType:
            yield found


def plain_code(code: CodeType) -> CodeType:
    """Return the code of a function without the inserted call."""
    last = code.co_consts[-1] if code.co_consts else None
    return last.code if type(last) is Entry else code


def nested(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of all functions that some code defines."""
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield one
            yield from nested(one)


def new_entries() -> MonitoredEntries | PrefixedEntries:
    """Return the counter for this version of Python."""
    return MonitoredEntries() if HAS_MONITORING else PrefixedEntries()
