"""Chooses the edit for each way in which a storage is held."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from gradlife.model.peak.report import Edit, LineChange
from gradlife.peaks.edits.changes import changed, diff
from gradlife.peaks.edits.fields import field_taken_out
from gradlife.peaks.edits.graph_readers import may_lose_gradients, other_backward, reader_of_graph
from gradlife.peaks.edits.loops import loops_over, without_enumerate
from gradlife.peaks.edits.names import (
    all_spots,
    frame_of_name,
    imports_torch,
    inner_functions,
    is_argument,
    is_bound_by,
    is_filling,
    is_inner_name,
    is_read_besides,
    is_value_of_yield,
    kept_exceptions,
    owner_in,
    store_of,
    store_of_computed,
    value_passed,
    value_yielded,
    yield_of,
)
from gradlife.peaks.edits.other_files import is_global_read_elsewhere, is_read_elsewhere
from gradlife.peaks.edits.statements import (
    can_be_moved,
    is_alone_in,
    place_of,
    put_below,
    statements_around,
    without,
)
from gradlife.peaks.edits.zeroing import MovedZeroing, moved_zeroing, reader_of_gradients
from gradlife.peaks.recording.holders import NEVER_UNPACKED, UNREAD_GRADIENT, Holder
from gradlife.peaks.recording.lifetimes import Frame
from gradlife.peaks.recording.variables import Kind
from gradlife.peaks.sources.liveness import deletion_point, inner_reader
from gradlife.peaks.sources.paths import Inner
from gradlife.peaks.sources.program import Function, Source, Spot, function_of, last_mention, source_of, spot_at

#: What makes a backward pass keep its graph.
RETAIN = re.compile(r",\s*retain_graph=True\b|\bretain_graph=True\s*,\s*|\bretain_graph=True\b")

#: The argument that makes an optimizer overwrite gradients instead of dropping them.
ZEROS = "set_to_none=False"


@dataclass(frozen=True)
class GraphMakers:
    """The operations that make a graph which no backward pass reads."""

    stacks: Sequence[Sequence[Frame]]
    names: Sequence[Holder]  # the variables with a part of the graph
    training: frozenset[Frame]  # the frames of backward passes, and of operations that make what these read


@dataclass(frozen=True)
class Life:
    """The known facts about the storages of one saving."""

    birth: Sequence[Frame]  # the stack of the operation that made the largest one
    last: Sequence[Frame]  # the stack of the operation that used it last
    in_backward: bool = False  # whether a backward pass ran that operation
    is_graph_read: bool = False  # whether a backward pass reads other tensors saved by the graph
    zeroing: Sequence[Frame] = ()  # the stack of the operation that overwrote it with zeros
    are_zeros_read: bool = False  # whether something else than a backward pass reads any of these zeros first
    retained: Sequence[Frame] = ()  # the `backward(retain_graph=True)` that kept it, if nothing else needs the graph
    makers: GraphMakers | None = None


def edits_for(holders: Sequence[Holder], life: Life, dropped: Sequence[ast.stmt] = ()) -> tuple[Edit, ...]:
    """Return the edits that together release the storages, one for each name.

    ``dropped``: statements that the edits of other savings remove.
    """
    names = names_of(holders)
    gone = [*dropped, *dropped_statements(names, life)]
    found = {holder: edit_for(holder, life, gone) for holder in names}
    unrecorded = next((one for one in found.values() if one.is_no_grad and one.changes), None)
    return tuple(dict.fromkeys(unrecorded if unrecorded and one.is_no_grad else one for one in found.values()))


def names_of(holders: Sequence[Holder]) -> list[Holder]:
    """Return one holder for each place that an edit changes. With a variable goes the graph that it keeps."""
    found = {holder.place: holder for holder in holders if holder.can_let_go}.values()
    variables = {variable_of(one) for one in found if one.kind in (Kind.LOCAL, Kind.GLOBAL, Kind.PASSED)}
    return [one for one in found if one.kind is not Kind.SAVED or variable_of(one) not in variables]


def variable_of(holder: Holder) -> tuple[str, str, str]:
    """Return the variable that a holder is, or whose graph it is."""
    return holder.file, holder.function, holder.name


def dropped_statements(holders: Sequence[Holder], life: Life) -> list[ast.stmt]:
    """Return the statements that the edits remove."""
    found = (stored_at(holder, life) for holder in names_of(holders))
    return [spot.statement for source, spot in found if source and spot and without(source, spot) is not None]


def edit_for(holder: Holder, life: Life, dropped: Sequence[ast.stmt]) -> Edit:
    """Return the edit for one holder. ``dropped``: statements that other edits remove."""
    if holder.name == UNREAD_GRADIENT:
        module = holder.text.removeprefix("gradients of ")
        of = f"parameters of `{module}`, whose" if module != holder.text else "parameters whose"
        return Edit(f"`requires_grad_(False)` for {of} gradients no optimizer reads")
    if holder.name == NEVER_UNPACKED:
        return unsaved_edit(holder)
    if holder.kind is Kind.GRADIENT:
        return gradient_edit(life)
    if holder.kind is Kind.SAVED:
        return graph_edit(holder, life, dropped)
    if holder.kind is Kind.ATTRIBUTE:
        return attribute_edit(holder, life, dropped)
    if holder.kind is Kind.PASSED:
        return passing_edit(holder, life)
    if holder.kind is Kind.EARLY:
        return early_edit(holder, life)
    if holder.kind is Kind.EXCEPTION:
        return exception_edit(holder)
    if holder.kind is Kind.ITERATOR:
        return iterator_edit(holder)
    if (dead := dead_store_edit(holder, life, dropped)) is not None:
        return dead
    if holder.path and not holder.record:
        return container_edit(holder, life)
    return name_edit(holder, life, dropped)


def unsaved_edit(holder: Holder) -> Edit:
    """Save nothing that no backward pass reads."""
    where = f" at line {holder.line}" if holder.line else ""
    return Edit(f"save nothing{where} that the backward pass does not read", holder.file, holder.line)


def name_edit(holder: Holder, life: Life, dropped: Sequence[ast.stmt]) -> Edit:
    """Delete a name after the statement that uses it last."""
    frame = frame_of_name(holder, life.last)
    if frame is None:
        return generator_edit(holder) or unplaced_edit(holder)
    file, line, name = frame
    source = source_of(file)
    function = function_of(source, name, line) if source is not None else None
    spot = spot_at(function, line) if function is not None else None
    if source is None or function is None or spot is None:
        return Edit(f"`del {holder.name}` after line {line}", file, line)
    if is_value_of_yield(spot.statement, holder.name):
        text = f"compute what line {line} yields in a function: `{holder.name}` stays while the generator waits there"
        return Edit(text, file, line)
    mention = last_mention(spot, holder.name) if inner_reader(function, holder.name) is None else None
    edit = delete_after(source, function, mention or spot, holder.name, dropped)
    if holder.path and not edit.changes and is_bound_by(function, line, holder.name):
        edit = field_edit(source, function, mention or spot, holder, dropped) or edit
    is_shared = holder.kind is Kind.GLOBAL and is_global_read_elsewhere(source.file, holder.name)
    if is_shared or not holder.file:  # other files or other cells may read the name
        return replace(edit, changes=(), patch="")
    return edit


def is_read_below(holder: Holder, frames: Sequence[Frame]) -> bool:
    """Whether a variable is read later than a `del` could stand below the statement that its frame runs."""
    frame = frame_of_name(holder, frames)
    source = source_of(frame[0]) if frame is not None else None
    function = function_of(source, frame[2], frame[1]) if source is not None and frame is not None else None
    spot = spot_at(function, frame[1]) if function is not None and frame is not None else None
    if source is None or function is None or spot is None:
        return False
    return deletion_point(function, spot, holder.name, (), source.tree)[1] is not None


def passing_edit(holder: Holder, life: Life) -> Edit:
    """Pass a value on without a name, which would hold it until the called function returns."""
    frame = frame_of_name(holder, life.last)
    source = source_of(frame[0]) if frame is not None else None
    function = function_of(source, frame[2], frame[1]) if source is not None and frame is not None else None
    spot = spot_at(function, frame[1]) if function is not None and frame is not None else None
    if source is None or function is None or spot is None:
        return unplaced_edit(holder)
    line = spot.statement.lineno
    value = value_passed(function, spot, holder.name)
    change = passed_without_name(source, spot, value) if value is not None else ()
    if value is None or not change:
        text = (
            f"pass `{holder.name}` on at line {line} without a name: `{holder.function}` holds it until that call ends"
        )
        return Edit(text, source.file, line)
    text = f"pass the value of line {value.lineno} on at line {line} without the name `{holder.name}`"
    return edit_of(source, text, line, *change)


def passed_without_name(source: Source, spot: Spot, value: ast.Assign) -> tuple[LineChange, ...]:
    """Return the rows of a call with a value in the place of its first argument, and without the assignment above."""
    call = getattr(spot.statement, "value", None)
    name = call.args[0] if isinstance(call, ast.Call) else None
    made = ast.get_source_segment(source.text, value.value)
    rows = [source.rows[one - 1] for one in (spot.statement.lineno, value.lineno)]
    is_plain = spot.lines[0] == spot.lines[1] and value.lineno == value.end_lineno and all(map(str.isascii, rows))
    if name is None or made is None or not is_plain or not is_alone_in(source, [value, spot.statement]):
        return ()
    row = rows[0][: name.col_offset] + made + rows[0][name.end_col_offset :]
    line = spot.statement.lineno
    return LineChange(value.lineno, value.lineno, ()), LineChange(line, line, (row,))


def field_edit(
    source: Source, function: Function, spot: Spot, holder: Holder, dropped: Sequence[ast.stmt]
) -> Edit | None:
    """Take out the field that is read later, and delete the object; None if more of it is read, or what it holds."""
    found = field_taken_out(source, function, spot, holder.name, dropped)
    if found is None or found[0].endswith(f" = {holder.name}{holder.path}"):
        return None
    line = spot.statement.end_lineno or spot.statement.lineno
    return edit_of(source, f"`{found[0]}; del {holder.name}` after line {line}", line, *found[1])


def unplaced_edit(holder: Holder) -> Edit:
    """Advise what to do if the statement is not known."""
    where = f" of {holder.function}"
    if holder.kind is Kind.GENERATOR:
        return Edit(f"yield the value of `{holder.name}`{where} without a name", holder.file, holder.line)
    return Edit(f"`del {holder.name}`{where} as soon as it is used", holder.file, holder.line)


def generator_edit(holder: Holder) -> Edit | None:
    """Release what a generator yields: yield it without a name, else delete the name after the yield."""
    source = source_of(holder.file)
    function = function_of(source, holder.function, holder.line) if source is not None else None
    spot = yield_of(function, holder.name) if function is not None else None
    if source is None or function is None or spot is None:
        return None
    value = value_yielded(function, spot, holder.name)
    if value is None or source.indent_of(value).strip():
        return delete_after(source, function, spot, holder.name, ())
    first, last = value.lineno, spot.statement.end_lineno or 0
    text = f"yield the value of line {first} without the name `{holder.name}`"
    rows = source.rows[first - 1 : value.end_lineno]
    head, assigned = source.indent_of(value), rows[0].partition("=")[2].strip()
    return edit_of(source, text, first, LineChange(first, last, (f"{head}yield {assigned}", *rows[1:])))


def exception_edit(holder: Holder) -> Edit:
    """Keep an exception without its traceback."""
    text = f"keep `str(error)` or `error.with_traceback(None)`: its traceback holds `{holder.name}`"
    source = source_of(holder.file)
    kept = list(kept_exceptions(source.tree)) if source is not None else []
    if source is None or len(kept) != 1 or not source.text.isascii():
        return Edit(text, holder.file, holder.line)
    name, line = kept[0], kept[0].lineno
    row, end = source.rows[line - 1], name.end_col_offset or 0
    change = LineChange(line, line, (f"{row[:end]}.with_traceback(None){row[end:]}",))
    return edit_of(source, f"`{name.id}.with_traceback(None)` at line {line}: its frames go", line, change)


def early_edit(holder: Holder, life: Life) -> Edit:
    """Make something later: directly above the line that reads it first, or fewer items of a queue ahead."""
    if holder.path and holder.line and not is_made_at_once(holder):
        return Edit(f"put fewer items into `{holder.name}` ahead at line {holder.line}", holder.file, holder.line)
    reading = next((frame for frame in life.last if (frame[0], frame[2]) == (holder.file, holder.function)), None)
    where = f"just above line {reading[1]}" if reading is not None else "where it is read first"
    return Edit(f"make `{holder.name}` {where}, not at line {holder.line}", holder.file, holder.line)


def is_made_at_once(holder: Holder) -> bool:
    """Whether the statement at the holder's line binds the whole name, and does not add an item to it."""
    source = source_of(holder.file)
    function = function_of(source, holder.function, holder.line) if source is not None else None
    spot = spot_at(function, holder.line) if function is not None else None
    return spot is not None and not is_filling(spot.statement, holder.name)


def iterator_edit(holder: Holder) -> Edit:
    """Run through a loop without an iterator that keeps the last item; with changed lines for a plain `enumerate`."""
    source = source_of(holder.file)
    function = function_of(source, holder.function, holder.line) if source is not None else None
    loops = list(loops_over(function, holder.name)) if function is not None else []
    line = loops[0].lineno if len(loops) == 1 else 0
    where = f" of line {line}" if line else ""
    counted = without_enumerate(source, function, loops[0]) if source and function and len(loops) == 1 else ()
    if source is None or not counted:
        return Edit(f"loop without the `{holder.name}`{where}: it keeps the last item", holder.file, line)
    return edit_of(source, f"count by hand at line {line}: `enumerate` keeps the last item", line, *counted)


def delete_after(source: Source, function: Function, spot: Spot, name: str, dropped: Sequence[ast.stmt]) -> Edit:
    """Put ``del name`` below a statement; with changed lines if nothing reads the name afterwards."""
    spot, reader = deletion_point(function, spot, name, dropped, source.tree)
    last = spot.statement.end_lineno or spot.statement.lineno
    text = f"`del {name}` after {place_of(source, spot)}"
    if reader is not None:
        line = getattr(reader, "lineno", last)
        if isinstance(reader, Inner):
            return Edit(f"{text}, and what holds the function of line {line}, which reads it", source.file, last)
        return Edit(f"{text}; line {line} mentions `{name}` later", source.file, last)
    is_end = isinstance(spot.statement, ast.Return | ast.Raise)
    if is_end or not is_bound_by(function, last, name):
        return Edit(text, source.file, last)
    return edit_of(source, text, last, put_below(source, spot, f"del {name}"))


def container_edit(holder: Holder, life: Life) -> Edit:
    """Keep no tensors in a container that nobody reads, or release the container."""
    whole = name_edit(holder, life, ()) if holder.kind in (Kind.LOCAL, Kind.GLOBAL) else None
    if whole is not None and whole.changes:
        return whole
    what = f"`{holder.name}{holder.path}`"
    source = source_of(holder.file)
    function = function_of(source, holder.function, holder.line) if source is not None else None
    line = filling_line(function, holder.name) if function is not None else 0
    if not line and isinstance(function, ast.FunctionDef) and is_argument(function, holder.name):
        text = f"pass nothing in `{holder.name}` to `{function.name}` that it does not read, such as {what}"
        return Edit(text, holder.file, function.lineno)
    return Edit(keep_nothing(holder.name, holder.path, line), holder.file, line)


def keep_nothing(name: str, path: str, line: int) -> str:
    """Advise to fill a container only with what is read. ``line``: that of the statement that fills it; 0: unknown."""
    where = f" at line {line}" if line else ""
    return f"keep nothing in `{name}`{where} that is not read: `{name}{path}` is the last to hold it"


def filling_line(tree: Function, name: str) -> int:
    """The line of the only statement that adds to a container; 0 if there is none. An attribute's name has a dot."""
    parts = (tree, *inner_functions(tree)) if name.startswith(".") else (tree,)
    spots = (spot for part in parts for spot in all_spots(part.body, ()))
    found = [spot.statement.lineno for spot in spots if is_filling(spot.statement, name)]
    return found[0] if len(found) == 1 else 0


def dead_store_edit(holder: Holder, life: Life, dropped: Sequence[ast.stmt]) -> Edit | None:
    """Drop the statement that stores a value nobody reads."""
    source, spot = stored_at(holder, life)
    if source is None or spot is None:
        return computed_for_nobody(holder)
    line, change = spot.statement.lineno, without(source, spot, dropped)
    shown = f".{holder.name}" if holder.kind is Kind.ATTRIBUTE else holder.name
    text = f"drop {place_of(source, spot)}: nobody reads `{shown}{holder.path}`"
    return edit_of(source, text, line, change) if change is not None else Edit(text, source.file, line)


def computed_for_nobody(holder: Holder) -> Edit | None:
    """Leave out the only store to an attribute that nobody reads, if its value may not be dropped with it."""
    source = source_of(holder.file) if holder.kind is Kind.ATTRIBUTE and not holder.path and not holder.record else None
    spot = store_of_computed(source.tree, f".{holder.name}") if source is not None else None
    if source is None or spot is None or is_read_elsewhere(source.file, holder.name):
        return None
    return Edit(
        f"store nothing at {place_of(source, spot)}: nobody reads `.{holder.name}`", source.file, spot.statement.lineno
    )


@cache
def is_stored_for_nobody(holder: Holder) -> bool:
    """Whether an edit drops the only store to a name or container, so that it never holds anything."""
    return stored_at(holder, Life((), ()))[1] is not None or computed_for_nobody(holder) is not None


def stored_at(holder: Holder, life: Life) -> tuple[Source | None, Spot | None]:
    """Return the only statement that stores to a name or container which nothing reads, and its file."""
    if holder.record:
        return None, None
    if holder.kind is Kind.ATTRIBUTE:
        for file in dict.fromkeys([holder.file, *(frame[0] for frame in (*life.birth, *life.last))]):
            source = source_of(file) if file else None
            spot = store_of(source.tree, f".{holder.name}", holder.path) if source is not None else None
            if source is not None and spot is not None and not is_read_elsewhere(source.file, holder.name):
                return source, spot
        return None, None
    source = source_of(holder.file)
    if source is None or holder.kind not in (Kind.LOCAL, Kind.GLOBAL):
        return None, None
    is_global = holder.kind is Kind.GLOBAL
    if is_global and is_global_read_elsewhere(source.file, holder.name):
        return None, None
    function = source.tree if is_global else function_of(source, holder.function, holder.line)
    if function is not None and holder.kind is Kind.LOCAL and not holder.path:
        function = function_around(source, function, holder)
    return source, store_of(function, holder.name, holder.path) if function is not None else None


def function_around(source: Source, function: Function, holder: Holder) -> Function | None:
    """Return the function whose variable an inner function declares ``nonlocal``; None if it does not."""
    nodes = (node for node in ast.walk(function) if isinstance(node, ast.Nonlocal))
    outer = holder.function.rpartition(".<locals>.")[0]
    return function_of(source, outer, holder.line) if any(holder.name in node.names for node in nodes) else None


def attribute_edit(holder: Holder, life: Life, dropped: Sequence[ast.stmt]) -> Edit:
    """Set an attribute to None after its last use, or do not store it if nobody reads it."""
    dead = dead_store_edit(holder, life, dropped)
    if dead is not None and (holder.path or dead.changes or not life.last):
        return dead
    unset = unset_edit(holder, life)
    if dead is None:
        return unset
    return replace(unset, text=f"{unset.text}: nobody reads it") if unset.changes else dead


def unset_edit(holder: Holder, life: Life) -> Edit:
    """Set an attribute to None after its last use."""
    shown = f"`.{holder.name}{holder.path}` of {holder.function}"
    for file, line, name in life.last:
        source = source_of(file)
        function = function_of(source, name, line) if source is not None else None
        spot = spot_at(function, line) if function is not None else None
        found = last_mention(spot, f".{holder.name}") if spot is not None else None
        if source is not None and function is not None and found is not None:
            return unset_after(source, function, found, holder)
    place = (life.last[0][0], life.last[0][1]) if life.last else ("", 0)
    return Edit(f"set {shown} to None" + (f" after line {place[1]}" if place[1] else ""), *place)


def unset_after(source: Source, function: Function, spot: Spot, holder: Holder) -> Edit:
    """Put ``self.name = None`` below a statement; with changed lines if nothing else reads it."""
    last = spot.statement.end_lineno or spot.statement.lineno
    owner = owner_in(spot.statement, holder.name)
    if holder.path and (line := filling_line(source.tree, f".{holder.name}")):
        return Edit(keep_nothing(f"{owner}.{holder.name}", holder.path, line), source.file, line)
    if is_inner_name(spot.statement, owner):
        shown = f"`.{holder.name}{holder.path}` of each {holder.function}"
        return Edit(f"set {shown} to None after {place_of(source, spot)}", source.file, last)
    text = f"`{owner}.{holder.name} = None` after {place_of(source, spot)}"
    is_end = isinstance(spot.statement, ast.Return | ast.Raise)
    is_read = is_read_besides(source, spot, holder.name) or is_read_elsewhere(source.file, holder.name)
    if holder.path or is_end or is_read:
        return Edit(text, source.file, last)
    return edit_of(source, text, last, put_below(source, spot, f"{owner}.{holder.name} = None"))


def gradient_edit(life: Life) -> Edit:
    """Drop the gradients as soon as the optimizer has read them."""
    if life.zeroing:
        return none_edit(life)
    for file, line, name in life.last:
        source = source_of(file)
        function = function_of(source, name, line) if source is not None else None
        found = moved_zeroing(source, function, line) if source is not None and function is not None else None
        if source is not None and found is not None:
            return zeroing_edit(source, found)
    return Edit("`optimizer.zero_grad()` directly after `optimizer.step()`")


def none_edit(life: Life) -> Edit:
    """Drop gradients instead of overwriting them with zeros."""
    file, line, _ = life.zeroing[0]
    source, text = source_of(file), "`zero_grad(set_to_none=True)`"
    if source is None:
        return Edit(f"{text} instead of zeros", file, line)
    row = source.rows[line - 1]
    text = f"{text} at line {line}, instead of zeros"
    if life.are_zeros_read:
        return Edit(f"{text}, if what reads the zeros may pass over parameters without a gradient", file, line)
    if (reader := reader_of_gradients(source)) is not None:
        return Edit(f"{text}, if `{ast.unparse(reader)}` may be None", file, line)
    if row.count(ZEROS) != 1:
        return Edit(text, file, line)
    return edit_of(source, text, line, LineChange(line, line, (row.replace(ZEROS, "set_to_none=True"),)))


def zeroing_edit(source: Source, moved: MovedZeroing) -> Edit:
    """Move `zero_grad()` to directly below the optimizer's step; with changed lines if nothing would miss gradients."""
    line = moved.zeroing.statement.lineno
    call, removed = ast.unparse(moved.zeroing.statement), without(source, moved.zeroing)
    text = f"move `{call}` from line {line} to below {place_of(source, moved.step)}"
    if moved.reader is not None:
        return Edit(f"{text}; line {getattr(moved.reader, 'lineno', line)} uses gradients", source.file, line)
    if removed is None:
        return Edit(text, source.file, line)
    return edit_of(source, text, line, put_below(source, moved.step, call), removed)


def graph_edit(holder: Holder, life: Life, dropped: Sequence[ast.stmt]) -> Edit:
    """Release a graph that a backward pass has read, or record none."""
    if life.retained:
        return retain_edit(life.retained[0])
    if life.in_backward and holder.name and not holder.path:
        return name_edit(holder, life, dropped)
    stack = life.makers.stacks[-1] if life.makers is not None else life.birth
    frame = next(iter(stack), None)
    where = f" around line {frame[1]}" if frame is not None else ""
    place = (frame[0], frame[1]) if frame is not None else ("", 0)
    if life.is_graph_read:
        place = (life.birth[0][0], int(life.birth[0][1])) if life.birth else ("", 0)
        made = f": it is made at line {place[1]}" if place[1] else ""
        return Edit(f"save no tensor for a backward pass that does not read it{made}", *place)
    if (unrecorded := no_grad_edit(life.makers)) is not None:
        return unrecorded
    if holder.path:
        return Edit(f"keep `{holder.name}{holder.path}` as `.item()` or `.detach()`: its graph is held", *place)
    if frame is not None and life.makers is not None and frame in life.makers.training:
        return Edit(f"run nothing at line {frame[1]} whose graph no backward pass reads, as before an error", *place)
    return Edit(f"`with torch.no_grad():`{where} if no backward pass reads it", *place, is_no_grad=True)


def retain_edit(frame: Frame) -> Edit:
    """Let a backward pass free its graph as it goes."""
    file, line, _ = frame
    source, text = source_of(file), f"no `retain_graph=True` at line {line}: no other backward pass reads that graph"
    row = source.rows[line - 1] if source is not None else ""
    if source is not None and (reader := other_backward(source, frame)) is not None:
        return Edit(f"{text} if that of line {reader.lineno} never does", file, line)
    if source is None or len(RETAIN.findall(row)) != 1:
        return Edit(text, file, line)
    return edit_of(source, text, line, LineChange(line, line, (RETAIN.sub("", row),)))


def no_grad_edit(makers: GraphMakers | None) -> Edit | None:
    """Compute values without a graph where the statements of one block make all of it, and nothing else."""
    found = (no_grad_around(holder, makers) for holder in makers.names) if makers is not None else iter(())
    return next((one for one in found if one is not None), None)


def no_grad_around(holder: Holder, makers: GraphMakers) -> Edit | None:
    """Compute values without a graph in the function that has this variable; None if its statements do not make all."""
    frames = [frame_of_name(holder, stack) for stack in makers.stacks]
    known = [one for one in frames if one is not None]
    source = source_of(known[0][0]) if known else None
    function = function_of(source, known[0][2], known[0][1]) if source is not None else None
    if source is None or function is None or len(known) < len(frames) or not imports_torch(source):
        return None
    statements = statements_around([spot_at(function, one[1]) for one in known])
    if not statements or not all(map(can_be_moved, statements)) or not is_alone_in(source, statements):
        return None
    first, last = statements[0].lineno, statements[-1].end_lineno or 0
    if any(one[0] == known[0][0] and first <= one[1] <= last for one in makers.training):
        return None
    indent, rows = source.indent_of(statements[0]), source.rows[first - 1 : last]
    more = "\t" if indent.startswith("\t") else "    "
    lines = (f"{indent}with torch.no_grad():", *(f"{more}{row}" if row.strip() else row for row in rows))
    where = f"line {first}" if len(statements) == 1 else f"lines {first} to {last}"
    text = f"`with torch.no_grad():` around {where}"
    if (reader := reader_of_graph(source, function, statements)) is not None:
        text = f"{text} if no backward pass reads it: what line {getattr(reader, 'lineno', last)} gets may need it"
        return Edit(text, source.file, first, is_no_grad=True)
    if may_lose_gradients(source):
        text = f"{text}, outside of `autocast` blocks: in them, a weight may get no gradient after its use in `no_grad`"
        return Edit(text, source.file, first, is_no_grad=True)
    return replace(edit_of(source, text, first, LineChange(first, last, lines)), is_no_grad=True)


def edit_of(source: Source, text: str, line: int, *changes: LineChange) -> Edit:
    """Return an edit with its diff."""
    return Edit(text, source.file, line, changes, diff(source.file, source.text, changed(source.text, changes)))
