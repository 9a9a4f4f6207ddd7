"""The steps of a script are those of one optimizer: of all that stay alive, the one that steps least often.

If it is gone or stops stepping, the next one takes its place and the hunt goes on: a program may make one for each
trial.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gradlife.hunting.steps.compiler import uncompiled, unless_whole
from gradlife.hunting.steps.count_step import Begin, CountStep
from gradlife.safe_access import LibraryObject, short_class_name

#: Steps after which an optimizer counts as lasting.
WARMUP_STEPS = 4

#: The same for a peak if the program has made only one optimizer: no rarer one can follow, and a program may take few steps.
WARMUP_STEPS_ALONE = 2

#: A program may make a new optimizer every few steps, so that none lasts. Once some are gone, and all that ever stepped
#: have together taken this many steps, even an optimizer that does not last is chosen.
BRIEF_STEPS = 2 * WARMUP_STEPS

#: Steps of the chosen optimizer during which a rarer one may still replace it.
DOUBT = 200

#: The length of an optimizer's pause is the number of steps that the others take meanwhile. The chosen optimizer is
#: finished if its present pause is longer than `QUIET`, and also longer than `QUIET_PAUSES` times its longest earlier
#: one: the program trains one model and then another.
QUIET = 40
QUIET_PAUSES = 4

#: If another optimizer began after the chosen one's last step, this many times its longest pause is enough.
SUCCESSION_PAUSES = 2


@dataclass
class Known:
    """One optimizer that has stepped."""

    key: int
    optimizer: weakref.ref[Any]
    name: str
    graphs: weakref.WeakSet[Any] = field(default_factory=weakref.WeakSet)  # CUDA graphs that replay its step
    steps: int = 0
    first: int = 0  # number of its first step among all steps
    chosen_steps_before: int = 0  # steps that the chosen optimizer had taken when this one first stepped
    last: int = 0  # number of its latest step among all steps
    longest_pause: int = 0  # between two of its steps, in steps of all optimizers

    @property
    def is_alive(self) -> bool:
        """Whether it may still step, if only in a graph that has outlived it."""
        return self.optimizer() is not None or len(self.graphs) > 0

    def add_step(self, now: int) -> None:
        """Count one more step; `now` is its number among the steps of all optimizers."""
        self.longest_pause = max(self.longest_pause, now - self.last) if self.steps else 0
        self.first = self.first or now
        self.steps += 1
        self.last = now

    def is_quiet(self, now: int) -> bool:
        """Whether it has stopped stepping."""
        return now - self.last > max(QUIET, QUIET_PAUSES * self.longest_pause)

    def is_followed_by(self, other: Known, now: int) -> bool:
        """Whether the other optimizer began after this one had ended."""
        is_later = other.first > self.last and other.steps >= WARMUP_STEPS
        return is_later and now - self.last > SUCCESSION_PAUSES * self.longest_pause


class OptimizerSteps:
    """Listens to every optimizer through torch's global hook, and counts the steps of the rarest lasting one."""

    def __init__(self, begin: Begin, go_on: Begin | None = None) -> None:
        self._begin = begin
        self._go_on = go_on or begin  # called in place of `begin` when another optimizer follows a finished one
        self._has_followed = False  # whether another followed a finished one; if so, a rarer one does not replace it
        self._all = 0
        self._has_lost = False  # whether an optimizer is gone
        self._step: CountStep | None = None
        self._known: dict[int, Known] = {}
        self._chosen = 0
        self._handle: Any = None
        self.least: Callable[[], int] = lambda: WARMUP_STEPS  # steps after which an optimizer counts as lasting
        self.on_step: Callable[[], object] = lambda: None  # called at each step of any optimizer
        self.on_other_step: Callable[[int], object] = id  # called with a key at steps that do not count

    def attach(self, optimizer_module: LibraryObject) -> None:
        """Register the hook, which torch has since 2.1."""
        self._handle = optimizer_module.register_optimizer_step_post_hook(unless_whole(self._fired))

    @property
    def heard(self) -> int:
        """Steps of all optimizers."""
        return self._all

    @property
    def chosen_steps(self) -> int:
        """Steps of the chosen optimizer, also those before it was chosen; 0 if none is."""
        return self._known[self._chosen].steps if self._chosen in self._known else 0

    def detach(self) -> None:
        """Remove the hook."""
        if self._handle is not None:
            self._handle.remove()
            self._handle = None

    @uncompiled
    def _fired(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self.on_step()
        key = id(optimizer)
        known = self._known.get(key)
        if known is None or known.optimizer() is not optimizer:
            known = self._add(key, optimizer)
        self._count(known)

    def captured_since(self, number: int, graph: Any) -> list[Known]:
        """Return the optimizers that have stepped after so many steps of all, and note that the graph replays them."""
        found = [known for known in self._known.values() if known.last > number]
        for known in found:
            known.graphs.add(graph)
        return found

    def count_replayed(self, known: Known) -> None:
        """Count a step that a graph has replayed."""
        self.on_step()
        self._count(known)

    def _count(self, known: Known) -> None:
        key = known.key
        self._all += 1
        known.add_step(self._all)
        if key == self._chosen and self._step is not None:
            self._step()
        else:
            self._consider(key, known)
            if self._step is not None and key != self._chosen:
                self.on_other_step(key)

    def _add(self, key: int, optimizer: Any) -> Known:
        before = self._known[self._chosen].steps if self._chosen in self._known else 0
        if key == self._chosen:  # the chosen one is gone, and another one has its ID
            self._chosen = 0
        self._forget_dead()
        self._known[key] = known = Known(
            key, weakref.ref(optimizer), short_class_name(optimizer), chosen_steps_before=before
        )
        return known

    def _consider(self, key: int, known: Known) -> None:
        """Decide whether an optimizer other than the chosen one takes its place."""
        chosen = self._known.get(self._chosen)
        if chosen is None or not chosen.is_alive or is_brief(chosen, known):
            self._replace_missing(key, known)
        elif chosen.is_quiet(self._all) or chosen.is_followed_by(known, self._all):
            if known.steps >= WARMUP_STEPS:
                self._follow(key, known)
        elif known.steps >= WARMUP_STEPS and not self._has_followed and self._is_rarer(chosen, known):
            self._chosen = key
            self._step = self._begin(f"{known.name}.step")

    def _replace_missing(self, key: int, known: Known) -> None:
        """Choose this optimizer if none is chosen, or the chosen one is gone or was brief."""
        if self._step is not None:
            self._follow(key, known)
        elif known.steps >= self.least() or (self._have_some_ended and self._all >= BRIEF_STEPS):
            self._chosen = key
            self._step = self._begin(f"{known.name}.step")

    @property
    def _have_some_ended(self) -> bool:
        """Whether an optimizer is gone, or has paused for so long that it may be garbage that waits for the collector."""
        return self._has_lost or any(self._all - one.last > 2 * WARMUP_STEPS for one in self._known.values())

    def _follow(self, key: int, known: Known) -> None:
        self._chosen, self._has_followed = key, True
        self._step = self._go_on(f"{known.name}.step")
        self._step()  # the step that was just taken

    def _is_rarer(self, chosen: Known, known: Known) -> bool:
        # `+ 1`: its first step is counted, but comes before all steps of the chosen one that are.
        return chosen.steps <= DOUBT and 2 * known.steps <= chosen_steps_since(chosen, known) + 1

    def _forget_dead(self) -> None:
        living = {key: known for key, known in self._known.items() if known.is_alive}
        self._has_lost |= len(living) < len(self._known)
        self._known = living


def is_brief(chosen: Known, other: Known) -> bool:
    """Whether the chosen optimizer stopped before it counted as lasting, and the other one began after that."""
    return chosen.steps < WARMUP_STEPS and other.first > chosen.last


def when_made(optimizer_module: LibraryObject, then: Callable[[], None]) -> None:
    """Call ``then`` when an optimizer is made: its steps, however rare, are those of the program; calls of functions are not."""
    optimizer = optimizer_module.Optimizer
    plain = optimizer.__init__

    @functools.wraps(plain)
    def __init__(made: Any, *args: Any, **kwargs: Any) -> None:
        then()
        plain(made, *args, **kwargs)

    optimizer.__init__ = __init__


def chosen_steps_since(chosen: Known, known: Known) -> int:
    """Return the steps that the chosen optimizer has taken since the other's first."""
    return chosen.steps - min(chosen.steps, known.chosen_steps_before)
