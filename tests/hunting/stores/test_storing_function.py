"""The function that a fingerprint names: certain by itself or by the creation of the survivor, in hunts and tests alike."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gradlife.hunting.stores.stored_at import Evidence, stored_at
from gradlife.hunting.stores.storing_function import storing_function
from gradlife.model.growth import UNKNOWN_GROWTH
from gradlife.model.trace import Trace
from stored_traces import CREATED, KEPT, LIST, TRAINER, owned, ring, source, step, trace, variable

TWO = """\
kept = []

def first():
    kept.append(make())

def second():
    kept.append(make())

def make():
    return ones()
"""
IN_KEPT = trace(variable("kept"), LIST)


def function_of(one: Trace, text: str, created_at: tuple[str, ...] = (), ran: tuple[int, ...] = ()) -> str:
    sources = [source(text)]
    evidence = Evidence(created_at, frozenset(("train.py", line) for line in ran))
    return storing_function(one, stored_at(one, evidence, sources), created_at, sources, UNKNOWN_GROWTH)[0]


def test_the_only_statement_that_fits_needs_no_evidence() -> None:
    assert function_of(KEPT, TRAINER) == function_of(KEPT, TRAINER, CREATED) == "__main__ Trainer.step"


@pytest.mark.parametrize("name", ["first", "second"])
def test_the_function_that_ran_at_the_creation_is_meant(name: str) -> None:
    line = {"first": 4, "second": 7}[name]
    created = ("train.py:10 in make", f"train.py:{line} in {name}")
    assert function_of(IN_KEPT, TWO, created) == f"__main__ {name}"


def test_lines_that_ran_in_a_step_do_not_decide() -> None:
    assert function_of(IN_KEPT, TWO, ran=(7,)) == function_of(IN_KEPT, TWO) == ""


def test_lines_above_change_nothing() -> None:
    created = ("train.py:110 in make", "train.py:104 in first")
    assert function_of(IN_KEPT, "\n" * 100 + TWO, created) == "__main__ first"


def test_without_a_name_of_the_program_the_creating_function_stands_in() -> None:
    created = ("train.py:10 in make", "train.py:4 in first")
    lost = ring(
        step("torch.Tensor", "native", "grad_fn"), step("torch.autograd.function.Backward", "internal", "saved")
    )
    assert function_of(lost, "x = 1\n", created) == "__main__ make"
    root = replace(variable("handlers"), detail="logging")
    assert function_of(trace(root, LIST), "x = 1\n", created) == "__main__ make"
    assert function_of(trace(variable("other"), owned("made")), "x = 1\n", created) == ""
