"""Recordings beside dispatch modes of the program, and of programs whose steps run in other threads."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import Any

import pytest

from gradlife.hunting.process.forked import in_fork
from gradlife.peaks.recording.torch import Contexts, Recorder
from gradlife.peaks.session import MAX_FOREIGN, PeakSession
from gradlife.program.hunt.running import Terms
from gradlife.program.peak import running
from gradlife.program.peak.running import RunningPeak
from peak_recordings import names

torch = pytest.importorskip("torch")
dispatch = pytest.importorskip("torch.utils._python_dispatch")
pytestmark = [pytest.mark.torch, pytest.mark.whole]


class Counting(dispatch.TorchDispatchMode):  # type: ignore[misc, name-defined]
    """Counts the operations that run under it, and how often it is entered."""

    def __init__(self) -> None:
        super().__init__()
        self.operations = self.entered = 0

    def __enter__(self) -> Any:
        self.entered += 1
        return super().__enter__()

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.operations += 1
        return function(*args, **(kwargs or {}))


def modes() -> list[Any]:
    """The dispatch modes of this thread."""
    return list(dispatch._get_current_dispatch_mode_stack())


def test_a_mode_around_each_step_stays_the_programs() -> None:
    recorder, counting = Recorder(Contexts(), lambda: None), Counting()
    for number in range(4):
        with counting:
            torch.ones(3)
            [recorder.start, recorder.mark_step, recorder.mark_step, recorder.stop][number]()
        torch.zeros(3)
    assert modes() == []
    assert (counting.operations, counting.entered) == (4, 4)
    assert dispatch.is_in_torch_dispatch_mode() is False


def test_operations_under_a_mode_are_recorded() -> None:
    recorder, counting = Recorder(Contexts(), lambda: None), Counting()
    with counting:
        recorder.start()
        torch.ones(3)
    torch.zeros(3)
    with counting:
        torch.ones(4)
        found = recorder.stop()
        assert modes() == [counting]
    assert names(found) == ["ones", "zeros", "ones"]
    assert (modes(), counting.operations) == ([], 2)


class Worker:
    """A thread that runs what it gets."""

    def __init__(self) -> None:
        self._work = SimpleQueue[Callable[[], object] | None]()
        self._answers = SimpleQueue[Any]()
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            self._answers.put(work())

    def __call__(self, work: Callable[[], object]) -> Any:
        self._work.put(work)
        return self._answers.get()

    def end(self) -> None:
        self._work.put(None)
        self.thread.join()


@pytest.fixture
def worker() -> Iterator[Worker]:
    found = Worker()
    yield found
    found.end()


def hooks() -> int:
    """The hooks on all modules."""
    module = torch.nn.modules.module
    return len(module._global_forward_pre_hooks) + len(module._global_forward_hooks)


def test_another_thread_ends_a_recording(worker: Worker) -> None:
    recorder, net = Recorder(Contexts(), lambda: None), torch.nn.ReLU()
    worker(recorder.start)
    worker(lambda: torch.ones(3))
    found = recorder.stop()
    assert (names(found), recorder.is_on, modes()) == (["ones"], False, [])
    assert worker(lambda: torch.ones(3).sum().item()) == 3  # the mode is still there, and passes on
    assert hooks() == 1
    net(torch.ones(3))
    assert (hooks(), len(worker(modes))) == (1, 1)
    worker(lambda: net(torch.ones(3)))
    assert (hooks(), worker(modes)) == (0, [])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_that_the_program_forks_is_not_recorded() -> None:
    """A worker of a DataLoader kept the mode, and recorded its operations until it ended."""
    recorder, found = Recorder(Contexts(), lambda: None), list[Any]()
    recorder.start()
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        os.write(writing, repr((modes(), recorder.is_on, hooks())).encode())
        os._exit(0)
    os.waitpid(child, 0)
    found.append(os.read(reading, 100).decode())
    found.append(in_fork(lambda: names(recorder.so_far())))  # a copy of gradlife's own reads the recording
    torch.ones(3)
    for end in (reading, writing):
        os.close(end)
    assert (found, names(recorder.stop())) == ([repr(([], False, 0)), []], ["ones"])


def test_the_hook_of_a_thread_that_is_gone_goes_with_the_next_module() -> None:
    recorder, worker = Recorder(Contexts(), lambda: None), Worker()
    worker(recorder.start)
    worker.end()
    recorder.stop()
    assert hooks() == 1
    torch.nn.ReLU()(torch.ones(3))
    assert hooks() == 0


def test_a_recording_ends_while_an_operation_runs(worker: Worker) -> None:
    recorder = Recorder(Contexts(), lambda: None)
    worker(recorder.start)

    library = torch.library.Library("gradlife_tests", "DEF")
    library.define("stops(Tensor x) -> Tensor")
    stopped = threading.Thread(target=recorder.stop)

    def stops(x: Any) -> Any:
        stopped.start()
        stopped.join()
        return x * 2

    library.impl("stops", stops, "CPU")
    assert worker(lambda: torch.ops.gradlife_tests.stops(torch.ones(3)).sum().item()) == 6
    worker(lambda: torch.nn.ReLU()(torch.ones(3)))
    assert (recorder.is_on, worker(modes)) == (False, [])


def test_steps_of_other_threads_are_not_those_of_the_recording(worker: Worker) -> None:
    session = PeakSession(Contexts(), lambda report: None, warmup=1)

    def step() -> bool:
        torch.ones(3).sum()
        return session.step()

    assert [step(), worker(step)] == [False, False]
    for _ in range(3):
        step()
    assert session.report is not None
    assert session.report.steps == 3


def test_a_recording_begins_anew_in_the_thread_that_takes_the_steps(worker: Worker) -> None:
    session = PeakSession(Contexts(), lambda report: None, warmup=1)

    def step() -> bool:
        torch.ones(3).sum()
        return session.step()

    step()
    taken = 0
    while not worker(step):
        taken += 1
    torch.nn.ReLU()(torch.ones(3))
    assert (taken, modes(), worker(modes)) == (MAX_FOREIGN + 4, [], [])


def test_a_recording_without_further_steps_is_ended_all_the_same(
    monkeypatch: pytest.MonkeyPatch, worker: Worker
) -> None:
    monkeypatch.setattr(running, "PATIENCE", 0.0)
    peak = RunningPeak("a trainer", Terms(seconds=0.0))
    count = peak._begin("step")
    for _ in range(3):
        worker(count)
    peak._leave()
    worker(lambda: torch.nn.ReLU()(torch.ones(3)))
    assert (worker(modes), hooks()) == ([], 0)
