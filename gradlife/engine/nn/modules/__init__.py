"""Modules: pieces of a model that hold parameters and can be called."""

from gradlife.engine.nn.modules.linear import Identity, Linear
from gradlife.engine.nn.modules.module import Module

__all__ = ["Identity", "Linear", "Module"]
