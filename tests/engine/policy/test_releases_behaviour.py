"""Small habits that belong to a release and to no ownership policy: threads, words, what hooks are given."""

from __future__ import annotations

import threading
import weakref
from typing import Any

import pytest

import gradlife.engine as torch
from leftovers import run_script
from lifetimes import doubling, failure, leaf

hooks = torch.autograd.graph.saved_tensors_hooks


@pytest.mark.parametrize(("profile", "elsewhere"), [("torch-1.1", True), ("torch-1.2", True), ("torch-1.8", False)])
def test_backward_of_a_graph_on_the_cpu_ran_in_a_worker_thread_up_to_1_3(profile: str, elsewhere: bool) -> None:
    threads: list[int] = []
    with torch.profile(profile):
        x = leaf()
        doubling(in_backward=lambda ctx: threads.append(threading.get_ident())).apply(x).sum().backward()
        assert (threads[0] != threading.get_ident()) is elsewhere
        assert x.grad.tolist() == [2.0, 2.0]


def test_what_backward_raises_in_the_worker_thread_of_1_1_arrives_with_the_caller() -> None:
    def refuse(ctx: Any) -> None:
        raise ValueError("no gradient today")

    with torch.profile("torch-1.1"):
        y = doubling(in_backward=refuse).apply(leaf()).sum()
        assert failure(y.backward) == "ValueError: no gradient today"


def test_backward_inside_a_backward_stays_in_the_worker_thread_of_1_1() -> None:
    threads: list[int] = []

    def run_another(ctx: Any) -> None:
        threads.append(threading.get_ident())
        with torch.enable_grad():
            doubling(in_backward=lambda ctx: threads.append(threading.get_ident())).apply(leaf()).sum().backward()

    with torch.profile("torch-1.1"):
        doubling(in_backward=run_another).apply(leaf()).sum().backward()
    assert threads[0] == threads[1] != threading.get_ident()


@pytest.mark.parametrize(("profile", "packed"), [("torch-1.10", [1.0]), ("torch-1.13", [1.0]), ("torch-2.9", [])])
def test_numbers_were_packed_like_tensors_before_2_0(profile: str, packed: list[float]) -> None:
    seen: list[Any] = []
    with torch.profile(profile):
        x = leaf()
        with hooks(lambda tensor: seen.append(tensor.tolist()), lambda packed: packed):
            y = x * 1
        assert seen == packed
        del y


@pytest.mark.parametrize(
    ("profile", "text"),
    [
        (
            "torch-1.10",
            "RuntimeError: make_tuple(): unable to convert arguments to Python object (compile in debug mode for details)",
        ),
        (
            "torch-1.13",
            "RuntimeError: Unable to convert call argument to Python object (#define PYBIND11_DETAILED_ERROR_MESSAGES or "
            "compile in debug mode for details)",
        ),
    ],
)
def test_backward_after_a_raising_pack_hook_has_nothing_to_give_to_unpack(profile: str, text: str) -> None:
    def pack(tensor: Any) -> Any:
        raise ValueError("no room")

    with torch.profile(profile):
        y = leaf().sin()
        assert failure(lambda: y.grad_fn._raw_saved_self.register_hooks(pack, lambda packed: packed)).endswith(
            "no room"
        )
        assert failure(y.sum().backward) == text


def test_popping_no_hooks_names_the_place_of_1_13() -> None:
    with torch.profile("torch-1.13"):
        assert failure(torch._C._autograd._pop_saved_tensors_default_hooks).startswith(
            "RuntimeError: pack_hook != nullptr && unpack_hook != nullptr INTERNAL ASSERT FAILED"
        )
    with torch.profile("torch-1.10"):
        torch._C._autograd._reset_saved_tensors_default_hooks()


@pytest.mark.parametrize("profile", ["torch-1.10", "torch-1.13", "torch-2.9"])
def test_printing_an_emptied_wrapper_asks_for_its_device_first(profile: str) -> None:
    with torch.profile(profile):
        x = leaf()
        x.sum().backward()
        stray: Any = weakref.ref(x.grad)()
        x.grad = None
        assert failure(lambda: repr(stray)) == "RuntimeError: tensor does not have a device"


HELD_BY_BUILTINS = """
import builtins, sys
import gradlife.engine as torch
class C:
    def __del__(self):
        sys.stderr.write("gone\\n")
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.c = C()
        return x * 2
builtins._y = F.apply(torch.ones(3, requires_grad=True))
"""


@pytest.mark.parametrize(
    ("profile", "said"), [("torch-1.1", "gone\n"), ("torch-1.8", "gone\n"), ("torch-1.9", ""), ("torch-2.13", "")]
)
def test_contexts_let_go_when_builtins_are_cleared_were_released_before_1_9(profile: str, said: str) -> None:
    done = run_script(HELD_BY_BUILTINS, GRADLIFE_PROFILE=profile)
    assert (done.returncode, done.stderr) == (0, said)
