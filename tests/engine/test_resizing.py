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


def grown(fw: Any) -> Any:
    """What was there is still there."""
    x = fw.tensor([1.0, 2.0, 3.0])[1:].resize_(4)
    return facts(x), x[:2].tolist()


def from_numpy(fw: Any) -> Any:
    return facts(fw.from_numpy(fw.ones(3).numpy()).resize_(9))


def after_numpy(fw: Any) -> Any:
    x = fw.ones(3)
    array = x.numpy()
    assert array[0] == 1
    return facts(x.resize_(9))


def in_inference(fw: Any) -> Any:
    with fw.inference_mode():
        x = fw.ones(3, requires_grad=True)
    return x.resize_(4)


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


CASES: dict[str, Call] = {
    "resize_ to the same": lambda fw: facts(fw.ones(2, 3).resize_(2, 3)),
    "resize_ keeps what is there": grown,
    "resize_ of a transposed": lambda fw: facts(fw.ones(2, 3).t().resize_(3, 4)),
    "resize_ to less": lambda fw: facts(fw.ones(2, 3).resize_(1)),
    "resize_ to nothing": lambda fw: (facts(fw.ones(2, 3).resize_((0, 2))), fw.ones(2).resize_(0).data_ptr()),
    "resize_ to a number": lambda fw: facts(fw.ones(2, 3).resize_(())),
    "resize_ by name": lambda fw: facts(fw.ones(2, 3).resize_(size=(7,))),
    "resize_ with a memory format": lambda fw: facts(fw.ones(2).resize_(3, memory_format=fw.contiguous_format)),
    "resize_ to no size": lambda fw: fw.ones(2).resize_(),
    "resize_ to less than nothing": lambda fw: fw.ones(2).resize_(-1),
    "resize_ to too much": lambda fw: fw.ones(2).resize_(2**40, 2**40),
    "resize_ to a float": lambda fw: fw.ones(2).resize_(2.5),
    "resize_ of a leaf": lambda fw: fw.ones(2, requires_grad=True).resize_(3),
    "resize_ of a result": lambda fw: (fw.ones(2, requires_grad=True) * 2).resize_(3),
    "resize_ of an array": from_numpy,
    "resize_ of what an array points to": after_numpy,
    "resize_ of inference data": in_inference,
    "resize_as_": lambda fw: facts(fw.ones(2, 3).resize_as_(fw.ones(3, 4).t())),
    "resize_as_ a leaf": lambda fw: facts(fw.resize_as_(fw.ones(2, 3), fw.ones(4, requires_grad=True))),
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
}
WINDOWS: dict[str, Callable[[Any], Any]] = {
    "transpose_": lambda t: t.transpose_(0, 1),
    "swapaxes_": lambda t: t.swapaxes_(0, 1),
    "swapdims_": lambda t: t.swapdims_(-1, 0),
    "t_": lambda t: t.t_(),
    "unsqueeze_": lambda t: t.unsqueeze_(1),
    "squeeze_": lambda t: t.squeeze_(),
    "squeeze_ one": lambda t: t.squeeze_(1),
    "squeeze_ two": lambda t: t.squeeze_((0, 1)),
    "as_strided_": lambda t: t.as_strided_((2,), (2,), 1),
    "as_strided_ out of bounds": lambda t: t.as_strided_((9,), (2,)),
    "transpose_ of no dimension": lambda t: t.transpose_(0, 5),
}


def told(fw: Any, call: Call) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call(fw)
        except (RuntimeError, TypeError, IndexError) as error:
            return type(error).__name__, str(error)


@pytest.mark.parametrize("name", CASES)
def test_sizes_and_memory_change_as_in_pytorch(name: str) -> None:
    assert told(mini, CASES[name]) == told(real, CASES[name])


def of_a_result(fw: Any, call: Any) -> Any:
    x = fw.arange(4.0).view(4, 1).requires_grad_()
    y = x * 3
    y.register_hook(lambda gradient: gradient * 2)
    call(y)
    gradient = fw.autograd.grad((y * y).sum(), x)[0]
    return history(y), gradient.tolist()


def of_a_view(fw: Any, call: Any) -> Any:
    x = fw.arange(4.0).view(4, 1).requires_grad_()
    base = x * 3
    view = base.view(4, 1)
    call(view)
    told = history(view), history(base)
    base.mul_(2)
    return told, history(view), fw.autograd.grad((view * view).sum(), x)[0].tolist()


def of_a_base(fw: Any, call: Any) -> Any:
    base = fw.arange(4.0).view(4, 1).requires_grad_() * 3
    view = base[1:]
    call(base)
    return history(base), history(view), view.tolist()


def of_a_leaf(fw: Any, call: Any) -> Any:
    return call(fw.ones(4, 1, requires_grad=True))


def of_plain_data(fw: Any, call: Any) -> Any:
    return history(call(fw.arange(4.0).view(4, 1)))


@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("what", [of_a_result, of_a_view, of_a_base, of_a_leaf, of_plain_data])
def test_another_window_in_place_has_the_history_it_has_in_pytorch(what: Any, name: str) -> None:
    ours, theirs = (told(fw, lambda fw: what(fw, WINDOWS[name])) for fw in (mini, real))
    assert ours == theirs


def test_a_storage_that_grew_counts_its_bytes() -> None:
    before = mini.live_bytes()
    x = mini.ones(2)
    assert mini.live_bytes() - before == 8
    x.resize_(10)
    assert mini.live_bytes() - before == 40
    del x
    assert mini.live_bytes() == before


def test_a_storage_says_whether_it_may_grow() -> None:
    for fw in (mini, real):
        x = fw.ones(2)
        assert x.untyped_storage().resizable()
        array = x.numpy()
        assert array.sum() == 2
        assert not x.untyped_storage().resizable()
