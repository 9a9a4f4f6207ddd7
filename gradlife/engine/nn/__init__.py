"""``torch.nn``, as far as the engine has it."""

from gradlife.engine.nn import functional, init, modules, parameter, utils
from gradlife.engine.nn.modules import *  # noqa: F403
from gradlife.engine.nn.modules import __all__ as _names
from gradlife.engine.nn.parameter import Buffer, Parameter

__all__ = ["Buffer", "Parameter", "functional", "init", "modules", "parameter", "utils", *_names]
