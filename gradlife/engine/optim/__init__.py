"""Optimizers: they hold the parameters, what they remember of each, and change them step by step."""

from gradlife.engine.optim import lr_scheduler, optimizer
from gradlife.engine.optim.adam import Adam, AdamW
from gradlife.engine.optim.optimizer import Optimizer
from gradlife.engine.optim.sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "Optimizer", "lr_scheduler", "optimizer"]
