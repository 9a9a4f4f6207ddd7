"""Twenty programs on the simulated accelerator: every active block has an owner, and the sums are the allocator's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from device_programs import PROGRAMS

pytestmark = [pytest.mark.torch, pytest.mark.whole]

Shown = dict[str, dict[str, Any]]
Run = Callable[[Path, str], dict[str, Any]]


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory, run_on_device: Run) -> Shown:
    """What each program showed, by its name: what the allocator says, and what gradlife says of it."""
    folder = tmp_path_factory.mktemp("programs")
    look = "show(allocator=native.snapshot())"
    return {name: run_on_device(folder, f"{program}\n{look}") for name, program in PROGRAMS.items()}


def blocks(program: dict[str, Any], device: int) -> list[dict[str, Any]]:
    """The blocks of a device as the allocator describes them."""
    segments = program["allocator"]["segments"]
    return [block for one in segments if one["device"] == device for block in one["blocks"]]


def bytes_of(found: list[dict[str, Any]], *states: str) -> int:
    """Bytes of blocks in these states."""
    return sum(block["size"] for block in found if block["state"] in states)


def devices(program: dict[str, Any]) -> list[tuple[list[dict[str, Any]], dict[str, Any]]]:
    """The allocator's blocks and the report of each device."""
    reports = program["devices"]
    return [(blocks(program, int(one["device"].rpartition(":")[2])), one) for one in reports]


@pytest.mark.parametrize("name", PROGRAMS)
def test_sums_are_those_of_the_allocator(shown: Shown, name: str) -> None:
    for found, report in devices(shown[name]):
        free = [block["size"] for block in found if block["state"] == "inactive"]
        assert report["used_bytes"] == bytes_of(found, "active_allocated")
        assert report["waiting_bytes"] == bytes_of(found, "active_awaiting_free")
        assert (report["free_bytes"], report["largest_free_bytes"]) == (sum(free), max(free, default=0))
        assert report["reserved_bytes"] == sum(block["size"] for block in found)


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_active_block_has_an_owner(shown: Shown, name: str) -> None:
    for found, report in devices(shown[name]):
        active = [block for block in found if block["state"] != "inactive"]
        assert sum(owner["blocks"] for owner in report["owners"]) == len(active)
        assert sum(owner["bytes"] for owner in report["owners"]) == bytes_of(
            active, "active_allocated", "active_awaiting_free"
        )
        assert {owner["kind"] for owner in report["owners"]} <= {"holder", "line", "stream"}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_map_has_every_byte_of_every_segment(shown: Shown, name: str) -> None:
    for _, report in devices(shown[name]):
        drawn: dict[int, int] = {}
        for segment in report["map"]:
            assert sum(run["bytes"] for run in segment["runs"]) == segment["bytes"]
            for run in segment["runs"]:
                drawn[run["owner"]] = drawn.get(run["owner"], 0) + run["bytes"]
        assert drawn.pop(-1, 0) == report["free_bytes"]
        assert drawn == {number: owner["bytes"] for number, owner in enumerate(report["owners"])}


def owners(program: dict[str, Any], device: int = 0) -> set[str]:
    return {owner["text"] for owner in program["devices"][device]["owners"]}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("inference", {"parameters", "target of __main__", "outputs of __main__"}),
        ("training with SGD", {"parameters", "gradients", "target of __main__"}),
        ("training with AdamW", {"parameters", "gradients", "optimizer state", "target of __main__"}),
        ("a copy of the model", {"parameters", "target of __main__"}),
        ("views of one storage", {"rows of __main__"}),
        ("a dict of features", {"features of __main__"}),
        ("a suspended generator", {"batch of batches"}),
        ("two streams", {"y of __main__", "freed; waits for a non-default stream"}),
        ("out of memory", {"kept of __main__"}),
    ],
)
def test_owners_are_named_by_what_they_are_for_or_by_the_variable(shown: Shown, name: str, expected: set[str]) -> None:
    assert owners(shown[name]) == expected


def test_advice_is_given_in_the_order_of_bytes(shown: Shown) -> None:
    (report,) = shown["fragmentation"]["devices"]
    advice = [(one["text"], one["saved_bytes"]) for one in report["advice"]]
    kept, pieces = sum(one["bytes"] for one in report["owners"]), report["free_bytes"] - report["idle_bytes"]
    expected = [
        ("set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", pieces),
        ("del kept below program.py:13", kept),
    ]
    assert advice == sorted(expected, key=lambda one: -one[1])


def test_there_is_no_advice_where_no_request_failed(shown: Shown) -> None:
    assert [report["advice"] for _, report in devices(shown["training with AdamW"])] == [[]]
