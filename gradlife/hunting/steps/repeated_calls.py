"""Steps of programs that neither train nor take batches: calls of the outermost function that is entered repeatedly.

The stacks of all threads are sampled. Functions of the program found there, and library functions that it calls, are
counted as they are entered. The outermost one that is entered often is the step: a request handler, a call in a loop.
"""

from __future__ import annotations

import dis
import functools
import inspect
import os
import sys
import threading
import time
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from types import CodeType, FrameType, FunctionType

from gradlife.heap.program_modules import is_program
from gradlife.hunting.process.program_files import is_library
from gradlife.hunting.steps.compiler import uncompiled
from gradlife.hunting.steps.count_step import Begin, CountStep
from gradlife.hunting.steps.entries import Entry, new_entries, plain_code
from gradlife.own_thread import OwnThread

#: Entries after which a function counts as the step.
WARMUP_CALLS = 8

#: Entries required if an outer function is called in a loop, too: the outer one may be a request, this one a token.
CALLS_IF_NESTED = 200

#: Numbers of entries at which the step is chosen at once, without waiting for the next sample.
CHOOSES_AT = frozenset({WARMUP_CALLS, CALLS_IF_NESTED})

#: Most functions that are counted, and most searches of all objects for functions.
MAX_FUNCTIONS, MAX_SEARCHES = 64, 12

#: Seconds between two samples: at first, and at most; and the pause as a share of the elapsed time.
FIRST_PAUSE, LONGEST_PAUSE, SHARE = 0.004, 0.25, 0.01

#: Seconds that a new optimizer has for its first steps.
SECONDS_OF_GRACE = 30.0

#: Backward jumps of loops, without those by which Python waits in an `await`.
BACKWARD = frozenset(name for name in dis.opmap if "JUMP_BACKWARD" in name and not name.endswith("NO_INTERRUPT"))

#: Names of code that is a part of the function around it.
PARTS = frozenset({"<module>", "<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>"})

#: The wrapper of a function decorated with torch's `no_grad`, whose calls are those of the function.
WRAPPER = os.path.join("torch", "utils", "_contextlib.py")

#: Frames below these are not steps: modules while they are imported, and code that torch's compiler may replace.
IMPORTS, COMPILER = "<frozen importlib", os.path.join("torch", "_dynamo", "")


@dataclass
class Seen:
    """A function that may be the step."""

    entry: Entry
    outer: set[CodeType] = field(default_factory=set)  # functions seen around it
    is_in_loop: bool = False  # called in a loop of its caller


class RepeatedCalls(OwnThread):
    """Samples stacks and chooses the function that is the step.

    When the program next calls this function, ``begin`` is called with its name, in the same thread. ``begin`` returns a
    callback for all later calls of the function.
    """

    def __init__(self, begin: Begin) -> None:
        super().__init__("gradlife steps")
        self._begin = begin
        self._entries = new_entries()
        self._seen: dict[CodeType, Seen] = {}
        self._ignored: set[CodeType] = set()
        self._named: list[CodeType] = []  # functions that may be steps whoever calls them
        self._searches = 0
        self._over = threading.Event()
        self._lock = threading.RLock()
        self._resume_at = 0.0
        self.chosen: Seen | None = None
        self.quiet_since = time.monotonic()  # since when the program has imported nothing, while no step is known

    def run(self) -> None:
        """Sample stacks until `stop` is called."""
        start = time.monotonic()
        while not self._over.wait(min(LONGEST_PAUSE, max(FIRST_PAUSE, SHARE * (time.monotonic() - start)))):
            if time.monotonic() >= self._resume_at:
                self.sample()

    def pause(self) -> None:
        """Choose no step for some seconds: a new optimizer may give better ones."""
        self._resume_at = time.monotonic() + SECONDS_OF_GRACE
        self.quiet_since = self._resume_at
        if self.chosen is not None:
            self.chosen.entry.on_entry, self.chosen = functools.partial(self._count_reached, self.chosen.entry), None

    def stop(self) -> None:
        """Stop counting."""
        self._over.set()
        with self._lock:  # the sampling thread may be adding some
            for seen in self._seen.values():
                seen.entry.on_entry = None
                self._entries.drop(seen.entry)

    def leave_copy(self) -> None:
        """Stop counting in a fork: the sampling thread may have held the locks, and is not there to release them."""
        self._lock, self._over = threading.RLock(), threading.Event()
        self.stop()

    def sample(self) -> None:
        """Sample the stacks of all threads once."""
        own = {self.ident, threading.get_ident()}
        frames = [frame for thread, frame in sys._current_frames().items() if thread not in own]
        stacks = [candidates(frame, self._named) for frame in frames]
        if any(map(is_importing, frames)):
            self.quiet_since = time.monotonic()
        del frames  # they keep the program's variables alive
        with self._lock:
            self._note_all(stacks)
            self._choose()

    def _note_all(self, stacks: list[list[tuple[CodeType, bool]]]) -> None:
        self._watch([code for stack in stacks for code, _ in stack])
        for stack in stacks:
            self._note(stack)

    def _watch(self, codes: list[CodeType]) -> None:
        known = self._seen.keys() | self._ignored
        new = [code for code in dict.fromkeys(codes) if code not in known][: MAX_FUNCTIONS - len(self._seen)]
        if not new or self._searches >= MAX_SEARCHES or self._over.is_set():
            return
        self._searches += 1
        self._add(self._entries.watch(new))
        self._ignored.update(set(new) - self._seen.keys())

    def watch(self, function: FunctionType) -> None:
        """Count calls of a library's function, whoever calls it, before a sample shows any."""
        self._named.append(plain_code(function.__code__))
        self._watch(self._named)

    def counting_from_start(self, program: CodeType, names: Collection[str]) -> CodeType:
        """Return the main module's code, changed so that functions called in its loops are counted from the first call."""
        code, entries = self._entries.watch_in(program, names)
        self._add(entries)
        return code

    def _add(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            self._seen[entry.code] = Seen(entry)
            entry.on_entry = functools.partial(self._count_reached, entry)

    @uncompiled
    def _count_reached(self, entry: Entry) -> None:
        """Choose a step when a function has been entered often: the program may end before the next sample."""
        entry.is_exact = entry.count < CALLS_IF_NESTED
        if entry.count in CHOOSES_AT and self.chosen is None and time.monotonic() >= self._resume_at:
            with self._lock:
                self._note_all([candidates(sys._getframe(2), self._named)])
                self._choose()

    def _note(self, stack: list[tuple[CodeType, bool]]) -> None:
        outer: set[CodeType] = set()
        for code, is_in_loop in stack:
            seen = self._seen.get(code)
            if seen is not None and code not in outer:
                seen.outer |= outer
                seen.is_in_loop |= is_in_loop
            outer.add(code)

    def _choose(self) -> None:
        often = {code: seen for code, seen in list(self._seen.items()) if seen.entry.count >= WARMUP_CALLS}
        outermost = [seen for seen in often.values() if often.keys().isdisjoint(seen.outer)]
        sure = [seen for seen in outermost if seen.entry.count >= self._wanted(seen)]
        if self.chosen is None:
            best = max(sure, key=lambda seen: seen.entry.count, default=None)
        else:  # change to an outer function that is entered often, too
            around = self.chosen.outer
            best = next((seen for seen in sure if seen.entry.code in around), None)
        if best is not None:
            self._count_calls_of(best)

    def _wanted(self, seen: Seen) -> int:
        """Return how many times a function must be entered before it is the step."""
        around = (self._seen.get(code) for code in seen.outer)
        return CALLS_IF_NESTED if any(one is not None and one.is_in_loop for one in around) else WARMUP_CALLS

    def _count_calls_of(self, seen: Seen) -> None:
        """Make each call of this function a step, from its next entry on."""
        before, self.chosen = self.chosen, seen
        seen.entry.is_exact = True
        if before is not None:
            before.entry.on_entry = functools.partial(self._count_reached, before.entry)
        step: list[CountStep] = []

        @uncompiled
        def entered() -> None:
            if step:
                step[0]()
                return
            with self._lock:
                if not step and not self._over.is_set():
                    step.append(self._begin(f"call of {place_of(seen.entry.code)}"))

        seen.entry.on_entry = entered


def place_of(code: CodeType) -> str:
    """Return a function's name and place: ``Handler.do_GET (server.py:12)``."""
    return f"{code.co_qualname} ({os.path.basename(code.co_filename)}:{code.co_firstlineno})"


def candidates(frame: FrameType | None, named: Collection[CodeType] = ()) -> list[tuple[CodeType, bool]]:
    """Return the functions on a stack that may be steps, outermost first, and whether each is called in a loop.

    These are the program's own functions and library functions that it calls itself, without recursive ones; and the
    outermost calls of ``named`` functions.
    """
    found: list[tuple[CodeType, bool]] = []
    is_below_program = False
    for one in outermost_first(frame):
        code = plain_code(one.f_code)
        file = code.co_filename
        if any(code is known for known in named):
            found += [] if any(code is known for known, _ in found) else [(code, is_called_in_loop(one))]
            is_below_program = False
            continue
        if file.startswith(IMPORTS) or COMPILER in file:
            break
        is_own = is_program_code(file)
        if (not is_own and not is_library(file)) or file.endswith(WRAPPER):
            continue
        if (is_own or is_below_program) and is_function(code):
            found.append((code, is_called_in_loop(one)))
        is_below_program = is_own
    codes = [code for code, _ in found]
    return [(code, is_in_loop) for code, is_in_loop in found if codes.count(code) == 1]


#: Cached for each file, since samples are many.
is_program_code = functools.cache(is_program)


def outermost_first(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield the frames of a stack, outermost first."""
    frames = []
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    yield from reversed(frames)


def is_function(code: CodeType) -> bool:
    """Whether code is a function's: no module, no class body, and no part of another function."""
    return bool(code.co_flags & inspect.CO_NEWLOCALS) and code.co_name not in PARTS


def is_called_in_loop(frame: FrameType) -> bool:
    """Whether the caller calls this frame in a loop, that is, its code jumps back over the call."""
    caller = frame.f_back
    return caller is not None and any(first <= caller.f_lasti <= last for first, last in loops(caller.f_code))


@functools.lru_cache(maxsize=256)
def loops(code: CodeType) -> tuple[tuple[int, int], ...]:
    """Return the offsets of the first and the last instruction of each loop."""
    jumps = (one for one in dis.get_instructions(code) if one.opname in BACKWARD)
    return tuple((one.argval, one.offset) for one in jumps)


def is_importing(frame: FrameType) -> bool:
    """Whether a module is being imported on this stack."""
    return any(one.f_code.co_filename.startswith(IMPORTS) for one in outermost_first(frame))
