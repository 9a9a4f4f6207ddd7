"""Arithmetic of complex numbers against PyTorch: values, first and second derivatives, conjugates that only say so."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import gradlife.engine as mini

real = pytest.importorskip("torch")
pytestmark = pytest.mark.torch
Build = Callable[[Any, Any], Any]
Call = Callable[[Any], Any]

METHODS = [
    "exp",
    "sin",
    "cos",
    "tanh",
    "sqrt",
    "sigmoid",
    "neg",
    "abs",
    "conj",
    "square",
    "clone",
]
BUILT: dict[str, Build] = {
    "a square": lambda fw, x: x**2,
    "a broken power": lambda fw, x: x**2.5,
    "a complex power": lambda fw, x: x ** (1 + 1j),
    "a power of 0": lambda fw, x: x**0 * x,
    "a power of itself": lambda fw, x: x**x,
    "a power of a number": lambda fw, x: 2**x,
    "a power of a complex number": lambda fw, x: 1j**x,
    "times its real part": lambda fw, x: x * x.real,
    "over its imaginary part": lambda fw, x: x / x.imag,
    "less a multiple of its conjugate": lambda fw, x: x - 2j * x.conj(),
    "less, scaled": lambda fw, x: fw.sub(x, x.conj(), alpha=2j),
    "taken from a number": lambda fw, x: 2j - x,
    "over a number": lambda fw, x: x / (1 + 2j),
    "a number over it": lambda fw, x: 1j / x,
    "the imaginary part of the conjugate": lambda fw, x: x.conj().imag * x,
    "the real part of the conjugate": lambda fw, x: x.conj().real * x,
    "its mean": lambda fw, x: x.mean() * x,
    "its sum along a dimension": lambda fw, x: x.sum(0, keepdim=True) * x.conj(),
    "joined with its real part": lambda fw, x: fw.cat([x, x.real])[:3],
    "stacked with its real part": lambda fw, x: fw.stack([x.real, x], -1)[:, 1] * x,
    "made complex": lambda fw, x: x.real.to(fw.complex128) * x,
    "copied from real ones": lambda fw, x: fw.zeros(3, dtype=fw.complex128).copy_(x.real) * x,
    "in place": lambda fw, x: x.clone().mul_(x).add_(1j).sin_(),
    "a conjugate in place": lambda fw, x: (a := x.clone(), a.conj().mul_(2j).add_(x), a * a)[2],
    "parts in place": lambda fw, x: (a := x.clone(), fw.view_as_real(a).mul_(fw.arange(2) + 1.0), a * a)[2],
    "a real part in place": lambda fw, x: (a := x.clone(), a.real.add_(x.imag), a * x)[2],
}


def seed(fw: Any, dtype: str = "complex128") -> Any:
    return fw.tensor([1 + 2j, 0.5 - 1j, -0.3 + 0.2j], dtype=getattr(fw, dtype), requires_grad=True)


def story(fw: Any, build: Build) -> list[Any]:
    x = seed(fw)
    y = build(fw, x)
    total = (y * y.conj() * fw.arange(1, 4) + y * (1 + 0.5j)).sum().abs()
    (first,) = fw.autograd.grad(total, x, create_graph=True)
    (second,) = fw.autograd.grad((first.abs() ** 2).sum(), x)
    return [str(y.dtype), y.grad_fn.name(), *(each.tolist() for each in (y, first, second))]


def agree(ours: list[Any], theirs: list[Any]) -> None:
    assert ours[:2] == theirs[:2]
    for mine, other in zip(ours[2:], theirs[2:], strict=True):
        assert mine == pytest.approx(other, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", METHODS)
def test_functions_and_their_derivatives_are_pytorchs(name: str) -> None:
    def build(fw: Any, x: Any) -> Any:
        return getattr(x, name)()

    agree(story(mini, build), story(real, build))


@pytest.mark.parametrize("name", BUILT)
def test_what_is_made_of_them_is_pytorchs(name: str) -> None:
    agree(story(mini, BUILT[name]), story(real, BUILT[name]))


def conjugate_changed(fw: Any) -> Any:
    a = fw.tensor([1 + 1j, 2 - 1j], requires_grad=True).clone()
    b = a.conj()
    before = (b.is_conj(), b._base is a, b.grad_fn.name(), b.data_ptr() == a.data_ptr())
    b.mul_(2j)
    return before, a.tolist(), b.tolist(), a.grad_fn.name(), b.grad_fn.name(), a._version


def parts_changed(fw: Any) -> Any:
    x = fw.tensor([[1 + 1j, 2 - 1j], [3, 1j]], requires_grad=True)
    seen = []
    for turn in ("transpose", "transpose_"):
        a = x.clone()
        b = fw.view_as_real(a)
        b = getattr(b, turn)(0, 1)
        b += 1
        seen.append((a.grad_fn.name(), b.grad_fn.name(), a.tolist()))
        x.grad = None
        b.backward(fw.arange(8.0).view(2, 2, 2))
        seen.append(x.grad.tolist())
    return seen


def mixed_gradients(fw: Any) -> Any:
    """Check that real inputs of a complex result get the real part of the gradient."""
    a = fw.tensor([-1.5, 2.0], requires_grad=True)
    e = fw.tensor([1 + 1j, 2j], requires_grad=True)
    (a * (2 + 1j)).sum().abs().backward()
    (a.abs() ** e).abs().sum().backward()
    (a ** (1 + 1j)).abs().sum().backward()
    return [complex(round(z.real, 4), round(z.imag, 4)) for z in (*map(complex, a.grad.tolist()), *e.grad.tolist())]


def written(fw: Any) -> Any:
    x = fw.zeros(2, dtype=fw.complex64)
    x.real = 1
    x.imag = fw.tensor([2.0, 3.0])
    return x.tolist()


def rounded(fw: Any) -> Any:
    refusals = []
    for name in ("floor", "ceil", "trunc", "frac", "sign"):
        with pytest.raises(NotImplementedError) as raised:
            getattr(fw.tensor([1j]), name)()
        refusals.append(str(raised.value))
    return refusals


CALLS: dict[str, Call] = {
    "dtypes": lambda fw: [
        str(x.dtype)
        for x in (
            fw.ones(1, dtype=fw.float64) * 1j,
            fw.ones(1) * 1j,
            fw.ones(1, dtype=fw.int64) * 1j,
            fw.ones(1, dtype=fw.float64) * fw.tensor([1j]),
            fw.ones(1, dtype=fw.complex128) * fw.tensor([1.0]),
            fw.ones(1, dtype=fw.float64) + fw.tensor(1j),
            fw.tensor([1j], dtype=fw.complex128).real,
            fw.tensor([1j], dtype=fw.complex128).abs(),
        )
    ],
    "printed": lambda fw: (
        repr(fw.tensor([1j, 2], dtype=fw.complex128)),
        repr(fw.tensor([1j, 2]).conj()),
        repr(fw.tensor([1 + 1j], requires_grad=True) * 2),
    ),
    "conjugates": lambda fw: [
        x.is_conj()
        for x in (
            fw.tensor([1j]).conj(),
            fw.tensor([1j]).conj().clone(),
            fw.tensor([1j]).conj().resolve_conj(),
            fw.tensor([1j]).conj().conj(),
            fw.tensor([1j]).conj().contiguous(),
            fw.tensor([1j]).conj()[:1],
            fw.tensor([1j]).conj() * 1,
            fw.ones(1).conj(),
        )
    ],
    "conjugates filled": lambda fw: [a := fw.zeros(2, dtype=fw.complex64), a.conj().fill_(1 + 2j), a.tolist()][2],
    "a conjugate changed": conjugate_changed,
    "mixed gradients": mixed_gradients,
    "parts written": written,
    "ordered": lambda fw: fw.tensor([1j]) < 1,
    "pairs of conjugates": lambda fw: fw.view_as_real(fw.tensor([1j]).conj()),
    "real numbers in place": lambda fw: fw.ones(2).mul_(1j),
    "as a float": lambda fw: float(fw.tensor(1 + 2j)),
    "as a real scalar": lambda fw: fw.ones(2).fill_(1 + 2j),
    "a root that is complex": lambda fw: (fw.zeros((), requires_grad=True) * 0.5j).backward(),
    "pickled": lambda fw: pickle.loads(pickle.dumps(fw.tensor([1 + 2j, 0.1], dtype=fw.complex128).conj())).tolist(),
    "copied deeply": lambda fw: copy.deepcopy(fw.tensor([1 + 2j]).conj()).tolist(),
    "an array of a conjugate": lambda fw: fw.tensor([1j]).conj().numpy(),
}


def outcome(fw: Any, call: Call) -> Any:
    try:
        return call(fw)
    except (RuntimeError, TypeError, NotImplementedError) as error:
        return type(error).__name__, str(error).splitlines()[0]


@pytest.mark.faithful
@pytest.mark.parametrize("name", CALLS)
def test_the_rest_is_pytorchs(name: str) -> None:
    assert outcome(mini, CALLS[name]) == outcome(real, CALLS[name])


def test_the_imaginary_part_is_not_dropped_in_silence() -> None:
    for fw in (mini, real):
        with pytest.warns(UserWarning, match="Casting complex values to real discards the imaginary part"):
            assert fw.tensor([1 + 2j]).to(fw.float32).tolist() == [1.0]
        with warnings.catch_warnings(action="error"):
            x = fw.ones(2, requires_grad=True)
            (x * 1j).abs().sum().backward()


@pytest.mark.parametrize("name", ["max"])
def test_what_has_no_complex_kernel_says_so(name: str) -> None:
    arguments = (0,) if name == "cumsum" else ()
    with pytest.raises((NotImplementedError, RuntimeError)):
        getattr(mini.tensor([1j, 2]), name)(*arguments)
