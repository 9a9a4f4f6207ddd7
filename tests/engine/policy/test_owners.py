"""The drawing of who owns whom, and that looking at the engine changes nothing."""

from __future__ import annotations

import re
import sys
from typing import Any

import pytest

import gradlife.engine as torch
from gradlife.errors import UsageError
from lifetimes import doubling, leaf, save_input, save_output


def drawn(obj: Any) -> list[str]:
    return str(torch.owners(obj)).splitlines()


def numberless(line: str) -> str:
    line = re.sub(r"refcount \d+", "refcount N", line)
    return " ".join(word for word in line.split() if not word.startswith("#"))


def test_owners_of_a_plain_tensor() -> None:
    x = torch.ones(2)
    assert [numberless(line) for line in drawn(x)] == [
        "tensor [1 strong]",
        "├─ ╌▷ wrapper (borrowed) Tensor [refcount N, coupled]",
        "│ └─ ━▶ back to it (strong) impl",
        "└─ ━▶ storage (strong) Storage [1 strong]",
    ]


def test_owners_of_an_operation_show_what_its_node_saved_and_where_it_leads() -> None:
    y = leaf().sin()
    text = [numberless(line) for line in drawn(y)]
    assert "└─ ━▶ grad_fn (strong) SinBackward0 [1 strong]" in text
    assert any("self (strong) tensor" in line for line in text)
    assert any("next edge (strong) AccumulateGrad" in line for line in text)
    assert any("accumulator (weak) AccumulateGrad" in line and line.endswith("↑ above") for line in text)


@pytest.mark.parametrize(
    ("profile", "ownership"),
    [("torch-1.1", "borrowed"), ("torch-1.2", "strong"), ("torch-1.10", "strong"), ("torch-2.13", "coupled")],
)
def test_owners_say_how_a_node_holds_its_context(profile: str, ownership: str) -> None:
    with torch.profile(profile):
        y = doubling(save_output).apply(leaf())
        assert any(f"context ({ownership}) Python FBackward" in line for line in drawn(y))


def test_owners_of_a_shell_say_that_its_node_is_gone() -> None:
    with torch.profile("torch-1.2"):
        fn = doubling().apply(leaf()).grad_fn
        assert drawn(fn) == ["FBackward (its node is gone)"]


def test_owners_draw_a_shared_object_once() -> None:
    x = leaf()
    y = x * x
    tree = str(torch.owners(y))
    assert tree.count("self (strong)") == 1
    assert tree.count("other (strong)") == 1
    assert "↑ above" in tree


def test_owners_stop_at_the_depth_asked_for() -> None:
    y = leaf()
    for _ in range(20):
        y = y * 1
    shallow, deep = str(torch.owners(y, depth=1)), str(torch.owners(y, depth=40))
    assert shallow.count("MulBackward0") == 1
    assert deep.count("MulBackward0") == 20


def test_owners_of_anything_else_are_refused_with_what_may_be_given() -> None:
    with pytest.raises(UsageError) as error:
        torch.owners(3)
    assert str(error.value) == "a int has no owners in the engine (try: a tensor, a storage, a grad_fn or a ctx)"


def test_looking_changes_nothing() -> None:
    calls: list[str] = []

    def note(tensor: Any) -> Any:
        calls.append("called")
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, note):
        y = doubling(save_input).apply(leaf()).sin()
    before = (torch.live_counts(), torch.use_count(y), sys.getrefcount(y), list(calls))
    torch.clear_events()
    for _ in range(3):
        str(torch.owners(y))
        torch.use_count(y)
        torch.live_counts()
        torch.live_bytes()
        torch.events()
    assert torch.events() == []
    assert (torch.live_counts(), torch.use_count(y), sys.getrefcount(y), list(calls)) == before
