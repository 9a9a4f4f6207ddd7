from __future__ import annotations

import ast
import textwrap

import pytest

from gradlife.patterns.rewrites.site import Site
from gradlife.patterns.rewrites.weak_self import weak_argument, weak_method

POOLER = """
import torch


class Pooler:
    def __init__(self, named):
        self.impl = "pool" if named else self.pool

    def pool(self, x):
        return x.mean()

    def forward(self, x):
        return self.impl(x)
"""
SMOOTHER = """
import torch


def make(optimizer):
    def smooth(grad):
        return grad.permute(*optimizer.order)

    return smooth


class Warp:
    def __init__(self):
        self.order = (1, 0)
        self.smooth = make(self)


def step(warp, grad):
    return warp.smooth(grad)
"""


def site(source: str, marked: str) -> Site:
    text = textwrap.dedent(source)
    line = next(number for number, row in enumerate(text.splitlines(), 1) if marked in row)
    tree = ast.parse(text)
    return Site(text, tree, line, "", [tree])


def test_a_method_on_its_own_object_becomes_a_weak_method() -> None:
    changed = weak_method(site(POOLER, "self.impl ="))
    assert changed is not None
    assert 'self.impl = "pool" if named else weakref.WeakMethod(self.pool)' in changed
    assert "return self.impl()(x)" in changed
    assert changed.startswith("\nimport weakref\nimport torch\n")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("return self.impl(x)", "return run(self.impl, x)"),  # someone else may keep it
        ("return self.impl(x)", "return Pooler(False).impl(x)"),  # the object is gone during the call
        ("return self.impl(x)", "return getattr(self, name)(x)"),
        ("return self.impl(x)", "return copy.deepcopy(self).impl(x)"),
        ("    def pool", "    @property\n    def pool"),
        ("return x.mean()", "self.impl = print"),
    ],
)
def test_a_method_that_is_more_than_called_stays(before: str, after: str) -> None:
    assert weak_method(site(POOLER.replace(before, after), "self.impl =")) is None


def test_a_method_may_be_found_by_the_text_in_its_attribute() -> None:
    by_name = "return getattr(self, self.impl)(x) if isinstance(self.impl, str) else self.impl(x)"
    changed = weak_method(site(POOLER.replace("return self.impl(x)", by_name), "self.impl ="))
    assert changed is not None
    assert by_name.replace("else self.impl(x)", "else self.impl()(x)") in changed


def test_a_function_that_uses_attributes_of_the_object_gets_a_proxy() -> None:
    changed = weak_argument(site(SMOOTHER, "self.smooth ="))
    assert changed is not None
    assert "self.smooth = make(weakref.proxy(self))" in changed


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("grad.permute(*optimizer.order)", "remember(optimizer)"),
        ("return warp.smooth(grad)", "return warp.smooth"),
        ("        return grad", "        optimizer.grad = grad\n        return grad"),
        ("import torch", "import torch\nweakref = None"),
    ],
)
def test_a_function_that_may_notice_keeps_the_object(before: str, after: str) -> None:
    assert weak_argument(site(SMOOTHER.replace(before, after), "self.smooth =")) is None
