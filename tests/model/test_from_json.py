"""Values of JSON become those of a model only if a report can show and write them."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from gradlife.model.from_json import built, parsed


@dataclass(frozen=True)
class Row:
    name: str
    count: int = 0
    share: float = 0.0
    of: dict[str, int] | None = None


@pytest.mark.parametrize("text", ["NaN", '{"a": [Infinity]}', "-Infinity"])
def test_numbers_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no number"):
        parsed(text)


def test_text_that_is_nested_too_deep_is_refused() -> None:
    with pytest.raises(ValueError, match="it is nested too deep"):
        parsed("[" * 100_000)


@pytest.mark.parametrize("item", [{"count": 10**400}, {"share": 10**400}, {"share": 1e308}, {"count": -(2**64)}])
def test_numbers_that_no_report_can_show_are_refused(item: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="a number is too large"):
        built(Row, {"name": "row", **item})


def test_half_characters_become_question_marks_so_that_reports_can_be_written() -> None:
    assert parsed('{"name": "\\ud800 π \\ud83d\\ude00"}') == {"name": "? π 😀"}


def test_a_list_is_no_object() -> None:
    with pytest.raises(TypeError, match=r"\[\] is no object"):
        built(Row, {"name": "row", "of": []})
