"""Finds the steps of a program by listening to torch, where the user names none."""

from __future__ import annotations

from collections.abc import Callable

from gradlife.hunting.process.import_watch import when_imported
from gradlife.hunting.steps.backward_passes import WARMUP_PASSES, BackwardSteps
from gradlife.hunting.steps.batches import BatchSteps
from gradlife.hunting.steps.compiler import keep_compiler_out
from gradlife.hunting.steps.count_step import Begin, CountStep
from gradlife.hunting.steps.graph_replays import MODULES, GraphReplays
from gradlife.hunting.steps.optimizers import WARMUP_STEPS, WARMUP_STEPS_ALONE, OptimizerSteps, when_made
from gradlife.hunting.steps.sampling import Sampling

#: Batches or passes for each step of an optimizer that stay the steps of a hunt with an answer: its steps would be few.
MANY = 8

#: Batches or passes without a step of an optimizer after which they count: where nothing else does or the hunt has an
#: answer, and where the optimizer's steps have not given one yet. A phase that steps none comes after the training, or
#: is one long step of many closures. It must be this many times the longest such pause that an optimizer has ended.
QUIET, QUIET_WITHOUT_ANSWER, QUIET_PAUSES = 200, 1000, 4


def nothing_to_count() -> None:
    """Count no step."""


class Pause:
    """How many batches, or passes, there were since an optimizer's last step, and between any two of its steps."""

    def __init__(self) -> None:
        self.first: int | None = None  # heard before the first step of an optimizer
        self._last = 0
        self._longest = 0

    def end(self, heard: int) -> None:
        """An optimizer steps."""
        if self.first is None:
            self.first = heard
        else:
            self._longest = max(self._longest, heard - self._last)
        self._last = heard

    def is_longer_than(self, least: int, heard: int) -> bool:
        """Whether the present pause is longer than this, and far longer than each before."""
        return heard - self._last > max(least, QUIET_PAUSES * self._longest)


class TorchSteps:
    """Counts optimizer steps; until an optimizer proves lasting, batches; without batches, backward passes.

    `begin` is called with the name of a step each time a better one is found, and returns what to call at each step.
    Until then, steps found by ``sampling`` count.
    """

    def __init__(
        self, begin: Begin, go_on: Begin, sampling: Sampling, warmup_passes: int, has_answer: Callable[[], bool]
    ) -> None:
        self._begin = begin
        self._go_on = go_on
        self._sampling = sampling
        self._has_answer = has_answer  # whether the steps so far have given an answer
        self._by_optimizer: CountStep | None = None  # what counts the steps of optimizers, if they are the steps
        self.passes = BackwardSteps(self._begin_by_passes, warmup_passes)
        self.batches = BatchSteps(self._begin_by_batches)
        self.optimizers = OptimizerSteps(self._begin_by_optimizer, self._go_on_by_optimizer)
        self.optimizers.on_step = self._optimizer_stepped
        self._made = 0  # optimizers
        self.replays = GraphReplays(self.optimizers, self.passes)
        self.begin_rarer = begin  # called in place of `begin` if the steps so far go on, and these come less often
        self.on_training: Callable[[], object] = nothing_to_count  # called at each backward pass and optimizer step
        self.passes.on_pass = lambda: self.on_training()
        self.pauses: dict[BatchSteps | BackwardSteps, Pause] = {self.passes: Pause(), self.batches: Pause()}

    def attach(self) -> None:
        """Listen to each module of torch as soon as it is imported."""
        keep_compiler_out()
        when_imported("torch.optim.optimizer", self.optimizers.attach)
        when_imported("torch.optim", lambda module: when_made(module, self._expect_steps))
        when_imported("torch.utils.data.dataloader", self.batches.attach)
        when_imported("torch.autograd", self.passes.attach)

    def count_replays(self) -> None:
        """Count what CUDA graphs replay, too."""
        for name in MODULES:
            when_imported(name, self.replays.attach)

    def trust_only_optimizer(self) -> None:
        """Count the steps of an optimizer early if the program has made no other."""
        self.optimizers.least = lambda: WARMUP_STEPS_ALONE if self._made == 1 else WARMUP_STEPS

    @property
    def taken(self) -> int:
        """Steps of the kind that counts, also those before it was known to count."""
        others = self.batches.heard if self.batches.is_wanted and self.batches.heard else self.passes.heard
        return self.optimizers.chosen_steps or others

    def count_others_in_pauses(self) -> None:
        """Count batches or passes where optimizers are silent for long."""
        self.passes.resumes = lambda: self._resume(self.passes)
        self.batches.resumes = lambda: self._resume(self.batches)

    def _begin_by_passes(self, stepped_by: str) -> CountStep:
        self._sampling.stop()
        return (self._begin if self._by_optimizer is None else self._go_on)(stepped_by)

    def _begin_by_batches(self, stepped_by: str) -> CountStep:
        self.passes.is_wanted = False
        return self._begin_by_passes(stepped_by)

    def _begin_by_optimizer(self, stepped_by: str) -> CountStep:
        if self._has_answer():
            if self._by_optimizer is not None:  # a rarer optimizer goes on with the hunt
                return self._by_optimizer
            if self._others_are_many:
                return nothing_to_count
        is_rarer = self._by_optimizer is not None or self._others_are_many
        self.batches.is_wanted = self.passes.is_wanted = False
        self._sampling.stop()
        self._by_optimizer = (self.begin_rarer if is_rarer else self._begin)(stepped_by)
        return self._by_optimizer

    def _go_on_by_optimizer(self, stepped_by: str) -> CountStep:
        return nothing_to_count if self._by_optimizer is None else self._go_on(stepped_by)

    @property
    def _others_are_many(self) -> bool:
        """Whether an optimizer, as in gradient accumulation, steps once in many of the steps counted so far."""
        others = self.batches if self.batches.is_wanted and self.batches.heard else self.passes
        return others.heard - (self.pauses[others].first or 0) >= MANY * self.optimizers.heard

    def _optimizer_stepped(self) -> None:
        self.on_training()
        for others, pause in self.pauses.items():
            pause.end(others.heard)
            if self._by_optimizer is not None:
                others.is_wanted = False

    def _resume(self, others: BatchSteps | BackwardSteps) -> bool:
        """Count batches or passes again if no optimizer has stepped for long, unless the others count."""
        if others is self.passes and self.batches.is_wanted and self.batches.heard:
            return False
        is_known = self._by_optimizer is not None and not self._has_answer()
        if not self.pauses[others].is_longer_than(QUIET_WITHOUT_ANSWER if is_known else QUIET, others.heard):
            return False
        others.forget()
        return True

    def _expect_steps(self) -> None:
        self._made += 1
        self.passes.is_wanted = False
        self._sampling.pause()


def hear_torch(
    begin: Begin,
    go_on: Begin,
    sampling: Sampling | None = None,
    warmup_passes: int = WARMUP_PASSES,
    has_answer: Callable[[], bool] = lambda: False,
    *,
    begin_rarer: Begin | None = None,
    is_alone: bool = False,
    counts_replays: bool = True,
    on_training: Callable[[], object] = nothing_to_count,
    on_other_step: Callable[[int], object] = lambda key: None,
    trusts_only_optimizer: bool = False,
) -> TorchSteps:
    """Count the steps of a program that uses torch. The first ``warmup_passes`` backward passes are no steps.

    An optimizer's steps replace others also if those ``has_answer``, because they may have come before the training.
    ``begin_rarer`` is called in place of ``begin`` if the steps so far go on and these come less often.
    A process that ``is_alone``, and no rank, also counts batches or passes where optimizers are silent for long: ranks must
    take the same steps, and one of them may evaluate for all. ``on_training`` is called at each backward pass and each step
    of any optimizer, ``on_other_step`` at the steps of optimizers that do not count, with a key of the optimizer.
    With ``counts_replays`` a replay of a CUDA graph counts as the steps and the passes in it. With ``trusts_only_optimizer``
    the steps of a program's only optimizer count after two of them. Returns what listens.
    """
    steps = TorchSteps(begin, go_on, sampling or Sampling(), warmup_passes, has_answer)
    steps.on_training = on_training
    steps.optimizers.on_other_step = on_other_step
    steps.begin_rarer = begin_rarer or begin
    if is_alone:
        steps.count_others_in_pauses()
    if counts_replays:
        steps.count_replays()
    if trusts_only_optimizer:
        steps.trust_only_optimizer()
    steps.attach()
    return steps
