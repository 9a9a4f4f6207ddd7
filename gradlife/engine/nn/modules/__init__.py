"""Modules: parts of a model that own parameters and can be called."""

from gradlife.engine.nn.modules.container import ModuleList as ModuleList, Sequential as Sequential
from gradlife.engine.nn.modules.layers import (
    BatchNorm1d as BatchNorm1d,
    NLLLoss as NLLLoss,
    ReLU as ReLU,
    Sigmoid as Sigmoid,
    Tanh as Tanh,
    Threshold as Threshold,
)
from gradlife.engine.nn.modules.linear import Identity as Identity, Linear as Linear
from gradlife.engine.nn.modules.module import Module as Module
