"""The same small programs on the mini engine and on PyTorch: values, errors, orders of hooks, and who dies when.

Each program is written once against a module object (`tests/programs_of_*.py`) and gives plain
values; the profile torch-2.13 must give PyTorch's. Programs that leak do so in a child process.
"""

from __future__ import annotations

import gc
import importlib
import warnings
import weakref
from types import ModuleType
from typing import Any

import pytest

import gradlife.engine
import programs_of_calls
import programs_of_checkpoints
import programs_of_copies
import programs_of_corners
import programs_of_dispatch_modes
import programs_of_early_release
import programs_of_found
import programs_of_found_buffers
import programs_of_found_classes
import programs_of_found_gradients
import programs_of_found_refusals
import programs_of_function_modes
import programs_of_gradchecks
import programs_of_hook_lifetimes
import programs_of_lifetimes
import programs_of_modes
import programs_of_modules
import programs_of_optimizers
import programs_of_refusals
import programs_of_sources
import programs_of_subclasses
import programs_of_values
import programs_of_weak_keys
from leftovers import run_in_child
from programs_tools import Program, attempt, fates

PROGRAMS: list[Program] = [
    *programs_of_values.PROGRAMS,
    *programs_of_refusals.PROGRAMS,
    *programs_of_corners.PROGRAMS,
    *programs_of_dispatch_modes.PROGRAMS,
    *programs_of_early_release.PROGRAMS,
    *programs_of_found.PROGRAMS,
    *programs_of_found_buffers.PROGRAMS,
    *programs_of_found_classes.PROGRAMS,
    *programs_of_found_gradients.PROGRAMS,
    *programs_of_found_refusals.PROGRAMS,
    *programs_of_function_modes.PROGRAMS,
    *programs_of_lifetimes.PROGRAMS,
    *programs_of_hook_lifetimes.PROGRAMS,
    *programs_of_modules.PROGRAMS,
    *programs_of_optimizers.PROGRAMS,
    *programs_of_sources.PROGRAMS,
    *programs_of_checkpoints.PROGRAMS,
    *programs_of_copies.PROGRAMS,
    *programs_of_gradchecks.PROGRAMS,
    *programs_of_weak_keys.PROGRAMS,
    *programs_of_calls.PROGRAMS,
    *programs_of_modes.PROGRAMS,
    *programs_of_subclasses.PROGRAMS,
]


@pytest.fixture(scope="module")
def torch() -> ModuleType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = importlib.import_module("torch")
    # What torch brings along stays for good: the many collections that follow, of other tests too, need not look at it.
    gc.collect()
    gc.freeze()
    return module


def quietly(program: Program, framework: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return program(framework)


@pytest.mark.torch
@pytest.mark.faithful
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_the_mini_engine_says_what_torch_says(program: Program, torch: ModuleType) -> None:
    expected = quietly(program, torch)
    assert run_in_child(quietly, program, gradlife.engine) == expected


def test_the_programs_are_many_and_have_names_of_their_own() -> None:
    names = [program.__name__ for program in PROGRAMS]
    assert len(names) == len(set(names))
    assert len(names) >= 75


def test_an_attempt_is_reported_without_addresses_and_further_lines() -> None:
    def fail() -> None:
        raise ValueError("at 0x7f00beef\nand more")

    assert attempt(fail) == "ValueError: at 0x"
    assert attempt(dict) == "ok"


class Plain:
    pass


def test_fates_distinguish_counting_collecting_and_living_on() -> None:
    kept = Plain()

    def build() -> list[Any]:
        freed, cyclic = Plain(), Plain()
        cyclic.me = cyclic  # type: ignore[attr-defined]
        return [weakref.ref(freed), weakref.ref(cyclic), weakref.ref(kept)]

    assert fates(build) == ["del", "gc", "alive"]
