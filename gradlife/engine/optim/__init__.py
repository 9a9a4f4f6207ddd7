"""Optimizers, which own the parameters' state between steps."""

from gradlife.engine.optim import optimizer
from gradlife.engine.optim.optimizer import Optimizer
from gradlife.engine.optim.sgd import SGD

__all__ = ["SGD", "Optimizer", "optimizer"]
