"""Cut and prove: where the reference is cut, what the cut does, and what the rates after it say."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace

import pytest

from gradlife.hunting.cuts import CLEAR, ITEMS, Cut, cut_of, load_cut
from gradlife.hunting.cutter import Cutter
from gradlife.hunting.prove import judged
from gradlife.model.hunt import Advice, Diagnosis, Finding, FindingKind, HuntReport, PerStep, Round
from gradlife.model.trace import Hop, Ledger, Lifetime, Step, Trace

HISTORY = (("internal", "__dict__", -1), ("dict_value", "'history'", -1))


@pytest.fixture
def program() -> Iterator[ModuleType]:
    module = ModuleType("program_under_proof")
    sys.modules[module.__name__] = module
    yield module
    del sys.modules[module.__name__]


@pytest.mark.parametrize("container", [[1, 2], {1: 1, 2: 2}, {1, 2}])
def test_new_items_are_dropped_and_old_ones_stay(program: ModuleType, container: object) -> None:
    vars(program)["history"] = container
    cutter = Cutter(Cut(ITEMS, "module program_under_proof", HISTORY, ""))
    cutter.cut()
    if isinstance(container, list):
        container += [3, 4]
    elif isinstance(container, dict):
        container.update({3: 3})
    elif isinstance(container, set):
        container.add(3)
    cutter.cut()
    assert len(vars(program)["history"]) == 2


def test_an_attribute_is_cleared_each_time_it_is_set_anew(program: ModuleType) -> None:
    vars(program)["history"] = holder = SimpleNamespace(last=1)
    cutter = Cutter(Cut(CLEAR, "module program_under_proof", (*HISTORY, ("attribute", "last", -1)), ""))
    for value in (1, 2):
        holder.last = value
        cutter.cut()
        assert holder.last is None


def test_a_way_that_is_not_there_yet_is_no_error() -> None:
    cutter = Cutter(Cut(ITEMS, "module program_under_proof", HISTORY, ""))
    cutter.cut()
    assert cutter.count == 0


def test_a_cut_goes_to_another_process_and_back() -> None:
    cut = Cut(ITEMS, "module program_under_proof", HISTORY, "new items dropped")
    assert load_cut(cut.dump()) == cut


def finding(mark: str, rate: PerStep, *steps: Step) -> Finding:
    trace = Trace("Tensor", "", Lifetime.HELD, steps, (), Ledger(1, ()))
    named = Diagnosis("GL512", "a list grows", "", Advice(""))
    return Finding(FindingKind.GROWTH, Lifetime.HELD, named, trace, rate, fingerprint=mark)


def steps() -> tuple[Step, ...]:
    hops = tuple(Hop("module", *hop) for hop in HISTORY)
    return (
        Step("module", "program", "python", "global variable 'history'", "", type="module", hops=hops),
        Step("list", "len 9", "python", "[3]", "", type="list", hops=(Hop("list", "item", "", 3),), length=9),
        Step("Tensor", "", "python", "", "", type="torch.Tensor"),
    )


def test_the_items_of_the_container_that_grows_are_cut() -> None:
    cut = cut_of(finding("a", PerStep(), *steps()))
    assert cut == Cut(ITEMS, "module program", HISTORY, "new items of history dropped after each step")


def test_what_no_root_leads_to_cannot_be_cut() -> None:
    assert cut_of(finding("a", PerStep())) is None


RATE = PerStep(2.0, 1.0, 1.0, 0.0, 1000.0)


def report(*findings: Finding, rounds: int = 3) -> HuntReport:
    return HuntReport("t", "s", 5, (Round(5, RATE),) * rounds, findings)


def test_a_cut_after_which_nothing_grows_is_sufficient() -> None:
    proof = judged(finding("a", RATE), "cut", report())
    assert (proof.is_sufficient, proof.after, proof.note) == (True, PerStep(), "")


@pytest.mark.parametrize("mark", ["a", "b"])
def test_what_is_still_held_is_told_by_whom(mark: str) -> None:
    proof = judged(finding("a", RATE), "cut", report(finding(mark, RATE, *steps())))
    assert (proof.is_sufficient, proof.after) == (False, RATE)
    assert proof.note == "still held by global variable 'history'[3]"


def test_a_rest_of_another_leak_is_none_of_this_one() -> None:
    assert judged(finding("a", RATE), "cut", report(finding("b", PerStep(bytes=10.0)))).is_sufficient


def test_one_round_proves_nothing() -> None:
    assert not judged(finding("a", RATE), "cut", report(rounds=1)).is_sufficient
