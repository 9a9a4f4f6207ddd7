"""The numbers that a source gives to a name."""

from __future__ import annotations

import ast

import pytest

from gradlife.hunting.stores.constant_values import numbers_of

BUFFER = """
class Buffer:
    def __init__(self, size=10**9):
        self.size = size
"""


@pytest.mark.parametrize(
    ("source", "expression", "numbers"),
    [
        ("", "5", {5}),
        ("", "2 * (1 << 20) - 1", {2**21 - 1}),
        ("", "7 // 2", {3}),
        ("most = 10 ** 7", "most", {10**7}),
        ("most: int = 4", "most", {4}),
        ("most = 4\nmost = 5", "most", {4, 5}),
        ("def f(x, most): pass\nf(1, 5)\nf(2, most=6)", "most", {5, 6}),
        (BUFFER, "self.size", {10**9}),
        (BUFFER + "Buffer(100)", "self.size", {10**9, 100}),
        ("class Buffer:\n    size = 3", "self.size", {3}),
    ],
)
def test_numbers_that_a_source_tells(source: str, expression: str, numbers: set[int]) -> None:
    assert read(source, expression) == frozenset(numbers)


@pytest.mark.parametrize(
    ("source", "expression"),
    [
        ("", "most"),
        ("", "True"),
        ("", "1 // 0"),
        ("", "2 ** 1000"),
        ("", "args.most"),
        ("most = int(text)", "most"),
        ("most = 5\nmost += 1", "most"),
        ("most, least = 5, 1", "most"),
        ("for most in sizes: pass", "most"),
        ("most = most", "most"),
        (BUFFER + "Buffer(settings.size)", "self.size"),
        (BUFFER + "Buffer(*settings)", "self.size"),
        (BUFFER + "Buffer(**settings)", "self.size"),
        ("class Buffer:\n    size: int = 3", "self.size"),
    ],
)
def test_numbers_that_it_does_not_tell(source: str, expression: str) -> None:
    assert read(source, expression) is None


def read(source: str, expression: str) -> frozenset[int] | None:
    return numbers_of(ast.parse(expression, mode="eval").body, ast.parse(source))
