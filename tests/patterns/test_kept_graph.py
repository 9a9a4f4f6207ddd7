"""A kept tensor loses its graph, where nothing asks for it; the text of each change and of each refusal."""

from __future__ import annotations

import ast

import pytest

from gradlife.patterns.rewrites.kept_graph import without_graph

STEP = "def step(t, model, x):\n    loss = model(x).mean()\n    {}\n    loss.backward()\n"


def changed(line: str, rest: str = "", name: str = "total") -> str | None:
    text = STEP.format(line) + rest
    tree = ast.parse(text)
    found = without_graph(text, tree, 3, name, [tree])
    return found.splitlines()[2].strip() if found is not None else None


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("t.total += loss", "t.total += loss.detach()"),
        ("t.total = t.total + loss", "t.total = t.total + loss.detach()"),
        ("t.total = loss + t.total", "t.total = loss.detach() + t.total"),
        ("t.total = 0.9 * t.total + 0.1 * loss", "t.total = 0.9 * t.total + 0.1 * loss.detach()"),
        ("t.total += -loss", "t.total += (-loss).detach()"),
        ("t.total += loss if t.on else loss.item()", "t.total += loss.detach() if t.on else loss.item()"),
        ("t.total = loss  # é", "t.total = loss.detach()  # é"),
        ("t['total'] = loss", "t['total'] = loss.detach()"),
    ],
)
def test_the_kept_tensor_is_detached(line: str, wanted: str) -> None:
    assert changed(line) == wanted


@pytest.mark.parametrize(
    "read",
    [
        "print(f'{t.total:.3f}', float(t.total) / 9)",
        "if t.total > 3: stop()",
        "t.total = 0",
        "mean = t.total / 9\n    log(mean.item())",
        "t.total.mean().item()",
        "best = [one.item() for one in t.total]",
    ],
)
def test_what_ends_in_a_number_may_read_it(read: str) -> None:
    assert changed("t.total += loss", f"def show(t):\n    {read}\n") == "t.total += loss.detach()"


@pytest.mark.parametrize(
    "read",
    [
        "t.total.backward()",
        "(t.total / 9).backward()",
        "torch.autograd.grad(t.total, x)",
        "mean = t.total / 9\n    mean.backward()",
        "print(t.total)",
        "print(f'{t.total}')",
        "return t.total",
        "other.kept = t.total",
        "show(t.total)",
        "getattr(t, 'total')",
        "getattr(t, name)",
        "vars(t)",
        "t.__dict__",
        "for one in t.total: one.backward()",
        "t.total.requires_grad",
        "yield t.total",
    ],
)
def test_no_change_where_something_may_ask_for_the_graph(read: str) -> None:
    assert changed("t.total += loss", f"def show(t, x, name, other):\n    {read}\n") is None


@pytest.mark.parametrize(
    "line",
    [
        "t.total = (loss, x)",
        "t.total = t.total + t.scale * loss",
        "t.total = other.total = loss",
        "t.total += loss.item()",
        "t.total = model(t.total)",
        "t.other += loss",
        "show(t)",
    ],
)
def test_no_change_where_it_is_not_known_what_the_tensor_is(line: str) -> None:
    assert changed(line) is None


def test_no_change_of_an_item_of_a_dictionary_that_is_passed_on() -> None:
    assert changed("t['total'] = loss", "def show(t):\n    print(t['other'])\n") == "t['total'] = loss.detach()"
    assert changed("t['total'] = loss", "def show(t):\n    save(t)\n") is None
    assert changed("t['total'] = loss", "def show(t):\n    for one in t.values(): one.backward()\n") is None


@pytest.mark.parametrize("given", ["keep(t, None)", "keep(t, loss=None)"])
def test_what_a_caller_may_give_as_none_is_not_detached(given: str) -> None:
    text = "def keep(t, loss):\n    t.total = loss\n"
    for call, wanted in ((f"{given}\n", None), ("keep(t, f())\n", "t.total = loss.detach()")):
        tree = ast.parse(text + call)
        found = without_graph(text + call, tree, 2, "total", [tree])
        assert (found and found.splitlines()[1].strip()) == wanted


def test_a_variable_that_may_be_none_is_not_detached() -> None:
    assert changed("if t.ends: loss = None\n    t.total = loss") is None
