"""The only field of an object that is still read, such as ``outputs.loss``, taken out so that the object can go."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from keyword import iskeyword

from gradlife.model.peak.report import LineChange
from gradlife.peaks.edits.statements import is_alone
from gradlife.peaks.sources.liveness import reader_after
from gradlife.peaks.sources.program import Function, Source, Spot, blocks, mentions

#: An expression that reads a field of an object.
Field = ast.Attribute | ast.Subscript


def field_taken_out(
    source: Source, function: Function, spot: Spot, name: str, dropped: Sequence[ast.stmt]
) -> tuple[str, tuple[LineChange, ...]] | None:
    """Return the statement that takes out the field which is read after a statement, and the changed lines.

    None if more than one field or another statement reads the object later.
    """
    later = list(later_mentions(spot, name, dropped))
    if not later or reader_after(function, later[-1], name, dropped, source.tree) is not None:
        return None
    fields = [list(fields_of(one.statement, name)) for one in later]
    texts = {ast.unparse(one) for found in fields for one in found}
    fresh = variable_for(fields[0][0], name, function) if len(texts) == 1 and all(fields) else ""
    if not fresh or not is_alone(source, spot) or not all(is_plain_row(source, one) for one in later):
        return None
    taken, indent = f"{fresh} = {texts.pop()}", source.indent_of(spot.statement)
    below = spot.statement.end_lineno or spot.statement.lineno
    added = LineChange(below + 1, below, (f"{indent}{taken}", f"{indent}del {name}"))
    return taken, (added, *(replaced(source, found, fresh) for found in fields))


def is_plain_row(source: Source, spot: Spot) -> bool:
    """Whether a statement without blocks has one row for itself, whose columns are its characters."""
    first, last = spot.lines
    is_simple = first == last and not any(blocks(spot.statement))
    return is_simple and is_alone(source, spot) and source.rows[first - 1].isascii()


def replaced(source: Source, fields: Sequence[Field], fresh: str) -> LineChange:
    """Return the row of some fields with a variable in their place."""
    line = fields[0].lineno
    row = source.rows[line - 1]
    for one in sorted(fields, key=lambda field: -field.col_offset):
        row = row[: one.col_offset] + fresh + row[one.end_col_offset :]
    return LineChange(line, line, (row,))


def later_mentions(spot: Spot, name: str, dropped: Sequence[ast.stmt]) -> Iterator[Spot]:
    """Yield the later statements of a block that mention a name."""
    for index in range(spot.index + 1, len(spot.block)):
        statement = spot.block[index]
        if statement not in dropped and mentions(statement, name):
            yield Spot(spot.block, index, spot.outer)


def fields_of(statement: ast.stmt, name: str) -> Iterator[Field]:
    """Yield the fields of an object that a statement reads; nothing if it reads the object in another way."""
    found: list[Field] = []
    called = {id(node.func) for node in ast.walk(statement) if isinstance(node, ast.Call)}
    for node in ast.walk(statement):
        is_field = isinstance(node, Field) and isinstance(node.value, ast.Name) and node.value.id == name
        if isinstance(node, Field) and is_field and isinstance(node.ctx, ast.Load) and id(node) not in called:
            found.append(node)
    uses = sum(isinstance(node, ast.Name) and node.id == name for node in ast.walk(statement))
    if found and uses == len(found):
        yield from found


def variable_for(field: Field, name: str, function: Function) -> str:
    """Return a variable for a field that the function does not have yet; empty if the field's name can be none."""
    key = field.slice if isinstance(field, ast.Subscript) else None
    text = key.value if isinstance(key, ast.Constant) else getattr(field, "attr", None)
    if not isinstance(text, str) or not text.isidentifier() or iskeyword(text):
        return ""
    taken = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    return next((one for one in (text, f"{name}_{text}") if one not in taken), "")
