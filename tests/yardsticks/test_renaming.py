"""A program under other names is the same program."""

from __future__ import annotations

import ast
import re
from typing import Any

import pytest

from benchmarks.corpus.renaming import renamed

pytestmark = pytest.mark.torch

PROGRAM = """
import collections
import dataclasses
from types import SimpleNamespace
from torch import nn

SHELF = collections.OrderedDict()

@dataclasses.dataclass
class Order:
    number: int
    label: str = ""

class Shop(nn.Module):
    shops = 0
    def __init__(self, counter):
        super().__init__()
        self.counter = counter
        self.weight = None
    def forward(self, goods):
        return self.counted(goods, extra=1)
    def counted(self, goods, extra):
        def inner():
            nonlocal extra
            extra += len(goods)
            return extra
        return inner() + self.counter

def setup():
    return SimpleNamespace(shop=Shop(counter=10), marks=[], out="grams")

def step(state, number):
    global SHELF
    try:
        state.marks.append(state.shop(goods=[1, 2]))
        setattr(state, "grams", state.marks[-1])
    except ValueError as problem:
        raise problem
    SHELF[number] = [item for item in state.marks]
    return Order(number=number, label=f"{state.grams}").label
"""


def outcome(tree: ast.Module) -> list[Any]:
    scope: dict[str, Any] = {"__name__": "program"}
    exec(compile(tree, "program", "exec", dont_inherit=True), scope)
    state = scope["setup"]()
    return [scope["step"](state, number) for number in range(3)]


def test_it_does_the_same() -> None:
    tree = ast.parse(PROGRAM)
    assert outcome(renamed(tree)) == outcome(tree) == ["13", "13", "13"]


def test_its_own_names_are_gone_and_those_of_libraries_are_not() -> None:
    text = ast.unparse(renamed(ast.parse(PROGRAM)))
    for own in ("SHELF", "Order", "Shop", "counter", "marks", "extra", "inner", "problem", "item", "shops"):
        assert re.search(rf"\b{own}\b", text) is None
    for foreign in (
        "forward",
        "weight",
        "nn.Module",
        "setattr",
        "def setup",
        "def step",
        "append",
        "OrderedDict",
        "goods",
    ):
        assert foreign in text


def test_a_name_that_stands_in_a_text_stays_an_attribute() -> None:
    assert ".grams" in ast.unparse(renamed(ast.parse(PROGRAM)))


def test_the_program_that_was_given_is_left_alone() -> None:
    tree = ast.parse(PROGRAM)
    renamed(tree)
    assert ast.unparse(tree) == ast.unparse(ast.parse(PROGRAM))
