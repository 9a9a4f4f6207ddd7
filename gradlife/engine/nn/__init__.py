"""The supported part of ``torch.nn``."""

from gradlife.engine.nn import (
    functional as functional,
    init as init,
    modules as modules,
    parallel as parallel,
    parameter as parameter,
)
from gradlife.engine.nn.modules import (
    BatchNorm1d as BatchNorm1d,
    Identity as Identity,
    Linear as Linear,
    Module as Module,
    ModuleList as ModuleList,
    NLLLoss as NLLLoss,
    ReLU as ReLU,
    Sequential as Sequential,
    Sigmoid as Sigmoid,
    Tanh as Tanh,
    Threshold as Threshold,
)
from gradlife.engine.nn.parallel import DataParallel as DataParallel
from gradlife.engine.nn.parameter import Buffer as Buffer, Parameter as Parameter
