"""The supported part of ``torch.nn``."""

from gradlife.engine.nn import functional, init, modules, parallel, parameter
from gradlife.engine.nn.modules import (
    BatchNorm1d,
    Identity,
    Linear,
    Module,
    ModuleList,
    NLLLoss,
    ReLU,
    Sequential,
    Sigmoid,
    Tanh,
    Threshold,
)
from gradlife.engine.nn.parallel import DataParallel
from gradlife.engine.nn.parameter import Buffer, Parameter
