"""Changed lines that put a statement below another, or remove one, also if it shares its line with others."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from gradlife.model.peak.report import LineChange
from gradlife.peaks.sources.program import Source, Spot


def is_alone(source: Source, spot: Spot) -> bool:
    """Whether the statement shares no line with another, so that a line can be put below it."""
    head, tail = around(source, spot.statement)
    return not head.strip() and (not tail.strip() or tail.strip().startswith(b"#"))


def is_alone_in(source: Source, statements: Sequence[ast.stmt]) -> bool:
    """Whether statements that follow each other share no line with another."""
    return all(is_alone(source, Spot(statements, index)) for index in (0, len(statements) - 1))


def statements_around(spots: Sequence[Spot | None]) -> list[ast.stmt]:
    """Return the statements of the innermost common block, from the first to the last of these places."""
    chains = [(*one.outer, one) for one in spots if one is not None]
    if not chains or len(chains) < len(spots):
        return []
    for level in reversed(range(min(map(len, chains)))):
        here = [chain[level] for chain in chains]
        if all(one.block is here[0].block for one in here):
            indexes = [one.index for one in here]
            return list(here[0].block[min(indexes) : max(indexes) + 1])
    return []


def can_be_moved(statement: ast.stmt) -> bool:
    """Whether a statement means the same with a larger indent and without a graph: no generator, no text of many lines."""
    texts = (node for node in ast.walk(statement) if isinstance(node, ast.Constant | ast.JoinedStr))
    is_plain = all(one.lineno == one.end_lineno for one in texts)
    return is_plain and not any(isinstance(node, ast.Yield | ast.YieldFrom | ast.Await) for node in ast.walk(statement))


def around(source: Source, statement: ast.stmt) -> tuple[bytes, bytes]:
    """Return what stands before a statement on its first line, and behind it on its last."""
    head = source.indent_of(statement).encode()
    return head, source.rows[(statement.end_lineno or 1) - 1].encode()[statement.end_col_offset or 0 :]


def put_below(source: Source, spot: Spot, text: str) -> LineChange:
    """Put a statement below another: on a line of its own, or behind it on a line that others share."""
    statement = spot.statement
    last = statement.end_lineno or statement.lineno
    if is_alone(source, spot):
        return LineChange(last + 1, last, (source.indent_of(statement) + text,))
    row, end = source.rows[last - 1].encode(), statement.end_col_offset or 0
    return LineChange(last, last, ((row[:end] + f"; {text}".encode() + row[end:]).decode(),))


def without(source: Source, spot: Spot, dropped: Sequence[ast.stmt] = ()) -> LineChange | None:
    """Remove a statement; None if it shares a line with others and has several lines.

    ``dropped``: statements that other edits remove.
    """
    statement = spot.statement
    first, last = statement.lineno, statement.end_lineno or statement.lineno
    is_last = all(one is statement or one in dropped for one in spot.block)
    if is_alone(source, spot):
        return LineChange(first, last, (source.indent_of(statement) + "pass",) if is_last else ())
    if first != last:
        return None
    head, tail = around(source, statement)
    if is_last:
        return LineChange(first, first, ((head + b"pass" + tail).decode(),))
    if tail.lstrip().startswith(b";"):
        rest = tail.lstrip()[1:].lstrip()
        return LineChange(first, first, ((head + rest).decode() if rest else head.decode().rstrip("; "),))
    return LineChange(first, first, (head.decode().rstrip("; ") + tail.decode(),))


def place_of(source: Source, spot: Spot) -> str:
    """Name the place of a statement: ``line 12``; on a line that others share, with how it begins."""
    last = spot.statement.end_lineno or spot.statement.lineno
    if isinstance(spot.statement, ast.For | ast.AsyncFor | ast.While):
        return f"the loop of line {spot.statement.lineno}"
    if is_alone(source, spot):
        return f"line {last}"
    text = ast.unparse(spot.statement).partition("\n")[0]
    shown = text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 3]}..."
    return f"`{shown}` in line {last}"


#: Most characters of a statement to show.
MAX_SHOWN = 24
