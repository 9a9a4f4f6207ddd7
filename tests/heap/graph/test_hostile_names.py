"""Names with characters that move a cursor, end a line or turn the direction of a text are spelt out in every format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import glheap
import gradlife
from gradlife.cli import main
from gradlife.heap import open_snapshot
from gradlife.visible_text import visible

HIDDEN = "\u202e\u2066\u2028\u2029\r\x9b\x1b\x85\x7f\u200f"
NAME = "Na" + HIDDEN + "me"
SPELT = r"Na\u202e\u2066\u2028\u2029\x0d\x9b\x1b\x85\x7f\u200fme"
KEPT: dict[str, Any] = {}


@pytest.fixture
def hostile() -> Any:
    """An object of a class with such a name, in a dict under such a key."""
    kept = KEPT[NAME] = type(NAME, (), {})()
    yield kept
    KEPT.clear()


def hidden_in(text: str) -> list[str]:
    return [hex(ord(one)) for one in HIDDEN if one in text]


def test_why_spells_the_name_of_a_class(hostile: Any) -> None:
    trace = gradlife.why(hostile)
    assert hidden_in(str(trace)) == hidden_in(trace._repr_html_()) == []
    assert visible(NAME) in str(trace)
    assert SPELT in trace.steps[-1].object


@pytest.mark.whole
@pytest.mark.parametrize("option", ["--json", "--html", "--types", "--largest", "--holders", "--instances", "--why"])
def test_open_spells_it_in_every_format(
    hostile: Any, option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "x.glheap"
    gradlife.snapshot().save(file)
    about = {"--json": ["-"], "--html": [str(tmp_path / "x.html")], "--types": [], "--largest": []}
    main(["open", str(file), option, *about.get(option, [f"{__name__}.{SPELT}"])])
    text = capsys.readouterr().out.replace("\n", "")
    if option == "--html":
        text = (tmp_path / "x.html").read_text(encoding="utf-8")
    if option == "--json":
        text = json.dumps(json.loads(text), ensure_ascii=False)
    assert hidden_in(text) == []


def test_names_of_a_file_of_another_writer_are_spelt_when_it_is_read(tmp_path: Path) -> None:
    sketch = glheap.small_heap()
    names = ["process", "interpreter", "dict", "list", NAME, "engine::Storage"]
    sketch.sections[glheap.NAME_ENDS], sketch.sections[glheap.NAMES] = glheap.texts(names)
    sketch.sections[glheap.TEXT_ENDS], sketch.sections[glheap.TEXTS] = glheap.texts(
        ["", "...", "len 1", f"'{NAME}'", "sys.modules", "storage"]
    )
    file = tmp_path / "x.glheap"
    file.write_bytes(sketch.data())
    (found,) = open_snapshot(file).instances(SPELT)
    assert found.type == SPELT
    assert hidden_in(repr(found)) == []


def test_what_can_be_read_stays_as_it_is() -> None:
    assert visible("Größe 測定 🙂") == "Größe 測定 🙂"
