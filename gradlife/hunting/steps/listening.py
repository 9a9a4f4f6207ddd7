"""Finds the steps of a program by listening to torch, where the user names none."""

from __future__ import annotations

from collections.abc import Callable

from gradlife.hunting.process.import_watch import when_imported
from gradlife.hunting.steps.backward_passes import WARMUP_PASSES, BackwardSteps
from gradlife.hunting.steps.batches import BatchSteps
from gradlife.hunting.steps.count_step import Begin
from gradlife.hunting.steps.optimizers import OptimizerSteps, when_made
from gradlife.hunting.steps.sampling import Sampling


def hear_torch(
    begin: Begin, go_on: Begin, sampling: Sampling | None = None, warmup_passes: int = WARMUP_PASSES
) -> None:
    """Count optimizer steps; until an optimizer proves lasting, batches; without batches, backward passes.

    `begin` is called with the name of a step each time a better one is found, and returns what to call at each step.
    Until then, steps found by ``sampling`` count. The first ``warmup_passes`` backward passes are no steps.
    """
    sampled = sampling or Sampling()

    def begin_by_passes(stepped_by: str) -> Callable[[], object]:
        sampled.stop()
        return begin(stepped_by)

    def begin_by_batches(stepped_by: str) -> Callable[[], object]:
        passes.is_wanted = False
        return begin_by_passes(stepped_by)

    def begin_by_optimizer(stepped_by: str) -> Callable[[], object]:
        batches.is_wanted = passes.is_wanted = False
        return begin_by_passes(stepped_by)

    def expect_steps() -> None:
        passes.is_wanted = False
        sampled.pause()

    passes = BackwardSteps(begin_by_passes, warmup_passes)
    batches = BatchSteps(begin_by_batches)
    optimizers = OptimizerSteps(begin_by_optimizer, go_on)
    when_imported("torch.optim.optimizer", optimizers.attach)
    when_imported("torch.optim", lambda module: when_made(module, expect_steps))
    when_imported("torch.utils.data.dataloader", batches.attach)
    when_imported("torch.autograd", passes.attach)
