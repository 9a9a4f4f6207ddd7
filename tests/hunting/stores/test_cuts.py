"""Statements that keep only the last part of what grows, whatever its length."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stored_traces import LIST, limit_of, owned, source, step, trace, variable

LISTED = trace(variable("memory"), owned("items", "__main__.Memory"), LIST)
BANK = trace(variable("memory"), owned("items", "__main__.Memory"), detail="float32 [2120, 64]")
METHOD = "class Memory:\n    def push(self, x):\n"


def limit(*lines: str, more: str = "") -> str:
    return limit_of(LISTED, 2, [source(METHOD + "".join(f"        {line}\n" for line in lines) + more)])


def limit_of_bank(*lines: str, more: str = "") -> str:
    steps = (*BANK.steps[:2], replace(step("torch.Tensor"), detail="float32 [2120, 64]"))
    text = METHOD + "".join(f"        {line}\n" for line in lines) + more
    return limit_of(replace(BANK, steps=steps), 2, [source(text)])


@pytest.mark.parametrize(
    "cut",
    [
        "del self.items[:-5000]",
        "del self.items[5000:]",
        "self.items = self.items[-1000:]",
        "self.items = self.items[:1000]",
        "self.items[:] = self.items[-1000:]",
        "self.items = list(self.items[-1000:])",
        "del self.items[: -self.size]",
    ],
)
def test_a_list_that_is_cut_beside_each_append_is_limited(cut: str) -> None:
    """A list of 263 items that keeps 5,000 was a leak."""
    assert limit("self.items.append(x)", cut) == "train.py:4"


def test_a_list_that_a_method_cuts_is_limited() -> None:
    cut = "    def cut(self):\n        del self.items[:-5000]\n"
    assert limit("self.items.append(x)", "self.cut()", more=cut) == "train.py:4"


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(("self.items.append(x)",), id="no cut"),
        pytest.param(("self.items.append(x)", "del self.items[:-10]"), id="a part that is passed"),
        pytest.param(("self.items.append(x)", "del self.items[:-10_000_000]"), id="a part without effect"),
        pytest.param(("self.items.append(x)", "del self.other[:-5000]"), id="another list"),
        pytest.param(("self.items.append(x)", "if x is None:", "    del self.items[:-5000]"), id="only sometimes"),
        pytest.param(("self.items.append(x)", "del self.items[:1]", "self.items.append(x)"), id="only one item"),
        pytest.param(("self.items.append(x)", "last = self.items[-1000:]"), id="a copy"),
    ],
)
def test_a_list_that_is_not_cut_each_time_is_not(lines: tuple[str, ...]) -> None:
    assert limit(*lines) == ""


def test_a_list_that_another_method_fills_without_a_cut_is_not() -> None:
    more = "    def add(self, x):\n        self.items.append(x)\n"
    assert limit("self.items.append(x)", "del self.items[:-5000]", more=more) == ""


def test_a_cut_in_a_method_that_nothing_calls_is_none() -> None:
    assert limit("self.items.append(x)", more="    def cut(self):\n        del self.items[:-5000]\n") == ""


@pytest.mark.parametrize(
    "lines",
    [
        ("self.items = torch.cat([self.items, x])[-65536:]",),
        ("self.items = torch.cat([self.items, x])[-65536:].clone()",),
        ("self.items = torch.cat([x, self.items], 1)[:, :4096]",),
        ("self.items = torch.cat([self.items, x])", "self.items = self.items[-65536:]"),
        ("longer = torch.cat([self.items, x])", "self.items = longer[-65536:]"),
    ],
)
def test_a_tensor_of_which_the_last_part_is_kept_is_limited(lines: tuple[str, ...]) -> None:
    assert limit_of_bank(*lines) == f"train.py:{2 + len(lines)}"


@pytest.mark.parametrize(
    "lines",
    [
        ("self.items = torch.cat([self.items, x])",),
        ("self.items = torch.cat([self.items, x])[-1000:]",),
        ("self.items = torch.cat([self.items, x[-65536:]])",),
        ("self.items = torch.cat([self.items, x])[:, -32:]",),
        ("self.items = torch.cat([self.items, x])[: self.count]",),
        ("self.items = torch.cat([self.items, x])[-len(x) * n :]",),
        ("longer = torch.cat([self.items, x])", "self.items = longer"),
    ],
)
def test_a_tensor_that_is_not_cut_is_not(lines: tuple[str, ...]) -> None:
    assert limit_of_bank(*lines) == ""


def test_a_tensor_that_another_line_makes_longer_without_a_cut_is_not() -> None:
    more = "    def add(self, x):\n        self.items = torch.cat([self.items, x])\n"
    assert limit_of_bank("self.items = torch.cat([self.items, x])[-65536:]", more=more) == ""
