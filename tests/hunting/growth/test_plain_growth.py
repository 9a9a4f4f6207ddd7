"""Growth of plain Python data, of dicts and of mixed items: chains, lists that are made anew, rates."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from gradlife.hunting.findings.builder import growth_finding  # noqa: E402
from gradlife.hunting.growth.reachable_growth import grown_groups  # noqa: E402
from gradlife.hunting.snapshots.creation_sites import CreationSites  # noqa: E402
from gradlife.model.growth import GrowthKind  # noqa: E402
from step_evidence import Step, evidence, has_tensors  # noqa: E402


class Link:
    """Holds the previous one, and plain data."""

    def __init__(self, previous: Any, number: int) -> None:
        self.previous, self.rows = previous, [[(one, number) for one in range(40)] for _ in range(3)]


def plain_growth(step: Step) -> list[GrowthKind]:
    """Return the kinds of the growth of this file's plain data."""
    found = evidence(step, 5, 7, 11, 13, 17)
    sure, _ = grown_groups(found)
    return [one.kind for one in sure if one.per_step.bytes > 1_500 and not has_tensors(found, one.group.tops)]


@pytest.mark.whole
def test_a_chain_of_plain_objects_with_much_data_grows() -> None:
    """Each object holds the previous one, but none was a tensor, a thread or the like: nothing grew."""
    state = SimpleNamespace(head=None)

    def step(number: int) -> None:
        state.head = Link(state.head, number)

    assert plain_growth(step) == [GrowthKind.CHAIN]


@pytest.mark.whole
def test_plain_objects_that_each_step_replaces_do_not_grow() -> None:
    state = SimpleNamespace(head=None)

    def step(number: int) -> None:
        state.head = Link(Link(None, number), number)

    assert plain_growth(step) == []


@pytest.mark.whole
def test_a_list_that_each_step_makes_anew_with_one_more_row_of_plain_data_grows() -> None:
    state = SimpleNamespace(rows=[])

    def step(number: int) -> None:
        state.rows = [*state.rows, {"values": [float(one + number) for one in range(200)]}]

    assert plain_growth(step) == [GrowthKind.CONTAINER]


@pytest.mark.whole
def test_a_tensor_in_the_first_row_does_not_hide_that_rows_of_plain_data_pile_up() -> None:
    rows: list[Any] = []

    def step(number: int) -> None:
        rows.append({"values": [float(one + number) for one in range(200)]})
        if number == 8:
            rows[-1]["first"] = torch.ones(8)

    assert plain_growth(step) == [GrowthKind.CONTAINER]


@pytest.mark.whole
def test_a_dict_with_objects_as_keys_grows_as_fast_as_one_with_numbers() -> None:
    """A dict refers to its keys, too: each entry of old objects counted twice."""
    keys = [ModuleType(f"key {number}") for number in range(40)]
    by_object: dict[Any, Any] = {}
    by_number: dict[Any, Any] = {}

    def step(number: int) -> None:
        by_number[number] = torch.ones(1_000)

    def step_by_object(number: int) -> None:
        by_object[keys[number]] = torch.ones(1_000)

    rates = []
    for one in (step, step_by_object):
        found = evidence(one, 5, 7, 11, 13)
        sure, _ = grown_groups(found)
        rates += [each.per_step.retained_bytes for each in sure if has_tensors(found, each.group.members)]
    assert rates == [pytest.approx(4_400, rel=0.2)] * 2


@pytest.mark.whole
@pytest.mark.parametrize("is_small_first", [True, False])
def test_items_of_several_types_in_one_container_count_together(is_small_first: bool) -> None:
    """Those of one type counted only."""
    kept: list[Any] = []

    def step(number: int) -> None:
        items = [torch.ones(1), {"state": torch.ones(16_000)}]
        kept.extend(items if is_small_first else items[::-1])

    found = evidence(step, 5, 7, 11, 13)
    sure, _ = grown_groups(found)
    mine = [growth_finding(found.graph, one, CreationSites()) for one in sure if has_tensors(found, one.group.members)]
    assert [one.retained_bytes > 30 * 64_000 for one in mine] == [True]
    assert [{"dict", "torch.Tensor"} <= {row.type for row in one.retained_types} for one in mine] == [True]


INFREQUENT = """
import gradlife, torch
kept = []
def step(number):
    if number in (10, 25, 50, 120, 200, 210):
        kept.append(torch.zeros(1000))
print(gradlife.hunt(step).verdict)
"""


@pytest.mark.whole
def test_what_arrives_in_some_rounds_only_is_found_though_it_is_in_doubt() -> None:
    """Growth in doubt was left out of what arrives now and then, and then dropped."""
    done = subprocess.run([sys.executable, "-c", INFREQUENT], capture_output=True, text=True, timeout=900, check=True)
    assert done.stdout.split()[-1:] == ["leak"], done.stderr


@pytest.mark.whole
def test_what_is_kept_counts_with_its_numbers_and_short_texts() -> None:
    """A list of a hundred floats was 929 bytes, too few for a leak."""
    rows: list[Any] = []
    found = evidence(lambda number: rows.append([float(number + one) for one in range(100)]), 5, 7, 11, 13, 17)
    (one,) = [each for each in grown_groups(found)[0] if each.per_step.bytes > 1_500]
    numbers, items = 100 * sys.getsizeof(1.0), sys.getsizeof([float(one) for one in range(100)])
    assert one.per_step.retained_bytes == pytest.approx(numbers + items, rel=0.02)
    finding = growth_finding(found.graph, one, CreationSites())
    assert {row.type for row in finding.retained_types} == {"list", "numbers and short texts"}
