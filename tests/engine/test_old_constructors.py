"""What programs from before there were dtypes call, and small things of tensors, sizes and devices, against PyTorch."""

from __future__ import annotations

import math
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


def told(fw: Any, call: Call) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call(fw)
        except (RuntimeError, TypeError, ValueError) as error:
            return type(error).__name__, str(error)


def same_memory(fw: Any) -> bool:
    x = fw.ones(3)
    made = (x.new(x), x.new(x.storage()), x.new(x.untyped_storage()), fw.FloatTensor(x))
    return all(each is not x and each.data_ptr() == x.data_ptr() for each in made)


def subclass(fw: Any) -> Any:
    return type("Kind", (fw.FloatTensor,), {})


CALLS: dict[str, Call] = {
    "a type of tensors": lambda fw: (str(fw.FloatTensor), str(fw.FloatTensor.dtype), fw.FloatTensor.is_cuda),
    "of a size": lambda fw: tuple(fw.DoubleTensor(2, 3).shape),
    "of a size as one": lambda fw: tuple(fw.LongTensor(fw.Size([2, 1])).shape),
    "of a size by name": lambda fw: tuple(fw.IntTensor(size=(4,)).shape),
    "of values": lambda fw: (fw.LongTensor([1, 2]).tolist(), fw.BoolTensor((True, False)).tolist()),
    "of nothing": lambda fw: (tuple(fw.FloatTensor().shape), str(fw.LongTensor().dtype)),
    "of a float": lambda fw: fw.FloatTensor(2.5),
    "of a text": lambda fw: fw.FloatTensor("2"),
    "isinstance": lambda fw: [isinstance(fw.ones(1).long(), t) for t in (fw.LongTensor, fw.IntTensor, fw.FloatTensor)],
    "isinstance of something else": lambda fw: isinstance(3, fw.FloatTensor),
    "a subclass": subclass,
    "new": lambda fw: (str(fw.ones(1).double().new(2, 3).dtype), tuple(fw.ones(1).new(2, 3).shape)),
    "new of values": lambda fw: fw.ones(1).new([1, 2]).tolist(),
    "new of a size": lambda fw: tuple(fw.ones(1).new(fw.ones(2, 3).size()).shape),
    "the same memory": same_memory,
    "type": lambda fw: fw.ones(1).type(),
    "type by name": lambda fw: str(fw.ones(1).type("torch.DoubleTensor").dtype),
    "type by an old type": lambda fw: str(fw.ones(1).type(fw.LongTensor).dtype),
    "type by Tensor": lambda fw: str(fw.ones(1).long().type(fw.Tensor).dtype),
    "type by dtype": lambda fw: str(fw.ones(1).type(fw.float64).dtype),
    "type by a wrong name": lambda fw: fw.ones(1).type("torch.Foo"),
    "type by a number": lambda fw: fw.ones(1).type(3),
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
    "reversed": lambda fw: [reversed(fw.arange(6).view(3, 2)).tolist(), reversed(fw.tensor(3)).tolist()],
    "in": lambda fw: [2 in fw.arange(3), 7 in fw.arange(3), fw.tensor(1) in fw.arange(3), True in fw.ones(2)],
    "a text in": lambda fw: "a" in fw.ones(2),
    "a list in": lambda fw: [1] in fw.ones(2),
    "H": lambda fw: [tuple(fw.ones(2, 3).H.shape), tuple(fw.ones(2, 2, 3).mH.shape)],
    "H of a vector": lambda fw: fw.ones(2).H,
    "H of a batch": lambda fw: fw.ones(2, 2, 2).H,
    "mH of a vector": lambda fw: fw.ones(2).mH,
    "a condition": lambda fw: fw._check(True),
    "a condition that fails": lambda fw: fw._check(False),
    "a condition that fails with a text": lambda fw: fw._check_value(False, lambda: 3),
    "a condition that is none": lambda fw: fw._check_type(1),
    "a condition with no function": lambda fw: fw._check(False, "text"),
    "signbit": lambda fw: fw.signbit(fw.tensor([-1.0, -0.0, 0.0, 2.0, -math.inf])).tolist(),
    "signbit of integers": lambda fw: fw.signbit(fw.tensor([-1, 0, 3])).tolist(),
    "isin": lambda fw: fw.isin(fw.tensor([[1, 2], [3, 4]]), fw.tensor([2, 3])).tolist(),
    "isin, inverted": lambda fw: fw.isin(fw.tensor([1, 2, 3]), 2, invert=True).tolist(),
    "isin of what requires grad": lambda fw: fw.isin(fw.ones(2, requires_grad=True), fw.ones(1)).requires_grad,
    "memory formats": lambda fw: [repr(fw.contiguous_format), repr(fw.preserve_format)],
    "storage as floats": lambda fw: list(fw.UntypedStorage([1, 2]).float()),
    "storage as integers": lambda fw: [
        fw.tensor([1.5, 2.5]).storage().long().tolist(),
        len(fw.ones(3).storage().double()),
    ],
    "no_grad where it lives": lambda fw: fw.autograd.grad_mode.no_grad is fw.no_grad,
}


@pytest.mark.parametrize("name", CALLS)
def test_old_ways_lead_where_they_lead_in_pytorch(name: str) -> None:
    assert told(mini, CALLS[name]) == told(real, CALLS[name])


def test_the_memory_of_another_dtype_is_refused() -> None:
    for fw in (mini, real):
        with pytest.raises(TypeError, match="expected"):
            fw.ones(1).new(fw.ones(1).long())
