"""Modules: pieces of a model that hold parameters and can be called."""

from gradlife.engine.nn.modules.activation import (
    ELU,
    GELU,
    Hardtanh,
    LeakyReLU,
    LogSigmoid,
    LogSoftmax,
    ReLU,
    ReLU6,
    Sigmoid,
    SiLU,
    Softmax,
    Softplus,
    Tanh,
    Threshold,
)
from gradlife.engine.nn.modules.container import ModuleDict, ModuleList, Sequential
from gradlife.engine.nn.modules.layers import Dropout, Embedding, Flatten, LayerNorm
from gradlife.engine.nn.modules.linear import Identity, Linear
from gradlife.engine.nn.modules.loss import (
    BCELoss,
    BCEWithLogitsLoss,
    CrossEntropyLoss,
    L1Loss,
    MSELoss,
    NLLLoss,
    SmoothL1Loss,
)
from gradlife.engine.nn.modules.module import Module
from gradlife.engine.nn.modules.normalisation import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
)
from gradlife.engine.nn.modules.parameter_container import ParameterDict, ParameterList

__all__ = [
    "ELU",
    "GELU",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "ReLU",
    "ReLU6",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "Tanh",
    "Threshold",
    "ModuleDict",
    "ModuleList",
    "Sequential",
    "Dropout",
    "Embedding",
    "Flatten",
    "LayerNorm",
    "Identity",
    "Linear",
    "BCELoss",
    "BCEWithLogitsLoss",
    "CrossEntropyLoss",
    "L1Loss",
    "MSELoss",
    "NLLLoss",
    "SmoothL1Loss",
    "Module",
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "ParameterDict",
    "ParameterList",
]
