"""The five states of a wrapper that OneFlow's issue 9500 proposes, watched in the event log, the counts and the drawing.

1 first return; 2 second return; 3 attempted death, when the wrapper is handed back and its data emptied; 4 returned again,
without an incref; 5 final death. Before it (OneFlow 0.8, cached) state 3 was the end; torch 2.13 couples the counts instead.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

import gradlife.engine as torch
from gradlife import _engine
from lifetimes import collector_off, doubling, failure, leaf, save_input
from python_versions import count_references

RESURRECT = ("oneflow-0.9", "torch-1.10")
CACHED = ("oneflow-0.8", "torch-1.1")
UNDEFINED = "RuntimeError: Expected a Tensor of type Variable but found an undefined Tensor for argument #0 'self'"
# what the proposal does to the dying wrapper's pointer, and what PyTorch did
DATA = {"oneflow-0.9": "data emptied", "torch-1.10": "data borrowed"}


@dataclass
class Gradient:
    """A leaf whose gradient nobody has looked at yet, and that gradient's number in the engine."""

    leaf: Any
    number: int

    def news(self) -> list[tuple[str, str]]:
        """Return the events of the gradient since the last call."""
        return [(event.kind, event.detail) for event in torch.events(clear=True) if event.object == self.number]

    def drawing(self) -> list[str]:
        """Return how the gradient and its wrapper hold each other, as `owners` draws it from the leaf."""
        lines = str(torch.owners(self.leaf)).splitlines()
        start = next(i for i, line in enumerate(lines) if f"grad (strong) tensor #{self.number}" in line)
        return [line.strip(" │├─└") for line in lines[start + 1 : start + 3]]


def unseen_gradient() -> Gradient:
    a = leaf()
    (a * 2).sum().backward()
    number = next(row[2] for row in owned_by(a) if row[0] == "grad")
    torch.clear_events()
    return Gradient(a, number)


def owned_by(obj: Any) -> list[Any]:
    number = _engine._object_id(obj)
    return next(list(row[7]) for row in _engine._live_graph() if row[0] == number)


@pytest.fixture(autouse=True)
def no_collections() -> Iterator[None]:
    with collector_off():
        yield


# --- the proposal, state by state ---


@pytest.mark.parametrize("profile", RESURRECT)
def test_first_return_makes_a_wrapper_that_owns_its_impl(profile: str) -> None:
    with torch.profile(profile):
        grad = unseen_gradient()
        held = grad.leaf.grad
        assert grad.news() == [("wrapped", "")]
        assert (count_references(held), torch.use_count(held)) == (1, 2)
        assert grad.drawing() == [
            "╌▷ wrapper (borrowed) Tensor  [refcount 1, resurrect]",
            "━▶ back to it (strong) impl",
        ]


@pytest.mark.parametrize("profile", RESURRECT)
def test_second_return_is_the_same_object_with_one_reference_more(profile: str) -> None:
    with torch.profile(profile):
        grad = unseen_gradient()
        held = grad.leaf.grad
        grad.news()
        again = grad.leaf.grad
        assert again is held
        assert grad.news() == []
        assert (count_references(held), torch.use_count(held)) == (2, 2)


@pytest.mark.parametrize("profile", RESURRECT)
def test_attempted_death_hands_the_wrapper_back_to_its_impl(profile: str) -> None:
    with torch.profile(profile):
        grad = unseen_gradient()
        held = grad.leaf.grad
        grad.news()
        del held
        assert grad.news() == [("resurrected", DATA[profile]), ("flipped", "impl owns wrapper")]
        back = "back to it (nothing (emptied)) impl" if profile == "oneflow-0.9" else "╌▷ back to it (borrowed) impl"
        assert grad.drawing() == ["━▶ wrapper (strong) Tensor  [refcount 1, resurrect]", back]


@pytest.mark.parametrize("profile", RESURRECT)
def test_return_after_the_hand_back_takes_the_reference_over_without_an_incref(profile: str) -> None:
    with torch.profile(profile):
        grad = unseen_gradient()
        first = id(grad.leaf.grad)
        grad.news()
        held = grad.leaf.grad
        assert id(held) == first
        assert grad.news() == [("flipped", "wrapper owns impl")]
        assert (count_references(held), torch.use_count(held)) == (1, 2)
        assert held.tolist() == [2.0, 2.0]


@pytest.mark.parametrize("profile", RESURRECT)
def test_wrapper_goes_back_and_forth_as_often_as_it_is_asked_for(profile: str) -> None:
    with torch.profile(profile):
        grad = unseen_gradient()
        seen = {id(grad.leaf.grad) for _ in range(3)}
        kinds = [kind for kind, _ in grad.news()]
        assert len(seen) == 1
        handed = ["resurrected", "flipped"]
        assert kinds == ["wrapped", *handed, "flipped", *handed, "flipped", *handed]


@pytest.mark.parametrize("profile", RESURRECT)
def test_final_death_from_python_when_the_impl_has_no_other_owner(profile: str) -> None:
    with torch.profile(profile):
        grad = unseen_gradient()
        held = grad.leaf.grad
        grad.leaf.grad = None
        grad.news()
        del held
        assert grad.news() == [("dropped", ""), ("destroyed", "")]


def test_final_death_from_cpp_takes_the_wrapper_along() -> None:
    with torch.profile("torch-1.10"):
        grad = unseen_gradient()
        alive = weakref.ref(grad.leaf.grad)
        assert alive() is not None
        grad.news()
        grad.leaf.grad = None
        assert alive() is None
        assert grad.news()[-1] == ("destroyed", "")
        assert torch.live_counts()["tensor"] == 1


# --- before and after the proposal ---


@pytest.mark.parametrize("profile", CACHED)
def test_death_of_a_cached_wrapper_is_its_end(profile: str) -> None:
    with torch.profile(profile):
        grad = unseen_gradient()
        held = grad.leaf.grad
        del held
        assert grad.news() == [("wrapped", ""), ("dropped", "")]
        held = grad.leaf.grad
        assert grad.news() == [("wrapped", "")]
        assert held.tolist() == [2.0, 2.0]


def test_coupled_wrapper_lives_through_all_states_without_an_event() -> None:
    grad = unseen_gradient()
    held = grad.leaf.grad
    assert grad.news() == [("wrapped", "")]
    assert grad.drawing()[0] == "═▶ wrapper (coupled) Tensor  [refcount 2, coupled]"
    del held
    assert grad.drawing() == ["═▶ wrapper (coupled) Tensor  [refcount 1, coupled]", "━▶ back to it (strong) impl"]
    held = grad.leaf.grad
    assert grad.news() == []
    grad.leaf.grad = None
    assert count_references(held) == 1
    del held
    assert grad.news() == [("dropped", ""), ("destroyed", "")]


@pytest.mark.reuse
def test_id_of_grad_alternates_between_two_values_in_oneflow_0_8() -> None:
    with torch.profile("oneflow-0.8"):
        a = unseen_gradient().leaf
        seen = [id(a.grad) for _ in range(8)]
        assert len(set(seen)) == 2
        assert seen[::2] == [seen[0]] * 4
        assert seen[1::2] == [seen[1]] * 4


def test_id_of_grad_is_one_value_in_oneflow_0_9() -> None:
    with torch.profile("oneflow-0.9"):
        a = unseen_gradient().leaf
        assert len({id(a.grad) for _ in range(8)}) == 1


@pytest.mark.parametrize("profile", ["oneflow-0.8", "oneflow-0.9"])
def test_holding_the_gradient_makes_its_id_stable(profile: str) -> None:
    with torch.profile(profile):
        a = unseen_gradient().leaf
        a_grad = a.grad
        assert {id(a.grad) for _ in range(8)} == {id(a_grad)}


# --- the emptied wrapper: strong again by way of a weak reference, then C++ lets go ---


def emptied(profile: str) -> Any:
    """The wrapper of a gradient, got out of a weak reference, after its leaf let go of it."""
    with torch.profile(profile):
        a = unseen_gradient().leaf
        held = weakref.ref(a.grad)()
        a.grad = None
    return held


def test_emptied_wrapper_is_a_tensor_of_nothing() -> None:
    with torch.profile("torch-1.10"):
        held = emptied("torch-1.10")
        assert type(held) is torch.Tensor
        assert list(held.shape) == [0]
        assert failure(held.sum) == UNDEFINED
        assert failure(held.tolist) == UNDEFINED
        assert failure(lambda: torch.use_count(held)) == "TypeError: Tensor has no engine object behind it"


def test_emptied_wrapper_goes_without_a_trace() -> None:
    held = emptied("torch-1.10")
    gc.collect()
    alive = weakref.ref(held)
    del held
    assert alive() is None


def test_coupled_wrapper_out_of_a_weak_reference_stays_whole() -> None:
    held = emptied("torch-2.13")
    assert held.tolist() == [2.0, 2.0]
    assert held.sum().item() == 4.0
    assert torch.use_count(held) == 1


def test_wrapper_whose_data_oneflow_emptied_is_unusable_even_while_cpp_holds_the_impl() -> None:
    class Watchable(torch.Tensor):
        """OneFlow's own tensors take no weak references."""

    function = doubling(save_input)
    with torch.profile("oneflow-0.9"):
        x = Watchable([2.0, 2.0]).requires_grad_()
        y = function.apply(x)
        alive = weakref.ref(x)
        del x
        stray: Any = alive()
        assert failure(stray.tolist) == UNDEFINED
        held = function.context().saved_tensors[0]
        assert held is stray
        del y
        assert stray.tolist() == [2.0, 2.0]
