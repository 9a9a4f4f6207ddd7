"""Statements that may empty later what grows."""

from __future__ import annotations

import pytest

from gradlife.hunting.stores.emptyings import emptying_of
from gradlife.model.trace import Hop, PathStep
from stored_traces import LIST, owned, source, trace, variable

KEPT = trace(variable("trainer"), owned("losses"), LIST)
CLASS = "class Trainer:\n    def __init__(self):\n        self.losses = []\n    def step(self):\n        self.losses.append(1)\n"


def frame(name: str, function: str) -> PathStep:
    return PathStep(
        "running frame", f"{function} (train.py:9)", "root", "", "local", hops=(Hop("running frame", "local", name),)
    )


LOCAL = trace(frame("losses", "train_epoch"), LIST)


@pytest.mark.parametrize(
    "statement",
    [
        "self.losses.clear()",
        "self.losses = []",
        "self.losses, self.other = [], []",
        "del self.losses[:]",
        "del self.losses",
        "self.losses[:] = []",
        "while self.losses:\n            self.losses.pop()",
    ],
)
def test_an_attribute_is_emptied_by_another_method(statement: str) -> None:
    assert emptying_of(KEPT, 2, [source(f"{CLASS}    def end(self):\n        {statement}\n")]) == "train.py:7"


@pytest.mark.parametrize(
    "statement",
    [
        "self.losses.append(2)",
        "self.losses = self.losses + [2]",
        "self.losses += [2]",
        "self.other = []",
        "self.losses.pop()",
        "del self.losses[0]",
        "print(self.losses)",
    ],
)
def test_an_attribute_that_nothing_empties_is_not(statement: str) -> None:
    assert emptying_of(KEPT, 2, [source(f"{CLASS}    def end(self):\n        {statement}\n")]) == ""


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("trainer = Trainer()\n", ""),
        ("def main():\n    global trainer\n    trainer = Trainer()\n", "train.py:8"),
        ("for fold in range(5):\n    trainer = Trainer()\n", "train.py:7"),
    ],
)
def test_a_holder_that_is_made_again_has_a_new_list(text: str, place: str) -> None:
    assert emptying_of(KEPT, 2, [source(CLASS + text)]) == place


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("train_epoch()\n", ""),
        ("def main():\n    train_epoch()\nmain()\n", ""),
        ("for epoch in range(5):\n    train_epoch()\n", "train.py:5"),
        ("def main():\n    train_epoch()\nfor fold in range(5):\n    main()\n", "train.py:7"),
        ("train_epoch()\ntrain_epoch()\n", "train.py:4"),
        ("means = [train_epoch() for _ in range(5)]\n", "train.py:4"),
    ],
)
def test_a_variable_is_new_in_each_call_of_its_function(text: str, place: str) -> None:
    function = "def train_epoch():\n    losses = []\n    losses.append(1)\n"
    assert emptying_of(LOCAL, 1, [source(function + text)]) == place


def test_a_variable_that_a_loop_of_its_function_sets_again_is_emptied() -> None:
    text = "def train_epoch():\n    for epoch in range(5):\n        losses = []\n        losses.append(1)\n"
    assert emptying_of(LOCAL, 1, [source(text)]) == "train.py:3"
