"""Steps that a CUDA graph replays: no optimizer and no backward pass runs in Python then.

A replay counts as what was captured: steps of optimizers, and a backward pass. A graph of inference has neither, and its
replays are no steps: a language model replays one per token, and its tokens accumulate by design.
"""

from __future__ import annotations

import functools
import gc
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gradlife.hunting.steps.backward_passes import BackwardSteps
from gradlife.hunting.steps.compiler import uncompiled
from gradlife.hunting.steps.count_step import Begin, CountStep
from gradlife.hunting.steps.optimizers import Known, OptimizerSteps
from gradlife.hunting.steps.replacement import replaced
from gradlife.safe_access import LibraryObject, member

#: The modules that define graphs, and the names of the classes.
MODULES, CLASSES = ("torch.cuda.graphs", "torch.xpu.graphs"), ("CUDAGraph", "XPUGraph")

#: Replays of graphs with unknown contents before they count as steps, if nothing better is found.
WARMUP_REPLAYS = 8


@dataclass
class Captured:
    """What a graph contains, by the numbers of steps and passes at the beginning of its capture."""

    steps_before: int
    passes_before: int
    has_pass: bool = False
    optimizers: list[Known] = field(default_factory=list)


class GraphReplays:
    """Listens to captures and replays, and has ``optimizers`` and ``passes`` count what is replayed.

    With ``begin``, replays of graphs that were captured earlier are steps of their own, if the process has an optimizer.
    """

    def __init__(self, optimizers: OptimizerSteps, passes: BackwardSteps, begin: Begin | None = None) -> None:
        self._optimizers = optimizers
        self._passes = passes
        self._begin = begin
        self._captured: weakref.WeakKeyDictionary[Any, Captured] = weakref.WeakKeyDictionary()
        self._step: CountStep | None = None
        self._unknown = 0  # replays of graphs with unknown contents
        self.is_wanted = begin is not None  # until better steps are found
        self._undo: list[Callable[[], object]] = []

    def attach(self, module: LibraryObject) -> None:
        """Wrap the methods of the module's class of graphs, if this torch has it."""
        for owner in (vars(module)[name] for name in CLASSES if name in vars(module)):
            self._wrap(owner, "capture_begin", before=self._begin_capture)
            self._wrap(owner, "capture_end", after=self._end_capture)
            self._wrap(owner, "replay", after=self._replayed)

    def detach(self) -> None:
        """Restore torch's own methods."""
        self.is_wanted = False
        undo, self._undo = self._undo, []
        for one in undo:
            one()

    def _wrap(
        self,
        owner: LibraryObject,
        name: str,
        before: Callable[[Any], None] = lambda graph: None,
        after: Callable[[Any], None] = lambda graph: None,
    ) -> None:
        plain = getattr(owner, name)

        @functools.wraps(plain)
        def call(graph: Any, *args: Any, **kwargs: Any) -> Any:
            before(graph)
            result = plain(graph, *args, **kwargs)
            after(graph)
            return result

        self._undo.append(replaced(owner, name, call))

    def _begin_capture(self, graph: Any) -> None:
        self._captured[graph] = Captured(self._optimizers.heard, self._passes.heard)

    def _end_capture(self, graph: Any) -> None:
        captured = self._captured.get(graph)
        if captured is not None:
            captured.optimizers = self._optimizers.captured_since(captured.steps_before, graph)
            captured.has_pass = self._passes.heard > captured.passes_before

    @uncompiled
    def _replayed(self, graph: Any) -> None:
        captured = self._captured.get(graph)
        if captured is None:
            self._count_unknown()
            return
        if captured.has_pass:
            self._passes.count_replayed()
        for known in captured.optimizers:
            self._optimizers.count_replayed(known)

    @property
    def heard(self) -> int:
        """Replays that are steps of their own, those of the warm-up too."""
        return self._unknown if self.is_wanted else 0

    def _count_unknown(self) -> None:
        self._unknown += 1
        if self._unknown == 1:
            self.is_wanted = self.is_wanted and has_optimizer()
        if not self.is_wanted or self._begin is None:
            return
        if self._step is not None:
            self._step()
        elif self._unknown > WARMUP_REPLAYS:
            self._step = self._begin("replay of a CUDA graph")


def has_optimizer() -> bool:
    """Whether the process has an optimizer of torch, and so is no server of a model."""
    kind = member("torch.optim.optimizer", "Optimizer")
    return kind is not None and any(issubclass(type(one), kind) for one in gc.get_objects())
