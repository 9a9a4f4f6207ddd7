"""A statement that stores, and the program around it, as rewrites read it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from gradlife.model.source_text import plain_rows
from gradlife.patterns.rewrites.reads import Reader
from gradlife.source.edits import Edit
from gradlife.source.syntax import last_name


@dataclass(frozen=True)
class Site:
    """The line that stores, in one file of a program."""

    text: str
    tree: ast.Module  # parsed from the text, and one of the trees
    line: int
    name: str  # the variable, attribute or key that holds
    trees: Sequence[ast.Module]

    @cached_property
    def reader(self) -> Reader:
        """The mentions of names in all files."""
        return Reader(self.trees)

    @cached_property
    def statement(self) -> ast.stmt | None:
        """The simple statement that has the line to itself; None if there is none."""
        found = [node for node in ast.walk(self.tree) if isinstance(node, ast.stmt) and node.lineno == self.line]
        if len(found) != 1 or hasattr(found[0], "body") or self.before(found[0]).strip():
            return None
        return found[0]

    def nodes(self) -> Iterator[ast.AST]:
        """Yield every syntax node of the program."""
        return (node for tree in self.trees for node in ast.walk(tree))

    def before(self, node: ast.stmt) -> str:
        """Return the text before a statement on its line: its indentation."""
        return self.rows[node.lineno - 1].encode()[: node.col_offset].decode()

    def written(self, node: ast.AST) -> str:
        """Return the source text of a node."""
        return ast.get_source_segment(self.text, node) or ""

    def line_above(self, node: ast.stmt, *lines: str) -> Edit:
        """Return the edit that puts lines above a statement, at its indentation."""
        indent = self.before(node)
        return Edit(
            node.lineno, node.col_offset, node.lineno, node.col_offset, "".join(f"{one}\n{indent}" for one in lines)
        )

    def line_below(self, node: ast.stmt, line: str) -> Edit | None:
        """Return the edit that puts a line below a statement; None if other code follows on the statement's line."""
        last, column = node.end_lineno or node.lineno, node.end_col_offset or 0
        row = self.rows[last - 1].encode()
        rest = row[column:].decode().strip()
        if rest and not rest.startswith("#"):
            return None
        return Edit(last, len(row), last, len(row), f"\n{self.before(node)}{line}")

    def then(self, function: ast.stmt, last: ast.stmt, line: str) -> Iterator[Edit]:
        """Yield the edits that put a line below a statement of a function or a loop; above the return if it returns a
        value.
        """
        if not isinstance(last, ast.Return):
            below = self.line_below(last, line)
            yield from [below] if below is not None else []
        elif last.value is not None:
            taken = {last_name(part) for part in ast.walk(function)}
            name = next((one for one in ("result", "returned") if one not in taken), "")
            below = self.line_below(last, f"{line}\n{self.before(last)}return {name}")
            if name and below is not None:
                end = last.col_offset + len("return")
                yield Edit(last.lineno, last.col_offset, last.lineno, end, f"{name} =")
                yield below

    def remark(self, node: ast.stmt, words: str) -> Iterator[Edit]:
        """Yield the edit that adds a comment to a statement's last line, if it has none."""
        last, column = node.end_lineno or node.lineno, node.end_col_offset or 0
        if not self.rows[last - 1].encode()[column:].strip():
            yield Edit(last, column, last, column, f"  # {words}")

    @cached_property
    def rows(self) -> list[str]:
        """The lines without line ends."""
        return plain_rows(self.text)
