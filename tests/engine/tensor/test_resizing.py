"""Tensors that get another size, another memory or another window in place, against PyTorch."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import gradlife.engine as mini

real = pytest.importorskip("torch")
pytestmark = pytest.mark.torch
Call = Callable[[Any], Any]


def facts(x: Any) -> Any:
    return tuple(x.shape), x.stride(), x.storage_offset(), x.untyped_storage().nbytes(), x._version


def history(x: Any) -> Any:
    node = x.grad_fn
    names = None if node is None else (node.name(), [edge[0] and edge[0].name() for edge in node.next_functions])
    return facts(x), names, x.requires_grad, x._is_view()


def leaf_moved(fw: Any) -> Any:
    """Graphs from before know another leaf."""
    x = fw.rand(2, requires_grad=True)
    edge = fw.autograd.graph.get_gradient_edge(x)
    out = x.clone()
    with fw.no_grad():
        x.set_(fw.ones(2))
    assert fw.autograd.grad(out.sum(), edge, retain_graph=True)[0].tolist() == [1.0, 1.0]
    return fw.autograd.grad(out.sum(), x)


def moved(*arguments: Any, **named: Any) -> Call:
    """A tensor of one element on the memory of six."""

    def call(fw: Any) -> Any:
        source = fw.arange(6.0)
        given = [
            source.untyped_storage() if each == "storage" else source if each == "tensor" else each
            for each in arguments
        ]
        x = fw.ones(1).set_(*given, **named)
        shares = x.untyped_storage()._cdata == source.untyped_storage()._cdata
        return facts(x), shares, x.tolist()

    return call


def storage_resized(*sizes: Any) -> Call:
    """The sizes after each `resize_`; only elements inside the memory are read."""

    def call(fw: Any) -> Any:
        x = fw.ones(3)
        storage = x.untyped_storage()
        return [(storage.resize_(size) is storage, facts(x)) for size in sizes]

    return call


CASES: dict[str, Call] = {
    "set_ to nothing": lambda fw: facts(fw.ones(2).set_()),
    "set_ to a tensor": moved("tensor"),
    "set_ to a part of a tensor": moved("tensor", 1, (2, 2), (1, 1)),
    "set_ to a storage": moved("storage"),
    "set_ to a part of a storage": moved("storage", 1, (2, 2)),
    "set_ by name": moved("storage", storage_offset=2, size=(2,), stride=(1,)),
    "set_ with an offset alone": moved("storage", 1, (1,)),
    "set_ before the memory": moved("storage", -1, (2,)),
    "set_ with too few strides": moved("storage", 1, (2, 2), (1,)),
    "set_ with a negative stride": moved("storage", 0, (2,), (-1,)),
    "set_ with a negative size": moved("storage", 0, (-2,)),
    "set_ beyond the memory": lambda fw: facts(fw.ones(1).set_(fw.ones(3).untyped_storage(), 1, (2, 2))),
    "set_ to another dtype": lambda fw: fw.ones(2).set_(fw.ones(2, dtype=fw.float64)),
    "set_ to a storage of another dtype": lambda fw: fw.ones(2).set_(fw.ones(2).double().storage()),
    "set_ to a typed storage": lambda fw: fw.ones(2).set_(fw.arange(3.0).storage()).tolist(),
    "set_ of a leaf": lambda fw: fw.ones(2, requires_grad=True).set_(fw.ones(3)),
    "set_ of a result": lambda fw: (fw.ones(2, requires_grad=True) * 2).set_(fw.ones(3)).requires_grad,
    "set_ of a view": lambda fw: history(fw.ones(4)[1:].set_(fw.zeros(2))),
    "set_ of a leaf unrecorded": leaf_moved,
    "storage made larger": storage_resized(24),
    "storage made smaller": storage_resized(4),
    "storage emptied": storage_resized(0),
    "storage emptied and brought back": storage_resized(0, 12),
    "storage resized to no number": storage_resized("much"),
    "storage resized past 64 bits": storage_resized(2**70),
    "storage of numpy resized": lambda fw: (lambda x: (x.numpy(), x.untyped_storage().resize_(40)))(fw.ones(2)),
}


def outcome(fw: Any, call: Call) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call(fw)
        except (RuntimeError, TypeError, IndexError, ValueError) as error:
            return type(error).__name__, str(error)


@pytest.mark.faithful
@pytest.mark.parametrize("name", CASES)
def test_sizes_and_memory_change_as_in_pytorch(name: str) -> None:
    assert outcome(mini, CASES[name]) == outcome(real, CASES[name])


def test_a_storage_brought_back_shows_what_it_held() -> None:
    x = mini.ones(3)
    storage = x.untyped_storage()
    storage.resize_(0)
    assert (storage.nbytes(), x.sum().item()) == (0, 3.0)  # memory that PyTorch frees, and reads
    storage.resize_(12)
    assert x.tolist() == [1.0, 1.0, 1.0]


def test_a_storage_says_whether_it_may_grow() -> None:
    for fw in (mini, real):
        x = fw.ones(2)
        assert x.untyped_storage().resizable()
        array = x.numpy()
        assert array.sum() == 2
        assert not x.untyped_storage().resizable()
