from __future__ import annotations

from rich.console import Group

from gradlife.reports.docstrings import folded_prose
from printing import rendered


def folded(text: str, width: int = 40) -> list[str]:
    return rendered(Group(*folded_prose(text)), width)


def test_a_paragraph_is_folded_anew() -> None:
    assert folded("One two three four\nfive six seven eight nine ten.\n\nNext.") == [
        "  One two three four five six seven",
        "  eight nine ten.",
        "",
        "  Next.",
    ]


def test_a_list_item_hangs_from_its_number() -> None:
    assert folded("1 *First*. The wrapper holds\n  the impl strongly, always.\n2 Second.") == [
        "  1 *First*. The wrapper holds the impl",
        "    strongly, always.",
        "  2 Second.",
    ]


def test_a_list_below_its_introduction_keeps_its_items() -> None:
    assert folded("Two paths:\n- one\n- two") == ["  Two paths:", "  - one", "  - two"]


def test_a_number_at_the_beginning_of_a_folded_line_begins_no_item() -> None:
    assert folded("All of them, that is\n8 of 8 reads, differ.") == [
        "  All of them, that is 8 of 8 reads,",
        "  differ.",
    ]


def test_code_stays_as_it_is() -> None:
    assert folded("Like so::\n\n    a = 1\n    b = 2") == ["  Like so::", "", "      a = 1", "      b = 2"]
