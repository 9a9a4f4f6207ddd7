"""Modules: parts of a model that own parameters and can be called."""

from gradlife.engine.nn.modules.container import ModuleList, Sequential
from gradlife.engine.nn.modules.layers import BatchNorm1d, NLLLoss, ReLU, Sigmoid, Tanh, Threshold
from gradlife.engine.nn.modules.linear import Identity, Linear
from gradlife.engine.nn.modules.module import Module
