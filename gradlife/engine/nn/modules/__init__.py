"""Modules: pieces of a model that hold parameters and can be called."""

from gradlife.engine.nn.modules import activation, container, layers, linear, loss, parameter_container
from gradlife.engine.nn.modules.activation import *  # noqa: F403
from gradlife.engine.nn.modules.container import *  # noqa: F403
from gradlife.engine.nn.modules.layers import *  # noqa: F403
from gradlife.engine.nn.modules.linear import *  # noqa: F403
from gradlife.engine.nn.modules.loss import *  # noqa: F403
from gradlife.engine.nn.modules.module import Module
from gradlife.engine.nn.modules.parameter_container import *  # noqa: F403

__all__ = [
    "Module",
    *activation.__all__,
    *container.__all__,
    *layers.__all__,
    *linear.__all__,
    *loss.__all__,
    *parameter_container.__all__,
]
