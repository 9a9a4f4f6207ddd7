"""Programs that hunts once judged wrongly, each with the right verdict, severity or holder."""

from __future__ import annotations

import threading
from collections import OrderedDict
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch")

import torch

from gradlife.hunting.steps.schedule import schedule_for
from gradlife.model.hunt import FindingKind, HuntVerdict, Severity
from script_hunts import Count, hunted, repeated

pytestmark = pytest.mark.whole

STEPS = 40


class Engine:
    """Trains as an event-driven framework does: its state has the batch and the output of the step under way."""

    def __init__(self) -> None:
        self.model = torch.nn.Linear(8, 1)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.state = SimpleNamespace(batch=None, output=None)

    def run(self, count: Count) -> None:
        """Take all steps."""
        for _ in range(STEPS):
            self.state.batch = {"image": torch.randn(4, 8), "label": torch.randn(4, 1)}
            self.state.output = self._iteration(self.state.batch, count)

    def _iteration(self, batchdata: dict[str, torch.Tensor], count: Count) -> dict[str, Any]:
        inputs, targets = batchdata["image"], batchdata["label"]
        output: dict[str, Any] = {"image": inputs, "label": targets}
        output["pred"] = self.model(inputs)
        output["loss"] = (output["pred"] - targets).square().mean()
        self.optimizer.zero_grad()
        output["loss"].backward()
        self.optimizer.step()
        count()
        return output


def test_the_batch_of_the_current_step_does_not_grow() -> None:
    report = hunted(schedule_for(STEPS, is_endless=False), Engine().run)
    assert [one.kind for one in report.findings if one.kind is not FindingKind.RETAINED] == []
    assert report.verdict is HuntVerdict.CLEAN


def test_finished_threads_in_a_list_are_minor() -> None:
    threads: list[threading.Thread] = []

    def step() -> None:
        threads.append(threading.Thread(target=int))
        threads[-1].start()
        threads[-1].join()

    report = hunted(schedule_for(STEPS, is_endless=False), repeated(step, STEPS))
    assert (report.verdict, report.exit_status) == (HuntVerdict.LEAK, 0)
    assert {one.severity for one in report.findings} == {Severity.MINOR}


class Output(OrderedDict[str, torch.Tensor]):
    """What a model of a library gives: a dict whose items are attributes, too."""

    def __init__(self, **tensors: torch.Tensor) -> None:
        super().__init__(tensors)
        self.__dict__.update(tensors)


class Callback:
    """Keeps what the model gives."""

    def __init__(self) -> None:
        self.history: list[Output] = []

    def on_step(self) -> None:
        """Keep one more."""
        logits = torch.randn(4, 2, requires_grad=True) * 2
        self.history.append(Output(loss=logits.sum(), logits=logits))


def test_outputs_are_stored_in_the_list_that_grows_and_not_in_the_output_itself() -> None:
    callback = Callback()
    report = hunted(schedule_for(STEPS, is_endless=False), repeated(callback.on_step, STEPS))
    assert (report.verdict, len(report.findings)) == (HuntVerdict.LEAK, 1)
    [found] = report.findings
    assert found.grows_at is not None
    assert found.trace.steps[found.grows_at].object == "list"
    assert found.trace.steps[found.grows_at - 1].via == ".history"
