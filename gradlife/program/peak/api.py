"""`gradlife.peak(callable)`: the peak of a step function, in this process."""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Callable
from dataclasses import replace

from gradlife.errors import MissingDependencyError
from gradlife.hunting.process.import_watch import when_imported
from gradlife.hunting.process.start_folder import Start
from gradlife.hunting.steps.loop import loop_for
from gradlife.hunting.steps.targets import Stepper, stepper_of
from gradlife.model.peak.report import PeakReport
from gradlife.peaks.recording.torch import Contexts
from gradlife.peaks.session import WARMUP, PeakSession


def peak(step: Callable[..., object], *, warmup: int = WARMUP) -> PeakReport:
    """Call ``step`` a few times, with the step's number if it takes one, and report the peak of its memory.

    The first ``warmup`` calls run untouched. The next three are recorded and take two to three times as long as usual.
    At the peak the process is forked to read the holders, which takes about 0.5 s per million objects. Raises
    GradlifeError if the memory layout of this torch is unknown.
    """
    Start.note()
    return peak_of(stepper_of(step), getattr(step, "__qualname__", "a callable"), warmup)


def peak_of(stepper: Stepper, target: str, warmup: int = WARMUP) -> PeakReport:
    """Set up, step until the report is known, and clean up."""
    if importlib.util.find_spec("torch") is None:
        raise MissingDependencyError("torch", "torch")
    contexts = Contexts()
    when_imported("torch.optim.optimizer", contexts.attach)
    session = PeakSession(contexts, lambda report: None, warmup)
    name = getattr(stepper.step, "__qualname__", "it")
    session.about = replace(session.about, target=target, stepped_by=f"call of {name}")
    state = stepper.setup() if stepper.setup is not None else None
    try:
        loop_for(stepper)(state, stepper.step, itertools.count(), session.step)
    finally:
        session.close()
        contexts.detach()
        if stepper.teardown is not None:
            stepper.teardown(state)
    assert session.report is not None
    return session.report
