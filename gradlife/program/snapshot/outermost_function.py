"""The outermost function of a program, such as ``main``: its variables stay readable when it has returned."""

from __future__ import annotations

import ast
import builtins
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FrameType, FunctionType, ModuleType

from gradlife import _heap
from gradlife.heap.program_modules import foreign_folders, is_program
from gradlife.hunting.process.changed_sources import source_of
from gradlife.hunting.session.last_snapshot import only_pauses
from gradlife.program.script import Program
from gradlife.safe_access import LibraryObject, is_exactly

#: Most calls whose variables are kept when the next one begins: a script may run many functions one after the other.
MAX_KEPT = 4

#: Statements that define a function or class, those after a call that may follow the program's work, and loops.
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
MAY_FOLLOW = (ast.Expr, ast.Pass, ast.Raise, *DEFINITIONS)
LOOPS = (ast.For, ast.AsyncFor, ast.While)

#: The fields of a statement that are statements themselves, in the order in which they run.
BODIES = ("body", "handlers", "orelse", "finalbody")


#: Steps and seconds.
Work = tuple[int, float]


@dataclass(frozen=True)
class Call:
    """A call of an outermost function that has ended, or is about to. The frame holds its variables."""

    frame: FrameType
    steps: int = 0
    seconds: float = 0.0

    @property
    def name(self) -> str:
        """The function, as the program calls it: ``main()``."""
        return f"{self.frame.f_code.co_qualname}()"

    @property
    def work(self) -> Work:
        """What it has done; the call that has done most is the program's."""
        return self.steps, self.seconds


class OutermostFunction:
    """Follows the functions that the main module calls for the program's work: those after which no more of it follows.

    `call` is the latest one. Its frame, and so its variables, stay until the next one begins; ``on_next`` is
    called just before. If none can follow, calls are no longer heard; else each costs some 0.1 microseconds.
    """

    def __init__(self, program: Program, steps: Callable[[], int], on_next: Callable[[Call], object]) -> None:
        self._globals = program.main.__dict__
        self._statements = statements_of(program)
        self._count = steps
        self._on_next = on_next
        self._seen: set[int] = set()  # addresses of code
        self._kept = 0
        self._begun = (0, 0.0)  # steps and time at which the call began
        self._call: Call | None = None

    @property
    def call(self) -> Call | None:
        """The latest call, with what it has done so far."""
        return self._so_far(self._call.frame) if self._call is not None and not self._call.seconds else self._call

    def watch(self) -> None:
        """Watch the calls of this thread from now on."""
        _heap.watch_outermost_calls((*foreign_folders(), "<"), self._begins, self._ends)

    def close(self) -> None:
        """Watch no more, and let go of the frame."""
        _heap.unwatch_outermost_calls()
        self._call = None

    def _begins(self, frame: FrameType) -> bool:
        code = frame.f_code
        caller, is_outermost = self._main_frame(frame)
        if caller is None or not (is_outermost or code.co_name in self._globals):
            return False
        place = MainStatement.of(self._statements, caller.f_lineno)
        wrapped = set(filter(self._is_wrapped, place.called))
        if not (code.co_name in wrapped if wrapped else is_outermost):
            return False
        if self._call is not None and self._kept < MAX_KEPT:
            self._kept += 1
            self._on_next(self._call)
        is_wanted = id(code) not in self._seen and not code.co_name.startswith("__") and place.is_last
        self._seen.add(id(code))
        self._call = Call(frame) if is_wanted else None
        self._begun = self._count(), time.monotonic()
        if is_wanted and code.co_name in place.called and not any(map(self._may_run_program, place.later)):
            _heap.unwatch_outermost_calls()
        return True

    def _ends(self, frame: FrameType) -> bool:
        if only_pauses(frame):
            return False
        if self._call is not None:
            self._call = self._so_far(frame)
        return True

    def _so_far(self, frame: FrameType) -> Call:
        steps, began = self._begun
        return Call(frame, self._count() - steps, time.monotonic() - began)

    def _main_frame(self, frame: FrameType) -> tuple[FrameType | None, bool]:
        """Return the frame of the main module that led to a call, and whether only libraries, such as asyncio, lie between."""
        above, is_outermost = frame.f_back, True
        while above is not None and not (above.f_globals is self._globals and above.f_code.co_name == "<module>"):
            is_outermost = is_outermost and not is_program(above.f_code.co_filename)
            above = above.f_back
        return above, is_outermost

    def _is_wrapped(self, name: str) -> bool:
        """Whether a function of the main module has another one in its place, as a decorator of the program makes it."""
        function: LibraryObject = self._globals.get(name)
        return is_exactly(function, {FunctionType}) and function.__code__.co_name != name

    def _may_run_program(self, statement: ast.stmt) -> bool:
        """Whether a statement calls more than Python's own functions and those of modules."""
        for node in ast.walk(statement):
            if isinstance(node, ast.Call):
                first = node.func
                while isinstance(first, ast.Attribute):
                    first = first.value
                name = first.id if isinstance(first, ast.Name) else ""
                is_module = isinstance(self._globals.get(name), ModuleType) and node.func is not first
                if not is_module and (name in self._globals or not hasattr(builtins, name)):
                    return True
        return False


def statements_of(program: Program) -> list[ast.stmt]:
    """Return the statements of the main module; none if its source cannot be read."""
    try:
        return ast.parse(source_of(program.source)).body
    except (OSError, SyntaxError, ValueError):
        return []


@dataclass(frozen=True)
class MainStatement:
    """A statement of the main module, and those that follow it."""

    statement: ast.AST | None
    later: tuple[ast.stmt, ...] = ()
    is_repeated: bool = False
    is_unknown: bool = False  # the source cannot be read

    @classmethod
    def of(cls, body: Sequence[ast.AST], line: int) -> MainStatement:
        """Return the place of the statement in this line."""
        place = cls(None, is_unknown=not body)
        while found := next((one for one in enumerate(body) if holds(one[1], line)), None):
            number, statement = found
            later = tuple(one for one in body[number + 1 :] if isinstance(one, ast.stmt))
            place = cls(statement, (*later, *place.later), place.is_repeated or isinstance(statement, LOOPS))
            body = [inner for name in BODIES for inner in getattr(statement, name, ())]
            body = body if not isinstance(statement, DEFINITIONS) else []
        return place

    @property
    def is_last(self) -> bool:
        """Whether only messages and the exit follow."""
        if self.statement is None or isinstance(self.statement, DEFINITIONS):
            return self.is_unknown
        nodes = ast.walk(self.statement)
        is_repeated = self.is_repeated or any(isinstance(node, ast.comprehension) for node in nodes)
        return not is_repeated and all(isinstance(one, MAY_FOLLOW) for one in self.later)

    @property
    def called(self) -> set[str]:
        """The names of the functions that the statement calls."""
        nodes = () if self.statement is None else ast.walk(self.statement)
        functions = [node.func for node in nodes if isinstance(node, ast.Call)]
        return {getattr(one, "id", getattr(one, "attr", "")) for one in functions}


def holds(statement: ast.AST, line: int) -> bool:
    """Whether a statement stands in this line."""
    nodes = (statement, *getattr(statement, "decorator_list", ()))
    return any(getattr(node, "lineno", 0) <= line <= getattr(node, "end_lineno", 0) for node in nodes)
