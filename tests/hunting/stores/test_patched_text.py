"""A diff applied to a text: what `git apply` would make of it, or a refusal."""

from __future__ import annotations

import pytest

from gradlife.hunting.stores.patches import patch_of
from gradlife.source.diffs import NotApplicable, patched

TEXT = "".join(f"line {number}\n" for number in range(20))


@pytest.mark.parametrize(
    "after",
    [
        TEXT.replace("line 3", "changed"),
        TEXT.replace("line 3\n", "").replace("line 15\n", "line 15\nnew\n"),
        f"first\n{TEXT}",
        TEXT.rstrip("\n"),
        TEXT.replace("line 19\n", "the end"),
        TEXT.replace("line 4\n", "a form feed \f in a line\n"),
    ],
)
def test_a_text_becomes_the_other_one(after: str) -> None:
    assert patched(TEXT, patch_of("train.py", TEXT, after).diff) == after
    assert patched(after, patch_of("train.py", after, TEXT).diff) == TEXT


def test_a_second_diff_of_the_same_text_is_found_where_its_lines_are_now() -> None:
    first = patch_of("train.py", TEXT, TEXT.replace("line 2\n", "line 2\nnew\nnewer\n")).diff
    second = patch_of("train.py", TEXT, TEXT.replace("line 15", "changed")).diff
    assert patched(patched(TEXT, first), second) == patched(TEXT, first).replace("line 15", "changed")


def test_lines_that_have_changed_since_are_refused() -> None:
    diff = patch_of("train.py", TEXT, TEXT.replace("line 3", "changed")).diff
    with pytest.raises(NotApplicable, match="line 1 and those around it have changed"):
        patched(TEXT.replace("line 3", "other"), diff)


def test_a_diff_names_its_file() -> None:
    assert patch_of("src/train.py", "a\n", "b\n").file == "src/train.py"
