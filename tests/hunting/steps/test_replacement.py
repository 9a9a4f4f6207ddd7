"""What a listener replaces is restored, unless the program has replaced it, too; and one listens at a time."""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest

from gradlife.errors import UsageError
from gradlife.hunting.steps.batches import BatchSteps
from gradlife.hunting.steps.replacement import replaced
from gradlife.hunting.steps.running_steps import RunningSteps


class Loader:
    def load(self) -> str:
        return "a batch"


class Own(Loader):
    pass


@pytest.mark.parametrize("kind", [Loader, Own])
def test_an_attribute_is_as_before(kind: Any) -> None:
    before = dict(vars(kind))
    restore = replaced(kind, "load", lambda self: "counted")
    assert kind().load() == "counted"
    restore()
    assert dict(vars(kind)) == before


@pytest.mark.parametrize("kind", [Loader, Own])
def test_what_the_program_put_there_meanwhile_stays(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own wrapper was lost at the end of the hunt."""
    monkeypatch.setattr(kind, "load", kind.load)  # restored after the test
    restore = replaced(kind, "load", lambda self: "counted")
    kind.load = later = lambda self: "the program's"
    restore()
    assert kind.load is later


def test_a_loader_that_the_program_wraps_during_a_hunt_stays_wrapped() -> None:
    class Iterating:
        def __next__(self) -> int:
            return 1

    class Module:
        _BaseDataLoaderIter = Iterating

    steps = BatchSteps(lambda name: lambda: None)
    steps.attach(Module)
    counted = Iterating.__next__
    Iterating.__next__ = wrapper = lambda self: counted(self) + 1  # type: ignore[method-assign]
    steps.detach()
    assert Iterating.__next__ is wrapper
    assert next(Iterating()) == 2


def test_a_second_hunt_in_a_process_is_refused_until_the_first_has_ended() -> None:
    """Each took the other's wrappers for the program's: one heard nothing, and the other's stayed."""
    first = RunningSteps(lambda name: lambda: None)
    with pytest.raises(UsageError, match="gradlife counts the steps of this process already"):
        RunningSteps(lambda name: lambda: None)
    first.detach()
    RunningSteps(lambda name: lambda: None).detach()


def test_a_function_that_is_not_there_leaves_nobody_listening() -> None:
    for _ in range(2):
        with pytest.raises(UsageError, match=r"the process has not loaded no\.such"):
            RunningSteps(lambda name: lambda: None, "no.such:step")
    RunningSteps(lambda name: lambda: None).detach()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks")
def test_a_forked_child_of_a_hunted_process_can_be_hunted_in() -> None:
    first = RunningSteps(lambda name: lambda: None)
    child = os.fork()
    if not child:
        try:
            RunningSteps(lambda name: lambda: None).detach()
        finally:
            os._exit(0 if sys.exc_info()[0] is None else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    first.detach()
