"""Exceptions lose their traceback and ctx saves for backward, where that is safe."""

from __future__ import annotations

import ast

import pytest

from gradlife.patterns.rewrites.kept_traceback import without_traceback
from gradlife.patterns.rewrites.saved_on_ctx import saved_for_backward

TRIAL = "def step(t):\n    try:\n        f()\n    except ValueError as e:\n        {}\n"


def stripped(line: str, rest: str = "") -> str | None:
    text = TRIAL.format(line) + rest
    tree = ast.parse(text)
    found = without_traceback(text, tree, 5, [tree])
    return found.splitlines()[4].strip() if found is not None else None


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("t.failures.append(e)", "t.failures.append(e.with_traceback(None))"),
        ("t.last = e", "t.last = e.with_traceback(None)"),
        ("last = e if t.keeps else str(e)", "last = e.with_traceback(None) if t.keeps else str(e)"),
    ],
)
def test_a_kept_exception_loses_its_traceback(line: str, wanted: str) -> None:
    assert stripped(line) == wanted


def test_no_change_of_what_is_raised_again_or_looked_into() -> None:
    assert stripped("t.failures.append(e)\n        raise") is None
    assert stripped("t.failures.append(e)", "import traceback\n") is None
    assert stripped("t.failures.append(e)", "def show(t):\n    return t.failures[0].__traceback__\n") is None
    assert stripped("t.failures.append(e)", "def show(t):\n    log.error('x', exc_info=t.failures[0])\n") is None
    assert stripped("t.failures.append(str(e))") is None
    assert stripped("t.failures.append((e, 1))") is None


CTX = """\
class F(Function):
    def forward(ctx, x):
        y = x.exp()
        ctx.result = y
        return y

    def backward(ctx, grad):
        return grad * ctx.result
"""


def saved(text: str, line: int = 4) -> str | None:
    tree = ast.parse(text)
    return saved_for_backward(text, tree, line, "result", [tree])


def test_a_tensor_on_ctx_is_saved_for_backward() -> None:
    wanted = CTX.replace("ctx.result = y", "ctx.save_for_backward(y)").replace("ctx.result", "ctx.saved_tensors[0]")
    assert saved(CTX) == wanted


def test_it_is_saved_in_one_branch_where_another_saves_already() -> None:
    choice = CTX.replace(
        "        ctx.result = y",
        "        if x.a:\n            ctx.save_for_backward(x)\n        else:\n            ctx.result = y",
    )
    found = saved(choice, 7)
    assert found is not None
    assert found.splitlines()[6] == "            ctx.save_for_backward(y)"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("        return y\n", "        ctx.save_for_backward(x)\n        return y\n"),
        ("ctx.result = y", "ctx.result = y, 1"),
        ("ctx.result = y", "ctx.result = x.exp()"),
        ("grad * ctx.result", "grad"),
        ("return grad * ctx.result", "return grad * ctx.result\ndef show(out):\n    return out.grad_fn.result"),
        ("def forward", "def other"),
    ],
)
def test_no_change_where_more_is_saved_or_read_elsewhere(old: str, new: str) -> None:
    assert saved(CTX.replace(old, new)) is None


def test_a_line_below_a_form_feed_is_changed_and_no_other() -> None:
    text = "\x0c\n" + TRIAL.format("t.last = e")
    tree = ast.parse(text)
    assert without_traceback(text, tree, 6, [tree]) == text.replace("t.last = e", "t.last = e.with_traceback(None)")
