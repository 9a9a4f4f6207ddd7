"""Functions and statements of a source, found by what a frame gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradlife.peaks.sources.program import function_of, source_of, spot_at

TEXT = """\
class Trainer:
    def step(self, batch):
        for part in batch:
            out = net(
                part,
            )
            if out.any():
                keep(out)
        return [x for x in batch]


def step():
    def step():
        pass
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    (tmp_path / "program.py").write_text(TEXT)
    return str(tmp_path / "program.py")


@pytest.mark.parametrize(
    ("line", "lines", "around"),
    [(3, (3, 3), []), (5, (4, 6), [3]), (7, (7, 7), [3]), (8, (8, 8), [3, 7]), (9, (9, 9), [])],
)
def test_the_innermost_statement_at_a_line(file: str, line: int, lines: tuple[int, int], around: list[int]) -> None:
    source = source_of(file)
    assert source is not None
    function = function_of(source, "Trainer.step")
    assert function is not None
    spot = spot_at(function, line)
    assert spot is not None
    assert (spot.lines, [outer.statement.lineno for outer in spot.outer]) == (lines, around)


def test_functions_are_known_by_their_qualified_names(file: str) -> None:
    source = source_of(file)
    assert source is not None
    found = [function_of(source, name) for name in ("step", "step.<locals>.step", "Trainer.step", "other")]
    assert [getattr(one, "lineno", None) for one in found] == [12, 13, 2, None]
    assert function_of(source, "<module>") is source.tree


def test_a_file_that_is_no_python_has_no_source(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def (")
    assert source_of(str(tmp_path / "broken.py")) is None
    assert source_of(str(tmp_path / "nowhere.py")) is None
