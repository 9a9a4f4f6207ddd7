"""Regressions that the allocation injector found: each call raises MemoryError or succeeds, and leaves nothing half
done.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.hardening import injector
from sources import ROOT

pytestmark = pytest.mark.allocator

DOES_WITHOUT = ["NoneType"]
RAISES = ["MemoryError", "NoneType"]  # the last call meets no fault


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return the observations of all stories, run in one child."""
    try:
        library = injector.compile_injector(tmp_path_factory.mktemp("injector"))
    except RuntimeError as error:
        pytest.skip(str(error))
    command = [sys.executable, str(Path(__file__).with_name("without_memory.py"))]
    environment = {**injector.environment(library), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=900, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_a_constructor_that_fails_leaves_nothing_in_the_list_of_the_living(seen: Any) -> None:
    assert seen["constructors_that_fail"] == [["MemoryError", 0], ["NoneType", 0]]


def test_a_node_whose_saved_slot_is_held_dies_without_memory(seen: Any) -> None:
    assert seen["a_node_that_dies_behind_its_slot"] == DOES_WITHOUT


def test_a_context_dies_without_memory_for_its_name(seen: Any) -> None:
    assert seen["a_context_that_dies"] == DOES_WITHOUT


def test_a_profile_that_could_not_be_entered_is_not(seen: Any) -> None:
    assert seen["a_policy_that_is_entered"] == [["MemoryError", "torch-1.10"], ["NoneType", "torch-1.2"]]


def test_a_history_that_no_thread_could_drop_stays(seen: Any) -> None:
    assert seen["a_history_dropped_in_a_thread"] == [["MemoryError", True], ["NoneType", False]]


@pytest.mark.parametrize(
    "story",
    [
        "a_tensor_on_the_memory_of_an_array",
        "an_array_on_the_memory_of_a_tensor",
        "versions_that_grow",
    ],
)
def test_a_lack_of_memory_is_reported_as_such(seen: Any, story: str) -> None:
    assert seen[story] == RAISES
