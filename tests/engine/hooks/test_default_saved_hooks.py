"""The stack of default hooks of a thread: nesting, popping, disabling, and save_on_cpu."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

import gradlife.engine as torch
from engine_tools import Counted, copy_of, identity, in_thread, leaf, telling_hooks, text_of
from processes import comes_true

saved_tensors_hooks = torch.autograd.graph.saved_tensors_hooks
EMPTY_STACK = 'is_initialized && !tls.stack.empty() INTERNAL ASSERT FAILED at "'


def test_default_hooks_start_empty_and_are_seen_while_they_are_set() -> None:
    top = torch._C._autograd._top_saved_tensors_default_hooks
    assert top(True) is None
    with saved_tensors_hooks(copy_of, identity):
        assert top(True) == (copy_of, identity)
    assert top(True) is None


def test_only_the_innermost_pair_applies() -> None:
    log: list[str] = []
    x = leaf()
    with telling_hooks(log, "outer"):
        with telling_hooks(log, "inner"):
            y = x.sin()
        z = y.cos()
    z.sum().backward()
    assert log == ["pack inner", "pack outer", "unpack outer", "unpack inner"]


def test_one_block_may_be_entered_twice_and_packs_once() -> None:
    log: list[str] = []
    block = telling_hooks(log, "it")
    with block, block:
        leaf().sin()
    assert log == ["pack it"]
    leaf().sin()
    assert log == ["pack it"]


def test_nesting_is_refused_by_1_10() -> None:
    with torch.profile("torch-1.10"), saved_tensors_hooks(copy_of, identity):
        with pytest.raises(RuntimeError) as error, saved_tensors_hooks(copy_of, identity):
            pass
        assert text_of(error) == (
            "Setting default hooks but they have already been set. Hint: only one pair of hooks is allowed at a time."
        )


def test_an_exception_that_leaves_the_block_takes_the_hooks_along() -> None:
    log: list[str] = []
    with pytest.raises(ZeroDivisionError), telling_hooks(log, "it"):
        _ = 1 / 0
    leaf().sin()
    assert log == []


def test_popping_an_empty_stack_is_an_internal_assert_and_was_silent_in_1_10() -> None:
    pop = torch._C._autograd._pop_saved_tensors_default_hooks
    with pytest.raises(RuntimeError) as error:
        pop()
    assert text_of(error).startswith(EMPTY_STACK)
    with torch.profile("torch-1.10"):
        pop()
    log: list[str] = []
    with telling_hooks(log, "afterwards"):
        leaf().sin()
    assert log == ["pack afterwards"]


def test_default_hooks_belong_to_their_thread() -> None:
    log: list[str] = []
    x = leaf()
    with telling_hooks(log, "main"):
        assert in_thread(lambda: torch._C._autograd._top_saved_tensors_default_hooks(True)) is None
        y = in_thread(lambda: x.sin())
    assert log == []
    assert y.grad_fn._saved_self is x


def test_hooks_left_on_the_stack_of_a_thread_are_let_go_with_it() -> None:
    hooks = Counted()
    in_thread(lambda: torch._C._autograd._push_saved_tensors_default_hooks(hooks.pack, hooks.unpack))
    # Python's thread is joined before the system's thread has ended, and the latter owns the stack.
    assert comes_true(lambda: hooks.counts() == [0, 0, 0])


def test_an_unpack_runs_in_the_thread_of_the_backward() -> None:
    seen: list[int] = []

    def unpack(packed: Any) -> Any:
        seen.append(threading.get_ident())
        return packed

    def run() -> int:
        y.backward()
        return threading.get_ident()

    with saved_tensors_hooks(copy_of, unpack):
        y = leaf().sin().sum()
    worker = in_thread(run)
    assert seen == [worker]
    assert worker != threading.get_ident()


def test_packing_runs_without_recording() -> None:
    recording: list[bool] = []

    def pack(tensor: Any) -> Any:
        recording.append(torch.is_grad_enabled())
        return tensor * 1

    x = leaf()
    with saved_tensors_hooks(pack, identity):
        y = x.sin()
    assert recording == [False]
    assert y.grad_fn._raw_saved_self.data.grad_fn is None
    assert torch.is_grad_enabled()


def test_hooks_may_save_tensors_themselves() -> None:
    depth: list[int] = []

    def pack(tensor: Any) -> Any:
        depth.append(1)
        with torch.enable_grad(), saved_tensors_hooks(identity, identity):
            return torch.ones(1, requires_grad=True).sin().detach() * 0 + tensor.detach()

    x = leaf(0.0)
    with saved_tensors_hooks(pack, identity):
        y = x.sin()
    y.sum().backward()
    assert depth == [1]
    assert x.grad.tolist() == [1.0]


@pytest.fixture
def disabled() -> Iterator[None]:
    with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
        yield


@pytest.mark.usefixtures("disabled")
def test_hooks_inside_a_disabled_block_raise_its_message() -> None:
    with pytest.raises(RuntimeError, match=r"^not here$"), saved_tensors_hooks(copy_of, identity):
        pass
    assert not torch._C._autograd._saved_tensors_hooks_is_enabled()
    assert torch._C._autograd._saved_tensors_hooks_get_disabled_error_message() == "not here"
    leaf().sin().sum().backward()


@pytest.mark.usefixtures("disabled")
def test_the_inner_of_two_disabled_blocks_gives_the_outer_its_message_back() -> None:
    inner = torch.autograd.graph.disable_saved_tensors_hooks("inner")
    with inner, pytest.raises(RuntimeError, match=r"^inner$"), saved_tensors_hooks(copy_of, identity):
        pass
    with pytest.raises(RuntimeError, match=r"^not here$"), saved_tensors_hooks(copy_of, identity):
        pass


def test_disabling_inside_hooks_raises_and_changes_nothing() -> None:
    log: list[str] = []
    with telling_hooks(log, "it"):
        with (
            pytest.raises(RuntimeError, match=r"^not here$"),
            torch.autograd.graph.disable_saved_tensors_hooks("not here"),
        ):
            pass
        leaf().sin()
    assert log == ["pack it"]
    assert torch._C._autograd._saved_tensors_hooks_is_enabled()


def test_save_on_cpu_packs_the_tensor_with_its_device_and_gives_right_gradients() -> None:
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    with torch.autograd.graph.save_on_cpu():
        y = (x * w).sum()
    device, kept = y.grad_fn.next_functions[0][0]._raw_saved_self.data
    assert str(device) == "cpu"
    assert kept.tolist() == [1.0, 2.0]
    y.backward()
    assert (x.grad.tolist(), w.grad.tolist()) == ([3.0, 4.0], [1.0, 2.0])
