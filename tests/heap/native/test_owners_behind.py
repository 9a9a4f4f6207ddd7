"""A tensor that C++ holds: the ledger tells who owns its C++ object, and whether all of these are known."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gradlife.heap import open_snapshot, refs, snapshot
from gradlife.model.trace import Ledger

pytestmark = pytest.mark.torch


@pytest.fixture(autouse=True)
def _collector_off() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


def behind(obj: object, *, scan: bool = False) -> Ledger:
    found = refs(obj, scan=scan).behind
    assert found is not None
    return found


def owners(ledger: Ledger) -> list[tuple[str, str]]:
    return sorted((one.object, one.via) for one in ledger.referrers)


def test_a_node_that_saved_it_is_reported_where_its_own_wrapper_is_not() -> None:
    import torch

    hidden = torch.ones(3, requires_grad=True).sin()
    loss = (hidden * hidden).sum()
    found = behind(hidden)
    saved = [("MulBackward0", "saved tensor 'other'"), ("MulBackward0", "saved tensor 'self'")]
    assert (found.count, owners(found), found.unaccounted) == (2, saved, 0)
    del loss
    assert refs(hidden).behind is None


def test_a_leaf_is_owned_by_its_accumulator_and_a_base_by_its_view() -> None:
    import torch

    leaf = torch.ones(3, requires_grad=True)
    made, view = leaf * 2, leaf.detach()[1:]
    assert (owners(behind(leaf)), behind(leaf).count) == ([("AccumulateGrad", "variable")], 1)
    base = view._base
    assert owners(behind(base)) == [("TensorImpl", "base")]
    del made


def test_a_file_shows_the_same(tmp_path: Path) -> None:
    import torch

    leaf = torch.ones(3, requires_grad=True)
    made = leaf * 2
    snapshot().save(tmp_path / "one.glheap")
    found = open_snapshot(tmp_path / "one.glheap").why(id(leaf)).ledger.behind
    assert found is not None
    assert (owners(found), found.count) == ([("AccumulateGrad", "variable")], 1)
    del made


def test_a_tensor_without_other_owners_has_nothing_behind_it() -> None:
    import torch

    assert refs(torch.ones(3)).behind is None
    assert refs([]).behind is None


@pytest.mark.scan
@pytest.mark.skipif(sys.platform != "linux", reason="the native scan works on Linux")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_owners_that_nothing_explains_are_counted_and_with_a_scan_named() -> None:
    import torch

    weights: Any = torch.nn.Linear(2, 2)
    scripted = torch.jit.script(weights)
    found = behind(weights.weight)
    named = behind(weights.weight, scan=True)
    assert found.count == len(found.referrers) + found.unaccounted
    assert (found.native, len(named.native) <= found.unaccounted) == ((), True)
    del scripted
