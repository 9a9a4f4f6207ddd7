"""Python-level tools find a chain to a module, a dead end, or nothing."""

from __future__ import annotations

import gc
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import gradlife.engine as torch
from gradlife.probes import referrers
from gradlife.probes.referrers import DEAD_END, NOTHING, ROOT, objgraph_chain, referrers_of
from gradlife.runner import api
from leftovers import leaves

Ask = Callable[[Any], str | None]
ASKERS = [referrers_of, objgraph_chain]


class Thing:
    """Any object that takes attributes and weak references."""


@pytest.fixture(autouse=True)
def _objgraph_is_there() -> None:
    pytest.importorskip("objgraph")


@pytest.mark.parametrize("ask", ASKERS)
def test_an_object_in_a_list_of_a_module_has_a_chain_to_it(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("keeps_things")
    module.kept = [Thing()]  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "keeps_things", module)
    subject = weakref.ref(module.kept[0])
    assert ask(subject()) == ROOT


@pytest.mark.parametrize("ask", ASKERS)
def test_a_cycle_of_python_objects_is_a_dead_end(ask: Ask) -> None:
    thing = Thing()
    thing.itself = thing  # type: ignore[attr-defined]
    subject = weakref.ref(thing)
    del thing
    gc.disable()
    try:
        assert ask(subject()) == DEAD_END
    finally:
        gc.enable()


@leaves(tensor=3, storage=3, node=2, hook=1, saved=1)
@pytest.mark.parametrize("ask", ASKERS)
def test_a_result_in_a_hook_of_its_own_node_is_a_dead_end(ask: Ask) -> None:
    result = torch.ones(2, requires_grad=True) * 2
    result.grad_fn.register_hook(lambda *gradients, kept=result: None)
    subject = weakref.ref(result)
    del result
    gc.collect()
    assert subject() is not None
    assert ask(subject()) == DEAD_END  # the defaults of the hook, which no Python object leads to


@pytest.mark.parametrize("ask", ASKERS)
def test_a_tensor_that_only_native_code_owns_has_no_referrer(ask: Ask) -> None:
    middle = torch.ones(2, requires_grad=True) * 2
    middle.mark = 1
    subject = weakref.ref(middle)
    result = middle.sin()  # its node owns what it saved
    del middle
    gc.collect()
    assert ask(subject()) == NOTHING
    del result


def test_too_many_referrers_are_inconclusive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(referrers, "MAX_VISITED", 2)
    thing = Thing()
    chain: list[Any] = [thing]
    for _ in range(5):
        chain = [chain]
    subject = weakref.ref(thing)
    del thing
    assert referrers_of(subject()) == "inconclusive"


def test_without_objgraph_it_has_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "objgraph", None)
    assert objgraph_chain(Thing()) is None


def test_what_objgraph_finds_is_not_compared_as_other_interpreters_may_lack_it() -> None:
    """Each such reading was a difference without a reason, where one of two systems had no objgraph."""
    report = api.run(["cxx_node_hook_over_output"], backends=["mini:torch-2.13", "mini:torch-2.10"])
    status = {reading.subject: reading.status for reading in report.readings if reading.probe == "referrers"}
    assert {subject for subject in status if subject.endswith(".objgraph")}
    assert {status[subject] for subject in status if subject.endswith(".objgraph")} == {"not compared"}
    assert {status[subject] for subject in status if not subject.endswith(".objgraph")} == {"same"}
