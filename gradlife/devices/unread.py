"""Find what is held longer than it is used, from the source alone: the failed step was not recorded.

A variable is unread if no statement reads it from the one on that its frame is at. A storage is unread if every path to
it leads through unread variables. Unclear cases count as reads.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import CodeType, FrameType

from gradlife import _heap
from gradlife.devices.drag import Unread
from gradlife.heap.graph import Reference
from gradlife.heap.scan import OWN_FOLDER
from gradlife.hunting.snapshots.creation_recorder import foreign_files, library_files
from gradlife.model.device.memory import Frame
from gradlife.model.peak.report import Owner
from gradlife.peaks.edits.names import is_yield
from gradlife.peaks.recording.variables import Kind, Variable, modules_now, running_frames
from gradlife.peaks.sources.liveness import hidden_readers
from gradlife.peaks.sources.paths import Inner, Loop, Search
from gradlife.peaks.sources.program import MODULE, Function, Spot, function_of, last_mention, source_of, spot_at

#: Most objects above a storage to follow; a storage with more counts as read.
MAX_ABOVE = 5_000

#: Calls between which gradients are used: whoever meets `zero_grad` first reads none of them.
ZEROING = "zero_grad"
DECISIVE = frozenset({ZEROING, "backward", "step"})

#: What a `zero_grad` counts as that may not run.
UNCLEAR = "unclear"

#: Nodes whose parts may not run, and statements after which others may not.
MAY_NOT_RUN = Loop | ast.If | ast.IfExp | ast.BoolOp | ast.Try | ast.TryStar | ast.Match
Leaving = ast.Break | ast.Continue | ast.Return | ast.Raise


@dataclass(frozen=True)
class Position:
    """A frame of the program, and the line that it is at: in a frame that handles an error, the line that failed."""

    code: CodeType
    line: int


class Frames:
    """The frames of the threads and of the error that is being handled. Only for a forked copy: it changes frames."""

    def __init__(self) -> None:
        libraries = (OWN_FOLDER, *library_files(), *foreign_files())
        failed = dict(reversed([*failed_frames()]))
        frames = {id(frame): frame for frame in (*failed, *running_frames())}
        self.program = [
            (frame, Position(frame.f_code, failed.get(frame, frame.f_lineno or 0)))
            for frame in frames.values()
            if not frame.f_code.co_filename.startswith(libraries)
        ]
        self._lines = {(p.code.co_filename, p.code.co_qualname, f.f_lineno): p.line for f, p in self.program}
        modules = [(id(f.f_globals), p) for f, p in self.program if p.code.co_name == MODULE]
        self._modules = dict(reversed(modules))  # the innermost frame of a module counts

    def unread(self, variable: Variable) -> Unread | None:
        """Return how to release a local variable that is not read again; None if it is."""
        line = self._lines.get((variable.file, variable.function, variable.line), variable.line)
        return unread_name(variable.file, variable.function, line, variable.name)

    def unread_global(self, namespace: Mapping[str, object], name: str) -> Unread | None:
        """Return how to release a variable of a module that still runs; None if it is read again."""
        position = self._modules.get(id(namespace))
        file = position.code.co_filename if position is not None else ""
        if position is None or not os.path.isfile(file):  # the next cell of a notebook may read everything
            return None
        found = unread_name(file, MODULE, position.line, name)
        return found and Unread(f"{name} of {namespace.get('__name__')}", found.release, found.place)


def failed_frames() -> Iterator[tuple[FrameType, int]]:
    """Yield the frames of the error that is being handled or was handled last, each with the line that failed."""
    error = sys.exception() or getattr(sys, "last_value", None)
    trace = error.__traceback__ if error is not None else None
    while trace is not None:
        yield trace.tb_frame, trace.tb_lineno
        trace = trace.tb_next


def unread_name(file: str, function: str, line: int, name: str) -> Unread | None:
    """Return how to release a name that nothing reads from a line on; None if something may read it."""
    found = statement_at(file, function, line)
    if found is None or next(hidden_readers(found[0], name, None), None) is not None:
        return None
    spot, search = found[1], Search(name, ())
    if (search.after(spot) if is_yield(spot.statement) else search.since(spot)) is not None:
        return None
    release, at = release_of(spot, name)
    return Unread(f"{name} of {function}", release, Frame(file, at, function))


def release_of(spot: Spot, name: str) -> tuple[str, int]:
    """Return the edit that releases a name before a statement, and the line that it is about."""
    last = last_mention(spot, name)
    if is_yield(spot.statement) and last is spot:
        return f"yield the value of {name} without a name at", spot.lines[0]
    if last is None or last is spot:  # it is from the round of a loop before
        return f"{name} = None above", spot.lines[0]
    return f"del {name} below", last.statement.end_lineno or last.lines[1]


def statement_at(file: str, function: str, line: int) -> tuple[Function, Spot] | None:
    """Return a function and its statement at a line; None if the source does not show them."""
    source = source_of(file)
    node = function_of(source, function, line) if source is not None else None
    spot = spot_at(node, line) if node is not None else None
    return (node, spot) if node is not None and spot is not None else None


def are_gradients_unread(frames: Frames) -> bool:
    """Whether the program calls `zero_grad` before it computes or reads gradients again."""
    for _, position in frames.program:
        found = statement_at(position.code.co_filename, position.code.co_qualname, position.line)
        call = next(decisive_calls(found[1]), "") if found is not None else ""
        if call:
            return call == ZEROING
    return False


def decisive_calls(spot: Spot) -> Iterator[str]:
    """Yield the calls that decide on gradients from a statement on, in the order of the source; `UNCLEAR` for a
    `zero_grad` that may not run.
    """
    runs = True
    for statement in statements_from(spot):
        yield from calls_in(statement, runs)
        runs = runs and not any(isinstance(node, Leaving) for node in ast.walk(statement))


def statements_from(spot: Spot) -> Iterator[ast.stmt]:
    """Yield a statement and those that follow it, with the next rounds of loops."""
    yield spot.statement
    here = spot
    for outer in (*reversed(spot.outer), None):
        yield from here.block[here.index + 1 :]
        if outer is None:
            return
        if isinstance(outer.statement, Loop):
            yield from here.block
        here = outer


def calls_in(node: ast.AST, runs: bool) -> Iterator[str]:
    """Yield the decisive calls within a statement that defines nothing. ``runs``: whether it always runs."""
    is_whole = runs and not isinstance(node, MAY_NOT_RUN)
    for child in ast.iter_child_nodes(node) if not isinstance(node, Inner) else ():
        yield from calls_in(child, is_whole)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in DECISIVE:
        yield node.func.attr if runs or node.func.attr != ZEROING else UNCLEAR


class UnreadHolders:
    """Finds the storages that only unread variables hold. Only for a forked copy."""

    def __init__(self, graph: _heap.Graph, variables: Mapping[int, list[Variable]]) -> None:
        self._graph = graph
        self._variables = variables
        self._modules = modules_now()
        self._frames = Frames()
        self._gradients = are_gradients_unread(self._frames)
        self._read: set[int] = set()  # nodes that something read again leads to

    def find(self, storage: int) -> Unread | None:
        """Return the variables that alone hold a storage; None if something else does, or reads it again."""
        above: dict[int, int | None] = {storage: None}
        waiting, found = [storage], dict[str, Unread]()
        while waiting:
            node = waiting.pop()
            if node in self._read or len(above) > MAX_ABOVE or self._graph.kind(node) == "root":
                self._note_read(node, above)
                return None
            for holder in dict.fromkeys(self._graph.referrers(node)):
                unread = self._unread(holder, node)
                if unread is not None:
                    found[unread.holder] = unread
                elif holder not in above:
                    above[holder] = node
                    waiting.append(holder)
        return merged(list(found.values()))

    def _note_read(self, node: int | None, above: Mapping[int, int | None]) -> None:
        """Note that all objects on the way down to the storage are read."""
        while node is not None:
            self._read.add(node)
            node = above[node]

    def _unread(self, holder: int, node: int) -> Unread | None:
        """Return the unread variable that a reference is; None for any other reference."""
        reference = self._graph.references_along([holder, node])[0]
        if reference.relation == "local":
            return self._unread_local(reference, node)
        if reference.relation == "dict_value" and (module := self._modules.get(reference.address)) is not None:
            value = self._graph.describe(node).address
            names = [name for name, one in vars(module).items() if id(one) == value]
            return merged([self._frames.unread_global(vars(module), name) for name in names])
        if self._gradients and reference.kind == "tensor" and reference.label == "grad":
            return Unread(Owner.GRADIENT.value, "", None)
        return None

    def _unread_local(self, reference: Reference, node: int) -> Unread | None:
        """Return the variables of one frame that hold an object; None if one of them is read again."""
        variables = self._variables.get(self._graph.describe(node).address, ())
        ours = [one for one in variables if one.kind is not Kind.OTHER and place_of(one) == reference.detail]
        return merged([self._frames.unread(one) for one in ours])


def place_of(variable: Variable) -> str:
    """Return the frame of a variable as the graph describes frames: ``step (train.py:40)``."""
    return f"{variable.function} ({os.path.basename(variable.file)}:{variable.line})"


def merged(found: list[Unread | None]) -> Unread | None:
    """Return several holders as one; None if there is none, or if one is missing because it is read again."""
    known = [one for one in found if one is not None]
    if not known or len(known) < len(found):
        return None
    holders = dict.fromkeys(one.holder for one in known)
    releases = dict.fromkeys(one.release.rpartition(" ")[0] for one in known[:-1])
    return Unread(", ".join(holders), "; ".join([*releases, known[-1].release]), known[-1].place)
