from __future__ import annotations

import pytest

from gradlife.errors import UsageError
from gradlife.model import ScenarioInfo
from gradlife.runner.selection import selector

INFO = ScenarioInfo("hooks/ctx_keeps", "ctx_keeps", "hooks", "title", ("pytorch/pytorch#25340",), "GL101")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("", True),
        ("  ", True),
        ("ctx", True),
        ("CTX", True),
        ("gl101", True),
        ("#25340", True),
        ("view", False),
        ("not view", True),
        ("not not view", False),
        ("ctx and view", False),
        ("view or ctx", True),
        ("view and view or ctx", True),
        ("view and (view or ctx)", False),
        ("not (view or ctx)", False),
        ("hooks and not(view)", True),
    ],
)
def test_words_are_looked_up_in_id_pattern_and_origins(expression: str, expected: bool) -> None:
    assert selector(expression)(INFO) is expected


@pytest.mark.parametrize("expression", ["and", "ctx and", "or ctx", "(ctx", "ctx)", "()", "not", "ctx view"])
def test_an_expression_that_makes_no_sense_is_one_clear_line(expression: str) -> None:
    with pytest.raises(UsageError) as caught:
        selector(expression)
    assert caught.value.message == f"cannot read the expression {expression!r}"
