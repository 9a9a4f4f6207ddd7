"""Small programs of gradients held against finite differences, and of derivatives as tensors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from programs_tools import function, programs_in

BACKWARDS: dict[str, Callable[[Any, Any], Any]] = {
    "right": lambda ctx, grad: grad * 2 * ctx.saved_tensors[0],
    "wrong": lambda ctx, grad: grad * 3 * ctx.saved_tensors[0],
    "nothing": lambda ctx, grad: None,
    "wrong shape": lambda ctx, grad: grad.sum(),
}


def answer(call: Callable[[], Any]) -> list[str]:
    """Return the result of a check, or its whole error; and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = str(call())
        except Exception as error:
            result = f"{type(error).__name__}: {str(error).split(' NOTE')[0].split(chr(10) + chr(10))[0]}"
    return [result, *(str(item.message) for item in caught)]


def double(fw: Any, *numbers: float) -> Any:
    return fw.tensor(list(numbers), dtype=fw.float64, requires_grad=True)


def backwards_of_a_square(fw: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    x = double(fw, 1.0, -2.0)
    squares = [function(fw, forward, backward) for backward in BACKWARDS.values()]
    checks = [answer(lambda f=f: fw.autograd.gradcheck(f.apply, x)) for f in squares]  # type: ignore[misc]
    return [checks, answer(lambda: fw.autograd.gradcheck(squares[1].apply, x, raise_exception=False))]


def a_backward_that_changes_its_mind(fw: Any) -> Any:
    runs = [0]

    def backward(ctx: Any, grad: Any) -> Any:
        runs[0] += 1
        return grad * (1 + 1e-7 * runs[0])

    wavering = function(fw, lambda ctx, x: x.clone(), backward)
    x = double(fw, 1.0)
    return [
        answer(lambda: fw.autograd.gradcheck(wavering.apply, x)),
        answer(lambda: fw.autograd.gradcheck(wavering.apply, x, nondet_tol=1e-3)),
    ]


def inputs_that_do_not_do(fw: Any) -> Any:
    check, x = fw.autograd.gradcheck, double(fw, 1.0, 2.0)
    return [
        answer(lambda: check(lambda t: t.sin(), x.detach())),
        answer(lambda: check(lambda t: t * 2, fw.ones(1, requires_grad=True), eps=0.25)),
        answer(lambda: check(lambda t: t.sin(), double(fw, 1.0).expand(3))),
        answer(lambda: check(lambda t: t.detach(), x)),
        answer(lambda: check(lambda t: (t.sin(), t.detach()), x)),
        answer(lambda: check(lambda t: t * t.detach(), x)),
        answer(lambda: check(lambda t: 3, x)),
        answer(lambda: check(lambda t: t, x, check_backward_ad=False)),
    ]


def functions_whose_outputs_change(fw: Any) -> Any:
    check, x = fw.autograd.gradcheck, double(fw, 1.0)

    return [
        answer(lambda: check(lambda t: fw.cat([t, t]) if (t >= 1).all() else t, x)),
        answer(lambda: check(lambda t: t.float() if (t >= 1).all() else t, x)),
    ]


def functions_that_do(fw: Any) -> Any:
    check, twice = fw.autograd.gradcheck, fw.autograd.gradgradcheck
    x, y = double(fw, 1.0, 2.0).detach().view(2, 1).requires_grad_(), double(fw, 0.5, -1.0)
    return [
        answer(lambda: check(lambda a, b: a * b.sin(), (x, y))),
        answer(lambda: check(lambda a, n: (a.pow(n), a.exp()), (x, 3))),
        answer(lambda: twice(lambda a, b: a * b * b.sin(), (x, y))),
        answer(lambda: twice(lambda a: a.exp(), x, fw.ones(2, 1, dtype=fw.float64, requires_grad=True))),
    ]


PROGRAMS = programs_in(globals())
