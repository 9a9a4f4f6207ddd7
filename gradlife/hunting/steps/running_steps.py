"""Steps of a program that is already running, found by listeners in its modules that are removed afterwards."""

from __future__ import annotations

import sys
from collections.abc import Callable

from gradlife.errors import UsageError
from gradlife.hunting.steps.backward_passes import BackwardSteps
from gradlife.hunting.steps.batches import BatchSteps
from gradlife.hunting.steps.compiler import keep_compiler_out
from gradlife.hunting.steps.count_step import Begin, CountStep
from gradlife.hunting.steps.function_calls import CallSteps
from gradlife.hunting.steps.graph_replays import MODULES, GraphReplays
from gradlife.hunting.steps.optimizers import OptimizerSteps
from gradlife.hunting.steps.replacement import take_turn
from gradlife.hunting.steps.targets import UnknownFunction
from gradlife.safe_access import is_initializing, loaded

TorchListener = OptimizerSteps | BatchSteps | BackwardSteps | GraphReplays
Listener = TorchListener | CallSteps


class RunningSteps:
    """Counts optimizer steps, else batches, else backward passes, else replays of CUDA graphs; or calls of a function.

    ``begin`` is called with the name of a step each time a better one is found, and returns what to call at each step.
    Raises UsageError if the function's module is not loaded, unless it ``waits`` for it; and if another one listens in
    this process. Unless it ``counts_replays``, what CUDA graphs replay is no step.
    """

    def __init__(self, begin: Begin, step_on: str = "", waits: bool = False, *, counts_replays: bool = True) -> None:
        self._begin = begin
        self._counts_replays = counts_replays
        self._waits = waits
        self._undo: list[Callable[[], object]] = []
        self._unheard: list[tuple[str, Listener]] = []  # for modules that are not loaded yet
        self._torch: list[TorchListener] = []
        self._end_turn: Callable[[], object] = take_turn()
        try:
            if step_on:
                self._hear_calls(step_on)
            else:
                self._hear_torch()
            self.hear_loaded()
        except BaseException:
            self.detach()
            raise

    def _hear_calls(self, step_on: str) -> None:
        calls = CallSteps(step_on, self._begin)
        if calls.module not in sys.modules and not self._waits:
            raise UsageError(f"the process has not loaded {calls.module}", "--step-on module:function")
        self._unheard.append((calls.module, calls))

    def _hear_torch(self) -> None:
        keep_compiler_out()

        def begin_by_passes(stepped_by: str) -> CountStep:
            replays.is_wanted = False
            return self._begin(stepped_by)

        def begin_by_batches(stepped_by: str) -> CountStep:
            passes.is_wanted = False
            return begin_by_passes(stepped_by)

        def begin_by_optimizer(stepped_by: str) -> CountStep:
            batches.is_wanted = False
            return begin_by_batches(stepped_by)

        passes, batches = BackwardSteps(begin_by_passes), BatchSteps(begin_by_batches)
        optimizers = OptimizerSteps(begin_by_optimizer)
        replays = GraphReplays(optimizers, passes, self._begin)
        self._torch = [optimizers, batches, passes, replays]
        places = ("torch.optim.optimizer", "torch.utils.data.dataloader", "torch.autograd")
        self._unheard += zip(places, self._torch[:3], strict=True)
        if self._counts_replays:
            self._unheard += [(name, replays) for name in MODULES]

    def hear_loaded(self) -> None:
        """Attach listeners to the modules that the program has loaded by now."""
        for name, listener in [*self._unheard]:
            module = loaded(name)
            if module is None or is_initializing(module):
                continue
            try:
                listener.attach(module)
            except UnknownFunction:
                if not self._waits:
                    raise
                continue  # a program that has just started may still define it
            self._unheard.remove((name, listener))
            self._undo.append(listener.detach)

    @property
    def is_silent(self) -> bool:
        """Whether none of the listeners in torch has heard anything."""
        return bool(self._torch) and not any(one.heard for one in self._torch)

    def detach(self) -> None:
        """Remove all listeners."""
        undo, self._undo = self._undo, []
        for one in undo:
            one()
        self._end_turn()
        self._end_turn = bool
