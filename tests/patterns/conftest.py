"""The traces of all cases, made once."""

from __future__ import annotations

import gc
import sys
import warnings
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import gradlife.heap
from gradlife.model.trace import Trace

Traces = dict[Callable[..., Any], Trace]


@pytest.fixture(scope="session")
def traces() -> Traces:
    """All cases are made, then looked at together: one walk of the heap for all."""
    from patterns.rare_cases import CASES  # which needs PyTorch

    module = ModuleType("leaks_made_for_tests")
    sys.modules[module.__name__] = module
    addresses = {}
    gc.disable()
    try:
        for function in dict.fromkeys(one for _, _, leak, alike in CASES for one in (leak, alike)):
            hold = SimpleNamespace()
            setattr(module, function.__name__, hold)
            with warnings.catch_warnings(action="ignore"):  # of backward(create_graph=True)
                addresses[function] = id(function(hold))
        snapshot = gradlife.heap.snapshot()
    finally:
        gc.enable()
        del sys.modules[module.__name__]
        module.__dict__.clear()
    return {function: snapshot.why(address) for function, address in addresses.items()}
