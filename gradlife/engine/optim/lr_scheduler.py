"""Schedules of learning rates."""

from __future__ import annotations

import functools
import types
import warnings
import weakref
from collections.abc import Callable
from typing import Any

from gradlife.engine.optim.optimizer import Optimizer

__all__ = ["LRScheduler", "LambdaLR", "StepLR"]


class LRScheduler:
    """Sets the learning rates of an optimizer's groups, one epoch after the other. Holds the optimizer."""

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with last_epoch >= 0. "
                    "This typically happens when: 1. You're trying to resume training from a checkpoint but haven't properly "
                    "loaded the optimizer state 2. You're using last_epoch >= 0 for a fresh training run (not recommended)"
                )
        self.optimizer = optimizer
        self.base_lrs: list[float] = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        _note_steps(optimizer)
        self._step_count = 0
        self._last_lr: list[float] = []
        self._advance()

    def get_lr(self) -> list[float]:
        """The learning rate of each group in this epoch."""
        raise NotImplementedError

    def get_last_lr(self) -> list[float]:
        """The learning rates that were set last."""
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """Goes on to the next epoch, or to ``epoch``."""
        if self._step_count == 1 and not getattr(self.optimizer, "_opt_called", False):
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should call "
                "them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will result in "
                "PyTorch skipping the first value of the learning rate schedule. See more details at "
                "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate",
                stacklevel=2,
            )
        self._advance(epoch)

    def _advance(self, epoch: int | None = None) -> None:
        self._step_count += 1
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        for group, rate in zip(self.optimizer.param_groups, self.get_lr(), strict=True):
            group["lr"] = rate
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer."""
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what `state_dict` gave."""
        self.__dict__.update(state_dict)


class StepLR(LRScheduler):
    """Multiplies the rates by ``gamma`` every ``step_size`` epochs."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        rates = [group["lr"] for group in self.optimizer.param_groups]
        if self.last_epoch == 0 or self.last_epoch % self.step_size != 0:
            return rates
        return [rate * self.gamma for rate in rates]


class LambdaLR(LRScheduler):
    """Multiplies the initial rates by a function of the epoch, one for all groups or one for each."""

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | list[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        groups = len(optimizer.param_groups)
        given = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * groups
        if len(given) != groups:
            raise ValueError(f"Expected {groups} lr_lambdas, but got {len(given)}")
        self.lr_lambdas: list[Any] = given
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        return [base * scale(self.last_epoch) for base, scale in zip(self.base_lrs, self.lr_lambdas, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer and the functions; of callable objects their attributes."""
        state = super().state_dict()
        own = [None if isinstance(item, types.FunctionType) else item.__dict__.copy() for item in self.lr_lambdas]
        return {**state, "lr_lambdas": own}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what `state_dict` gave; plain functions stay as they are."""
        lambdas = self.lr_lambdas
        super().load_state_dict(state_dict)
        saved, self.lr_lambdas = self.lr_lambdas, lambdas
        for item, attributes in zip(lambdas, saved, strict=True):
            if attributes is not None:
                item.__dict__.update(attributes)


def _note_steps(optimizer: Any) -> None:
    """Has the optimizer remember that it stepped. Its own ``step`` refers to it weakly: nothing is kept by this."""
    step = optimizer.step
    if hasattr(step, "_wrapped_by_lr_sched"):
        return
    function, reference = step.__func__, weakref.ref(optimizer)

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        alive: Any = reference()
        alive._opt_called = True
        return function(alive, *args, **kwargs)

    wrapper._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = wrapper
