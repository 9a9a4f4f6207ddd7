from __future__ import annotations

import pytest

from gradlife.backends.fake import ones
from gradlife.runner.worker.plain_values import TEXT_LIMIT, exception_text, scrub, simple


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (3, 3),
        (0.1 + 0.2, 0.3),
        (1.0000001, 1.0),
        (123456789.0, 123457000.0),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        ((1, [2.5]), [1, [2.5]]),
        ({"a": (1,)}, {"a": [1]}),
        (ones(2), [1.0, 1.0]),
        (object(), "<object>"),
        (list, "<type>"),
    ],
)
def test_values_become_json(value: object, expected: object) -> None:
    got = simple(value)
    assert got == expected
    assert type(got) is type(expected)


def test_texts_lose_what_differs_from_run_to_run() -> None:
    text = "at 0x7f0b91f39990 in /usr/lib/python/site.py, see https://example.org/a?b=c"
    assert scrub(text) == "at 0xADDR in site.py, see (link)"


def test_an_exception_is_its_type_and_first_line() -> None:
    assert exception_text(ValueError("first\nsecond")) == "ValueError: first"
    assert exception_text(ValueError()) == "ValueError"
    absent = "'Tensor' object has no attribute 'note'"
    said = AttributeError(f"{absent} and no __dict__ for setting new attributes")  # from Python 3.14 on
    assert exception_text(said) == f"AttributeError: {absent}"
    assert len(exception_text(ValueError("x" * 1000))) == TEXT_LIMIT


def test_where_in_the_source_of_a_framework_it_was_raised_is_no_part_of_an_error() -> None:
    text = "Attempted it. (THPFunction_do_backward at /pytorch/torch/csrc/autograd/python_function.cpp:9)\nframe #0: x"
    assert exception_text(RuntimeError(text)) == "RuntimeError: Attempted it."
    assert exception_text(RuntimeError("a shape (3 at least)")) == "RuntimeError: a shape (3 at least)"
