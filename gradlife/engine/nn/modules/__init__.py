"""Modules: pieces of a model that hold parameters and can be called."""

from gradlife.engine.nn.modules.activation import ReLU, Sigmoid, Tanh
from gradlife.engine.nn.modules.container import ModuleDict, ModuleList, Sequential
from gradlife.engine.nn.modules.linear import Identity, Linear
from gradlife.engine.nn.modules.module import Module
from gradlife.engine.nn.modules.parameter_container import ParameterDict, ParameterList

__all__ = [
    "Identity",
    "Linear",
    "Module",
    "ModuleDict",
    "ModuleList",
    "ParameterDict",
    "ParameterList",
    "ReLU",
    "Sequential",
    "Sigmoid",
    "Tanh",
]
