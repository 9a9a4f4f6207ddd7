"""Legacy Functions, instances that are their own context: what they did, and how they are refused."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

import gradlife.engine as torch
from function_texts import (
    BACKWARD_BEFORE_CALL,
    CALLED_TWICE,
    DEPRECATED,
    HOOK_BEFORE_CALL,
    HOOK_DICT_BEFORE_CALL,
    NEXT_BEFORE_CALL,
    REFUSAL,
    invalid,
)
from lifetimes import collector_off, failure, leaf, nothing, unraisable_errors
from torch_texts import FREED_BEFORE_1_8

ALLOWED = ("torch-1.1", "torch-1.2")
REFUSED = ("torch-1.10", "torch-2.13")
CONSUMED = "rejected-consumed"
every_allowed = pytest.mark.parametrize("profile", ALLOWED)


class Square(torch.autograd.Function):
    """Saves its input; an instance is called directly."""

    def forward(self, x: Any) -> Any:  # type: ignore[override]
        self.save_for_backward(x)
        return x * x

    def backward(self, grad: Any) -> Any:  # type: ignore[override]
        (x,) = self.saved_tensors
        return grad * 2 * x


class Id(torch.autograd.Function):
    """The identity, whose gradient is the saved input: it shows which input was saved."""

    def forward(self, x: Any) -> Any:  # type: ignore[override]
        self.save_for_backward(x)
        return x * 1

    def backward(self, grad: Any) -> Any:  # type: ignore[override]
        return grad * self.saved_tensors[0]


@contextmanager
def legacy(profile: str) -> Iterator[None]:
    """The profile, with the warnings that legacy Functions give left unprinted."""
    with torch.profile(profile), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


# --- used once, and dying ---


@every_allowed
def test_instance_is_its_own_context(profile: str) -> None:
    with legacy(profile):
        f, x = Square(), leaf(3.0)
        y = f(x)
        assert y.grad_fn is f
        assert y.tolist() == [9.0]
        y.backward()
        assert x.grad.tolist() == [6.0]


@every_allowed
def test_instance_lives_through_its_graph_and_goes_with_it(profile: str) -> None:
    with legacy(profile), collector_off():
        f = Id()
        alive = weakref.ref(f)
        y = f(leaf())
        del f
        assert alive() is not None
        del y
        assert alive() is None


def test_instance_answers_by_itself_after_its_graph_died_in_1_1() -> None:
    with legacy("torch-1.1"):
        f, x = Id(), leaf(7.0)
        f(x)
        assert [type(after).__name__ for after, _ in f.next_functions] == ["AccumulateGrad"]
        assert [saved.tolist() for saved in f.saved_tensors] == [[7.0]]
        (gradient,) = f._do_backward((torch.ones(1),), True)
        assert gradient.tolist() == [7.0]


def test_instance_is_a_shell_after_its_graph_died_in_1_2() -> None:
    with legacy("torch-1.2"):
        f, hooked = Id(), leaf()
        hooked.register_hook(nothing)
        f(leaf(7.0))
        touches: list[tuple[Callable[[], Any], str]] = [
            (lambda: f.next_functions, NEXT_BEFORE_CALL),
            (lambda: f.saved_tensors, FREED_BEFORE_1_8),
            (lambda: f._do_backward((torch.ones(1),), True), BACKWARD_BEFORE_CALL),
            (lambda: f.register_hook(nothing), HOOK_BEFORE_CALL),
            (lambda: f._register_hook_dict(hooked), HOOK_DICT_BEFORE_CALL),
        ]
        for touch, text in touches:
            assert failure(touch) == f"RuntimeError: {text}"


def test_do_backward_of_an_instance_whose_graph_lives_runs_its_backward_in_1_2() -> None:
    with legacy("torch-1.2"):
        f = Id()
        y = f(leaf(7.0))
        (gradient,) = y.grad_fn._do_backward((torch.ones(1),), True)
        assert gradient.tolist() == [7.0]


def test_instance_called_again_after_its_first_graph_died_has_a_right_gradient_in_1_1() -> None:
    with legacy("torch-1.1"):
        f, x = Id(), leaf(5.0)
        f(leaf(3.0))
        f(x).backward()
        assert x.grad.tolist() == [5.0]


def test_death_of_its_first_graph_marks_the_instance_as_freed_in_1_2() -> None:
    with legacy("torch-1.2"):
        f = Id()
        f(leaf(3.0))
        y = f(leaf(5.0))
        assert failure(y.backward) == f"RuntimeError: {FREED_BEFORE_1_8}"


@every_allowed
def test_backward_of_the_first_call_marks_the_instance_as_freed(profile: str) -> None:
    with legacy(profile):
        f = Id()
        f(leaf(3.0)).backward()
        y = f(leaf(5.0))
        assert failure(y.backward) == f"RuntimeError: {FREED_BEFORE_1_8}"


@every_allowed
def test_instance_that_saves_nothing_can_be_called_again(profile: str) -> None:
    class Pass(torch.autograd.Function):
        def forward(self, x: Any) -> Any:  # type: ignore[override]
            return x * 1

        def backward(self, grad: Any) -> Any:  # type: ignore[override]
            return grad

    with legacy(profile):
        f, x = Pass(), leaf(5.0)
        f(leaf(3.0)).backward()
        f(x).backward()
        assert x.grad.tolist() == [1.0]


# --- applied twice: the second call clobbers the first ---


@every_allowed
def test_second_application_clobbers_the_first(profile: str) -> None:
    with legacy(profile):
        f, x1, x2 = Id(), leaf(3.0), leaf(5.0)
        y = f(x1)
        z = f(x2)
        assert y.grad_fn is z.grad_fn is f
        y.backward()
        assert x1.grad is None
        assert x2.grad.tolist() == [5.0]


@every_allowed
def test_clobbered_application_leaves_nothing_behind(profile: str) -> None:
    with legacy(profile), collector_off():
        before = torch.live_counts()
        f = Id()
        y, z = f(leaf(3.0)), f(leaf(5.0))
        assert torch.live_counts()["context"] == before["context"] + 1
        assert torch.live_counts()["node"] == before["node"] + 2
        del f, y, z
        assert torch.live_counts() == before


def test_consumed_instance_refuses_its_second_application() -> None:
    with legacy(CONSUMED):
        f, x = Id(), leaf(3.0)
        y = f(x)
        with pytest.raises(RuntimeError, match="this legacy Function was applied already and is consumed"):
            f(leaf(5.0))
        y.backward()
        assert x.grad.tolist() == [3.0]


def test_consumed_instance_refuses_even_after_its_first_graph_died() -> None:
    with legacy(CONSUMED):
        f = Id()
        f(leaf(3.0))
        with pytest.raises(RuntimeError, match="consumed"):
            f(leaf(5.0))


# --- the warning, and counts that stay balanced ---


def test_1_1_warns_of_nothing() -> None:
    with torch.profile("torch-1.1"), warnings.catch_warnings(record=True) as result:
        warnings.simplefilter("always")
        Id()(leaf())
        assert result == []


def test_1_2_warns_with_its_text() -> None:
    with torch.profile("torch-1.2"), pytest.warns(UserWarning, match="deprecated") as result:
        Id()(leaf())
    assert [str(warning.message) for warning in result] == [DEPRECATED]


def warnings_of_second_call(profile: str, is_first_alive: bool) -> list[str]:
    with torch.profile(profile), warnings.catch_warnings(record=True) as result:
        warnings.simplefilter("ignore")
        f = Id()
        kept = f(leaf(3.0))
        if not is_first_alive:
            del kept
        warnings.simplefilter("always")
        f(leaf(5.0))
    return [str(warning.message) for warning in result]


@pytest.mark.parametrize(
    ("profile", "is_first_alive", "texts"),
    [
        ("torch-1.1", True, []),
        ("torch-1.2", True, [DEPRECATED, CALLED_TWICE]),
        ("torch-1.2", False, [DEPRECATED]),
    ],
)
def test_second_call_warns_in_1_2_while_the_first_graph_is_alive(
    profile: str, is_first_alive: bool, texts: list[str]
) -> None:
    assert warnings_of_second_call(profile, is_first_alive) == texts


def test_second_call_that_raises_its_warning_leaves_the_first_graph_whole() -> None:
    with legacy("torch-1.2"), collector_off():
        before = torch.live_counts()
        f, x = Id(), leaf(3.0)
        y = f(x)
        warnings.filterwarnings("error", message="Legacy autograd function object was called twice")
        assert failure(partial(f, leaf(5.0))) == f"UserWarning: {CALLED_TWICE}"
        y.backward()
        assert x.grad.tolist() == [3.0]
        del f, x, y
        assert torch.live_counts() == before


# --- what is checked ---

INVALID = "TypeError: _do_backward received an invalid combination of arguments - got ({}), but expected (tuple, bool)"


@every_allowed
def test_do_backward_checks_its_arguments(profile: str) -> None:
    with legacy(profile):
        f, gradient = Id(), torch.ones(1)
        y = f(leaf(7.0))
        calls: list[tuple[tuple[Any, ...], str]] = [
            ((), "RuntimeError: _do_backward expects exactly two arguments"),
            (((gradient,), True, 1), "RuntimeError: _do_backward expects exactly two arguments"),
            (([gradient], True), INVALID.format("!list!, bool")),
            (((gradient,), 1), INVALID.format("tuple, !int!")),
            ((None, None), INVALID.format("!NoneType!, !NoneType!")),
            (((gradient, gradient), True), "RuntimeError: Id got an invalid number of gradients (expected 1 got 2)"),
            (((), True), "RuntimeError: Id got an invalid number of gradients (expected 1 got 0)"),
        ]
        for arguments, text in calls:
            assert failure(partial(f._do_backward, *arguments)) == text
        assert [gradient.tolist() for gradient in f._do_backward((None,), True)] == [[0.0]]
        del y


@every_allowed
def test_legacy_call_takes_tensors_only(profile: str) -> None:
    with legacy(profile):
        for wrong, name in ((5, "int"), (None, "NoneType"), ([leaf()], "list")):
            text = f"RuntimeError: expected a Variable argument, but got {name}"
            assert failure(partial(Id(), wrong)) == text


class Two(torch.autograd.Function):
    """Two inputs, of which the second gets no gradient."""

    def forward(self, a: Any, b: Any) -> Any:  # type: ignore[override]
        return a * 1 + b * 1

    def backward(self, grad: Any) -> Any:  # type: ignore[override]
        return grad, None


class StaticTwo(torch.autograd.Function):
    """The same in the static style."""

    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        return a * 1 + b * 1

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad, None


def gradients_in_a_hook(call: Callable[..., Any], needs_grad: bool) -> list[Any]:
    seen: list[Any] = []
    y = call(leaf(3.0), torch.ones(1).requires_grad_(needs_grad))
    y.grad_fn.register_hook(lambda inputs, outputs: seen.extend(inputs))
    y.backward()
    return [None if gradient is None else gradient.tolist() for gradient in seen]


@pytest.mark.parametrize(
    ("profile", "needs_grad", "of_legacy", "of_static"),
    [
        ("torch-1.1", True, [[1.0], [0.0]], [[1.0], [0.0]]),
        ("torch-1.1", False, [[1.0], [0.0]], [[1.0], None]),
        ("torch-1.2", True, [[1.0], [0.0]], [[1.0], [0.0]]),
        ("torch-1.2", False, [[1.0], [0.0]], [[1.0], None]),
        ("torch-1.8", True, None, [[1.0], None]),
        ("torch-2.13", True, None, [[1.0], None]),
    ],
)
def test_none_from_backward_is_zeros_in_a_node_hook_up_to_1_2(
    profile: str, needs_grad: bool, of_legacy: list[Any] | None, of_static: list[Any]
) -> None:
    with legacy(profile):
        assert gradients_in_a_hook(StaticTwo.apply, needs_grad) == of_static
        if of_legacy is not None:
            assert gradients_in_a_hook(Two(), needs_grad) == of_legacy


@every_allowed
def test_legacy_backward_is_differentiable_once(profile: str) -> None:
    with legacy(profile):
        x, incoming = leaf(3.0), leaf(1.0)
        (plain,) = torch.autograd.grad(Square()(x), x, create_graph=True)
        assert not plain.requires_grad
        (gradient,) = torch.autograd.grad(Square()(x), x, incoming, create_graph=True)
        assert gradient.requires_grad
        text = "RuntimeError: SquareLegacyBackward is not differentiable twice"
        assert failure(lambda: torch.autograd.grad(gradient, incoming)) == text


@pytest.mark.parametrize("action", ["always", "ignore", "error"])
def test_counts_balance_whatever_becomes_of_the_warning(action: Any, capsys: pytest.CaptureFixture[str]) -> None:
    def use() -> str:
        f, x = Id(), leaf(3.0)
        try:
            f(x).backward()
        except UserWarning as warning:
            return str(warning)
        return str(x.grad.tolist())

    before = torch.live_counts()
    with torch.profile("torch-1.2"), warnings.catch_warnings(), collector_off(), unraisable_errors() as errors:
        warnings.simplefilter(action)
        warnings.showwarning = lambda message, *ignored: print(message)
        answers = {use() for _ in range(3)}
        assert torch.live_counts() == before
    assert errors == []
    assert answers == ({DEPRECATED} if action == "error" else {"[3.0]"})
    assert capsys.readouterr().out.count(DEPRECATED) == (3 if action == "always" else 0)


def test_instance_whose_warning_was_raised_can_be_applied_afterwards() -> None:
    with torch.profile("torch-1.2"), warnings.catch_warnings():
        f, x = Id(), leaf(3.0)
        warnings.simplefilter("error")
        with pytest.raises(UserWarning):
            f(x)
        warnings.simplefilter("ignore")
        f(x).backward()
        assert x.grad.tolist() == [3.0]


@every_allowed
def test_forward_that_raises_leaves_the_counts_as_they_were(profile: str) -> None:
    class Boom(torch.autograd.Function):
        def forward(self, x: Any) -> Any:  # type: ignore[override]
            self.save_for_backward(x)
            raise ValueError("boom")

    with legacy(profile), collector_off():
        before = torch.live_counts()
        assert failure(lambda: Boom()(leaf())) == "ValueError: boom"
        assert torch.live_counts() == before


# --- before the first call ---


def test_hook_before_the_first_call_runs_in_1_1() -> None:
    calls: list[int] = []
    with legacy("torch-1.1"):
        f, x = Id(), leaf(3.0)
        f.register_hook(lambda inputs, outputs: calls.append(len(inputs)))
        f(x).backward()
        assert calls == [1]


@pytest.mark.parametrize(
    ("profile", "text"), [("torch-1.2", HOOK_BEFORE_CALL), ("torch-1.10", invalid("register_hook"))]
)
def test_hook_before_the_first_call_was_refused_from_1_2_on(profile: str, text: str) -> None:
    with legacy(profile):
        f = Id()
        with pytest.raises(RuntimeError) as error:
            f.register_hook(nothing)
        assert str(error.value) == text


def test_hook_before_any_call_is_taken_again_in_2_13() -> None:
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        f = Id()
    handle = f.register_hook(nothing)
    handle.remove()


@pytest.mark.parametrize("profile", REFUSED)
def test_instance_called_directly_is_refused_with_what_to_do(profile: str) -> None:
    with legacy(profile):
        f = Id()
        with pytest.raises(RuntimeError) as error:
            f(leaf())
        assert str(error.value) == REFUSAL


@pytest.mark.parametrize("profile", REFUSED)
def test_refused_call_leaves_the_counts_as_they_were(profile: str) -> None:
    with legacy(profile), collector_off():
        before = torch.live_counts()
        assert failure(lambda: Id()(leaf())) == f"RuntimeError: {REFUSAL}"
        assert torch.live_counts() == before


@pytest.mark.torch
@pytest.mark.faithful
def test_refusal_and_hook_are_as_in_the_real_torch() -> None:
    import torch as real

    class RealId(real.autograd.Function):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return x

    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        f = RealId()
    f.register_hook(nothing)
    with pytest.raises(RuntimeError) as error:
        f(real.ones(1))
    assert str(error.value).strip() == REFUSAL
