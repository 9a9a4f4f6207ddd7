from __future__ import annotations

from pathlib import Path

from gradlife.reports.source_diff import body_lines, source_diff

SOURCE = '''
from gradlife.scenario import scenario

@scenario(title="leaks")
def leaks(lab):
    """The story,
    in two lines."""
    y = lab.tensor()
    # why
    ctx.y = y


@leaks.fixed(title="fixed", fix="...")
def repaired(lab):
    y = lab.tensor()
    # why
    ctx.y = y.detach()
'''


def test_a_body_has_neither_decorators_nor_head_nor_docstring(tmp_path: Path) -> None:
    file = tmp_path / "story.py"
    file.write_text(SOURCE, encoding="utf-8")
    assert body_lines(str(file), "leaks") == ["y = lab.tensor()", "# why", "ctx.y = y"]
    assert body_lines(str(file), "repaired") == ["y = lab.tensor()", "# why", "ctx.y = y.detach()"]


def test_what_cannot_be_read_has_no_body(tmp_path: Path) -> None:
    file = tmp_path / "story.py"
    assert body_lines(str(file), "leaks") == []
    file.write_text("def leaks(:", encoding="utf-8")
    assert body_lines(str(file), "leaks") == []
    file.write_text("x = 1", encoding="utf-8")
    assert body_lines(str(file), "leaks") == []


def test_a_diff_has_marked_lines_and_no_head() -> None:
    assert source_diff(["a", "b", "c"], ["a", "B", "c"]) == [" a", "-b", "+B", " c"]
    assert source_diff(["a"], ["a"]) == []


def test_parts_of_a_diff_that_lie_apart_are_distinguished() -> None:
    old = [str(number) for number in range(12)]
    new = ["x", *old[1:11], "y"]
    assert source_diff(old, new, context=1) == ["-0", "+x", " 1", "...", " 10", "-11", "+y"]
