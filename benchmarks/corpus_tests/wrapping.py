"""Make test files from a labelled program: its state is a fixture, one step is the test."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.corpus.cases import Case, bare

#: Tests without a marker, run one after the other, each with its own state.
SWEPT = 3

MARKED = '''\
"""One step under the marker; what the steps keep is in a fixture of the module."""

import itertools

import pytest

import {program} as program

numbers = itertools.count()


@pytest.fixture(scope="module")
def state():
    made = program.setup()
    yield made
    if hasattr(program, "teardown"):
        program.teardown(made)


@pytest.mark.no_leaks{terms}
def test_step(state):
    program.{step}(state, next(numbers))
'''

PLAIN = '''\
"""Some tests of one step each; a state ends with its test, and what the program has of globals does not."""

import pytest

import {program} as program


@pytest.fixture
def state():
    return program.setup()


@pytest.mark.parametrize("number", range({count}))
def test_step(state, number):
    program.{step}(state, number)
'''

#: Counted after all tests, without gradlife: tensors alive when a state is gone and the collector is off, after the last of
#: some steps and fixed steps.
CONFTEST = """\
import gc
from pathlib import Path


def pytest_sessionfinish():
    import torch

    import program_counted as program

    def tensors():
        return sum(issubclass(type(one), torch.Tensor) for one in gc.get_objects())

    def left_by(step):
        for number in range(3):
            before = tensors()
            step(program.setup(), number)
        return tensors() - before

    gc.collect()
    gc.disable()
    Path("outliving").write_text(f"{left_by(program.step)} {left_by(program.fixed_step)}")
"""
OUTLIVING = "outliving"


@dataclass(frozen=True)
class Wrapped:
    """One way to test a program."""

    name: str  # of the file, without `test_` and `.py`
    step: str
    text: str
    terms: str = ""


STEP = Wrapped("step", "step", MARKED)
FIXED = Wrapped("fixed", "fixed_step", MARKED)
ALLOWED = Wrapped("allowed", "step", MARKED, '(cycles="allow")')
SWEPT_STEP = Wrapped("swept", "step", PLAIN)
SWEPT_FIXED = Wrapped("swept_fixed", "fixed_step", PLAIN)


def write(case: Case, variants: Iterable[Wrapped], folder: Path) -> None:
    """Write a test file for each way, and a separate copy of the program for each, because modules keep state."""
    folder.mkdir(parents=True)
    source = ast.unparse(bare(case.tree)) + "\n"
    for one in variants:
        program = f"program_{one.name}"
        (folder / f"{program}.py").write_text(source, encoding="utf-8")
        text = one.text.format(program=program, step=one.step, terms=one.terms, count=SWEPT)
        (folder / f"test_{one.name}.py").write_text(text, encoding="utf-8")
    (folder / "program_counted.py").write_text(source, encoding="utf-8")
    (folder / "conftest.py").write_text(CONFTEST, encoding="utf-8")
