"""Raw handles of saved slots whose node died. In PyTorch 1.10 to 2.13 they point into recycled memory; so they do here."""

from __future__ import annotations

import weakref
from typing import Any

import pytest

import gradlife.engine as torch

pytestmark = pytest.mark.valgrind

FREED = "Calling register_hooks on a saved tensor after it has been freed."
RELEASES = ("torch-1.10", "torch-1.13", "torch-2.9", "torch-2.10", "torch-2.13")


def leaf(*values: float) -> Any:
    return torch.tensor(values, requires_grad=True)


def handle_of_a_dead_node() -> Any:
    y = leaf(1.0, 1.0, 1.0).sin()
    raw = y.grad_fn._raw_saved_self
    assert raw is y.grad_fn._raw_saved_self
    node = weakref.ref(y)
    del y
    assert node() is None
    return raw


def test_a_handle_keeps_no_node_and_finds_freed_memory() -> None:
    raw = handle_of_a_dead_node()
    assert raw.data is None
    assert raw.unpack_hook is None
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        raw.unpack()
    with pytest.raises(RuntimeError, match=FREED):
        raw.register_hooks(id, id)


def test_a_handle_reads_the_next_node_of_that_size() -> None:
    raw = handle_of_a_dead_node()
    x = leaf(*[1.0] * 5)
    strangers = [x.cos() for _ in range(3)]
    assert raw.data is x
    assert raw is strangers[0].grad_fn._raw_saved_self
    assert raw is not strangers[1].grad_fn._raw_saved_self


def test_memory_freed_later_is_given_out_before() -> None:
    dead_after = [leaf(1.0).cos() for _ in range(2)]
    raw = handle_of_a_dead_node()
    del dead_after
    first, second, third = (leaf(float(i)) for i in range(3))
    kept = [x.sin() for x in (first, second, third)]
    assert raw.data is third
    assert len(kept) == 3


def test_a_slot_at_the_same_place_has_the_same_handle() -> None:
    early = handle_of_a_dead_node()
    late = handle_of_a_dead_node()
    assert late is early


@pytest.mark.parametrize("release", RELEASES)
def test_hooks_set_through_it_reach_a_stranger_and_spoil_its_gradient(release: str) -> None:
    calls: list[int] = []

    def unpack(packed: Any) -> Any:
        calls.append(1)
        return packed * 0

    with torch.profile(release):
        raw = handle_of_a_dead_node()
        leaves = [leaf(1.0, 1.0, 1.0) for _ in range(5)]
        outputs = [x.sin() for x in leaves]
        assert raw.register_hooks(lambda t: t, unpack) is None
        with pytest.raises(RuntimeError, match="whose hooks have already been set"):
            raw.register_hooks(lambda t: t, unpack)
        for y in outputs:
            y.sum().backward()
        assert calls == [1]
        assert [x.grad.tolist() for x in leaves] == [[1.0] * 3, *[[pytest.approx(0.5403023)] * 3] * 4]


def test_it_may_reach_a_slot_in_which_nothing_is_saved() -> None:
    y = leaf(1.0, 2.0) * leaf(3.0, 4.0)
    raw = y.grad_fn._raw_saved_self
    del y
    z = leaf(5.0, 6.0) * torch.ones(2)
    assert z.grad_fn._saved_self is None
    assert raw.data is None
    with pytest.raises(RuntimeError, match="a saved tensor with value None is forbidden"):
        raw.register_hooks(id, id)


def test_a_handle_that_is_dropped_while_vacant_leaves_the_others_their_order() -> None:
    x, z, w = leaf(1.0), leaf(2.0), leaf(3.0)
    ys = [v.sin() for v in (x, z, w)]
    first, second, third = (y.grad_fn._raw_saved_self for y in ys)
    while ys:
        ys.pop()  # dies last to first, so the first one's memory is given out first
    del second
    kept = [leaf(float(i)).sin() for i in range(3)]
    assert first.data is kept[0].grad_fn._saved_self
    assert third.data is kept[2].grad_fn._saved_self


@pytest.mark.parametrize(
    ("release", "names"),
    [
        ("torch-1.10", ["register_hooks"]),
        ("torch-2.9", ["register_hooks"]),
        ("torch-2.10", ["data", "register_hooks", "unpack_hook"]),
        ("torch-2.13", ["data", "register_hooks", "unpack", "unpack_hook"]),
    ],
)
def test_each_release_offers_its_own_names_on_a_handle(release: str, names: list[str]) -> None:
    with torch.profile(release):
        raw = leaf(1.0).sin().grad_fn._raw_saved_self
        assert [name for name in dir(raw) if not name.startswith("__")] == names
        assert type(raw) is torch._C._autograd.SavedTensor
    assert str(type(raw)) == "<class 'torch._C._autograd.SavedTensor'>"


@pytest.mark.parametrize(
    ("release", "callable_"), [("torch-1.13", "function"), ("torch-2.9", "collections.abc.Callable")]
)
def test_what_is_no_callable_is_refused_before_the_slot_is_looked_at(release: str, callable_: str) -> None:
    with torch.profile(release):
        raw = handle_of_a_dead_node()
        with pytest.raises(TypeError, match=f"arg0: {callable_}, arg1: {callable_}"):
            raw.register_hooks(1, 2)
