"""Lines of a source, as Python's parser counts them."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given, strategies as st

from gradlife.model.source_text import plain_rows, rows_of


@given(st.text(alphabet="ab \n\r\x0b\x0c\x1c\x85\u2028"))
def test_rows_have_every_character_of_the_text(text: str) -> None:
    assert "".join(rows_of(text)) == text
    assert all(row.rstrip("\r\n") == plain for row, plain in zip(rows_of(text), plain_rows(text), strict=True))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("blank", ["", "\x0c", "'\x0b\x1c\x85\u2028'"])
def test_the_line_of_a_statement_is_the_parsers(end: str, blank: str) -> None:
    text = f"first = 1{end}{blank}{end}last = 2{end}"
    assert plain_rows(text)[ast.parse(text).body[-1].lineno - 1] == "last = 2"
