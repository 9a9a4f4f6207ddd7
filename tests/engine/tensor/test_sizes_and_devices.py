"""Small things of tensors, sizes, devices and storages, against PyTorch."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from operator import add
from typing import Any

import pytest

import gradlife.engine as mini

real = pytest.importorskip("torch")
pytestmark = pytest.mark.torch
Call = Callable[[Any], Any]


def outcome(fw: Any, call: Call) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call(fw)
        except (RuntimeError, TypeError, ValueError) as error:
            return type(error).__name__, str(error)


CALLS: dict[str, Call] = {
    "type": lambda fw: fw.ones(1).type(),
    "type by dtype": lambda fw: str(fw.ones(1).type(fw.float64).dtype),
    "Size of floats": lambda fw: fw.Size([1.5]),
    "Size of a tensor of floats": lambda fw: fw.Size(fw.ones(3)),
    "Size of a text": lambda fw: fw.Size("ab"),
    "Size, cut and joined": lambda fw: [
        repr(s) for s in (fw.Size([1, 2, 3])[1:], add(fw.Size([1]), (2,)), add((2,), fw.Size([1])))
    ],
    "Size, repeated": lambda fw: [repr(fw.Size([1, 2]) * 2), repr(2 * fw.Size([3]))],
    "Size with a list": lambda fw: add(fw.Size([1]), [2]),
    "Size, one of them": lambda fw: fw.Size([4, 5])[-1],
    "Size, pickled": lambda fw: repr(pickle.loads(pickle.dumps(fw.Size([4, 5])))),
    "device with a number": lambda fw: [str(fw.device("cpu:0")), repr(fw.device("cpu", 1)), fw.device("cpu:2").index],
    "device by name": lambda fw: repr(fw.device(type="cpu", index=1)),
    "device, wrong": lambda fw: fw.device("cpu:x"),
    "device, negative": lambda fw: fw.device("cpu:-1"),
    "a tensor on a device with a number": lambda fw: fw.ones(2, device="cpu:0").tolist(),
    "in": lambda fw: [2 in fw.arange(3), 7 in fw.arange(3), fw.tensor(1) in fw.arange(3), True in fw.ones(2)],
    "a text in": lambda fw: "a" in fw.ones(2),
    "a list in": lambda fw: [1] in fw.ones(2),
    "memory formats": lambda fw: [repr(fw.contiguous_format), repr(fw.preserve_format)],
    "storage as floats": lambda fw: list(fw.UntypedStorage([1, 2]).float()),
    "storage as integers": lambda fw: [
        fw.tensor([1.5, 2.5]).storage().long().tolist(),
        len(fw.ones(3).storage().double()),
    ],
    "no_grad where it lives": lambda fw: fw.autograd.grad_mode.no_grad is fw.no_grad,
}


@pytest.mark.faithful
@pytest.mark.parametrize("name", CALLS)
def test_small_things_are_as_in_pytorch(name: str) -> None:
    assert outcome(mini, CALLS[name]) == outcome(real, CALLS[name])
