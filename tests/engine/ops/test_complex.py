"""complex64, which is held, added up and taken apart, against PyTorch; everything else refuses it."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import gradlife.engine as mini

real = pytest.importorskip("torch")
pytestmark = pytest.mark.torch
Call = Callable[[Any], Any]


def names_of(node: Any) -> list[str]:
    names = []
    while node is not None:
        names.append(node.name())
        node = node.next_functions[0][0] if node.next_functions else None
    return names


def gradient_of_a_part(fw: Any, part: str) -> Any:
    x = fw.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    y = x.clone() + 2
    view = getattr(y, part)
    (view * fw.tensor([2.0, 5.0])).sum().backward()
    return names_of(view.grad_fn), x.grad.tolist(), str(x.grad.dtype), view._base is y


def view_of_what_changed(fw: Any) -> Any:
    """The history of a part is made anew without recording, too."""
    a = fw.tensor([1 + 1j], requires_grad=True).clone()
    part = a.real
    a.add_(1)
    with fw.no_grad():
        node = part.grad_fn
    return node is not None, part.tolist(), fw.autograd.grad(part.sum(), a)[0].tolist()


def custom(fw: Any) -> Any:
    """A Function of the user's own may give complex numbers."""

    class Doubled(fw.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x + x

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return gradient + gradient

    x = fw.tensor([1 + 2j], requires_grad=True)
    y = Doubled.apply(x)
    y.real.sum().backward()
    return y.requires_grad, y.tolist(), x.grad.tolist()


def saved(fw: Any) -> Any:
    file = io.BytesIO()
    fw.save(fw.tensor([[1 + 2j], [3j]]), file)
    file.seek(0)
    return fw.load(file).tolist()


CALLS: dict[str, Call] = {
    "dtype": lambda fw: (
        repr(fw.complex64),
        fw.complex64.is_complex,
        fw.complex64.is_floating_point,
        fw.complex64.itemsize,
    ),
    "values": lambda fw: fw.tensor([[1 + 2j, 3], [0.5, True]]).tolist(),
    "values by dtype": lambda fw: fw.tensor([1, 2.5], dtype=fw.complex64).tolist(),
    "one value": lambda fw: (fw.tensor(1 - 2j).item(), fw.tensor(1 - 2j).is_complex(), fw.is_complex(fw.ones(1))),
    "printed": lambda fw: repr(fw.tensor([1 + 2j, 3.25 - 1j])),
    "printed whole": lambda fw: repr(fw.tensor([1 + 2j, 3 - 1j])),
    "zeros, ones, full": lambda fw: [f(2, dtype=fw.complex64).tolist() for f in (fw.zeros, fw.ones)],
    "random": lambda fw: [tuple(f(fw.ones(2, 3), dtype=fw.complex64).shape) for f in (fw.rand_like, fw.randn_like)],
    "cloned from a view": lambda fw: fw.tensor([[1j, 2], [3, 4j]]).t().clone().tolist(),
    "copied from real ones": lambda fw: fw.zeros(2, dtype=fw.complex64).copy_(fw.tensor([1.5, 2])).tolist(),
    "converted": lambda fw: fw.tensor([1, 2]).to(fw.complex64).tolist(),
    "parts": lambda fw: (fw.tensor([1 + 2j, 3j]).real.tolist(), fw.tensor([1 + 2j, 3j]).imag.tolist()),
    "pairs": lambda fw: (fw.view_as_real(fw.tensor([1 + 2j, 3j])).tolist(), fw.view_as_real(fw.tensor([1j])).stride()),
    "pairs of real ones": lambda fw: fw.view_as_real(fw.ones(2)),
    "a part of real ones": lambda fw: fw.ones(2).imag,
    "added": lambda fw: (fw.tensor([1 + 2j]) + fw.tensor([2.0])).tolist(),
    "added in place": lambda fw: fw.tensor([1 + 2j, 1j]).add_(fw.tensor([1j, 2])).tolist(),
    "joined": lambda fw: fw.cat((fw.tensor([1j]), fw.tensor([2 + 0j]))).tolist(),
    "a part written to": lambda fw: [x := fw.tensor([1 + 2j]), x.real.fill_(7), x.tolist()][-1],
    "gradient of the real part": lambda fw: gradient_of_a_part(fw, "real"),
    "gradient of the imaginary part": lambda fw: gradient_of_a_part(fw, "imag"),
    "a view of what changed": view_of_what_changed,
    "out of a Function": custom,
    "as a float": lambda fw: float(fw.tensor(2 + 0j)),
    "as an index": lambda fw: [1, 2][fw.tensor(1 + 0j)],
    "as a truth": lambda fw: (bool(fw.tensor(1j)), bool(fw.tensor(0j))),
    "saved and loaded": saved,
    "a root": lambda fw: fw.tensor([1j], requires_grad=True).clone().backward(),
    "storage": lambda fw: fw.tensor([1j]).untyped_storage().nbytes(),
    "from numpy": lambda fw: fw.from_numpy(fw.tensor([1j, 2]).numpy()).tolist(),
}


def outcome(fw: Any, call: Call) -> Any:
    try:
        return call(fw)
    except (RuntimeError, TypeError) as error:
        return type(error).__name__, str(error)


@pytest.mark.faithful
@pytest.mark.parametrize("name", CALLS)
def test_what_it_can_do_it_does_as_pytorch(name: str) -> None:
    assert outcome(mini, CALLS[name]) == outcome(real, CALLS[name])


REFUSED: dict[str, Call] = {
    "matmul": lambda x: x @ x,
    "max": lambda x: x.max(),
    "index": lambda x: x[mini.tensor([0])],
    "into floats": lambda x: mini.zeros(2).copy_(x),
    "as an integer": lambda x: int(x[0]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_it_can_not_do_is_refused(name: str) -> None:
    with pytest.raises((NotImplementedError, RuntimeError, TypeError)):
        REFUSED[name](mini.tensor([1 + 1j, 2]))


def test_a_gradient_of_another_kind_is_refused() -> None:
    errors = []
    for fw in (mini, real):
        x = fw.ones(2, requires_grad=True)
        with pytest.raises(RuntimeError) as raised:
            fw.autograd.grad(x * 2, x, fw.ones_like(x, dtype=fw.complex64))
        errors.append(str(raised.value))
    assert errors[0] == errors[1]


def test_pickled_it_comes_back() -> None:
    assert pickle.loads(pickle.dumps(mini.tensor([1j, 2 - 1j]))).tolist() == [1j, 2 - 1j]
