"""Attributes of a held grad_fn while its node lives, after its buffers are freed, and after the node is gone.

"Buffers freed" and "node dead" are two things: backward frees the buffers of a node that lives on in its output;
dropping the output kills the node, unless the held grad_fn owns it (before PyTorch 1.2, and again in 2.13).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import gradlife.engine as torch
from function_texts import BACKWARD_BEFORE_CALL, HOOK_BEFORE_CALL, NEXT_BEFORE_CALL, NODE_IS_GONE, invalid
from gradlife.engine.autograd.graph import GradientEdge, get_gradient_edge
from lifetimes import RELEASES, Canary, collector_off, doubling, leaf, nothing, save_input
from torch_texts import FREED, FREED_BEFORE_1_8

OWNS_ITS_NODE = ("torch-1.1", "torch-2.13")
IS_A_SHELL = ("torch-1.2", "torch-1.10")
every_release = pytest.mark.parametrize("profile", RELEASES)


def lacks(name: str) -> str:
    return f"AttributeError: 'FBackward' object has no attribute '{name}'"


# Each attribute, as something to do with a grad_fn; its answer is a value or the type and text of the error.
TOUCHES: dict[str, Callable[[Any], Any]] = {
    "metadata": lambda fn: fn.metadata,
    "name": lambda fn: fn.name(),
    "needs_input_grad": lambda fn: fn.needs_input_grad,
    "next_functions": lambda fn: [type(after).__name__ for after, _ in fn.next_functions],
    "register_hook": lambda fn: type(fn.register_hook(nothing)).__name__,
    "register_prehook": lambda fn: type(fn.register_prehook(nothing)).__name__,
    "requires_grad": lambda fn: fn.requires_grad,
    "saved_tensors": lambda fn: [tensor.tolist() for tensor in fn.saved_tensors],
    "saved_variables": lambda fn: [tensor.tolist() for tensor in fn.saved_variables],
}

ALIVE = {
    "metadata": {},
    "name": "FBackward",
    "needs_input_grad": (True,),
    "next_functions": ["AccumulateGrad"],
    "register_hook": "RemovableHandle",
    "register_prehook": "RemovableHandle",
    "requires_grad": True,
    "saved_tensors": [[1.0, 1.0]],
    "saved_variables": [[1.0, 1.0]],
}
ABSENT = {
    "torch-1.1": {"name": lacks("name"), "register_prehook": lacks("register_prehook")},
    "torch-1.2": {"name": lacks("name"), "register_prehook": lacks("register_prehook")},
    "torch-1.10": {"register_prehook": lacks("register_prehook")},
    "torch-2.13": {},
}
GONE = {
    "torch-1.1": {},
    "torch-1.2": {
        "metadata": f"RuntimeError: {NODE_IS_GONE}",
        "next_functions": f"RuntimeError: {NEXT_BEFORE_CALL}",
        "register_hook": f"RuntimeError: {HOOK_BEFORE_CALL}",
        "saved_tensors": f"RuntimeError: {FREED_BEFORE_1_8}",
        "saved_variables": f"RuntimeError: {FREED_BEFORE_1_8}",
    },
    "torch-1.10": {
        "metadata": f"RuntimeError: {NODE_IS_GONE}",
        "name": f"RuntimeError: {invalid('name')}",
        "next_functions": f"RuntimeError: {invalid('next_functions')}",
        "register_hook": f"RuntimeError: {invalid('register_hook')}",
        "saved_tensors": f"RuntimeError: {FREED}",
        "saved_variables": f"RuntimeError: {FREED}",
    },
    "torch-2.13": {},
}
every_attribute = pytest.mark.parametrize("attribute", TOUCHES)
pytestmark = pytest.mark.filterwarnings("ignore:'saved_variables' is deprecated:DeprecationWarning")


def freed(profile: str) -> dict[str, str]:
    text = FREED if profile in ("torch-1.10", "torch-2.13") else FREED_BEFORE_1_8
    return {"saved_tensors": f"RuntimeError: {text}", "saved_variables": f"RuntimeError: {text}"}


def answer(touch: Callable[[Any], Any], fn: Any) -> Any:
    """The value, or the error as its type and text; nothing of it is kept."""
    try:
        return touch(fn)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@every_release
@every_attribute
def test_attribute_answers_while_the_node_lives(profile: str, attribute: str) -> None:
    expected = {**ALIVE, **ABSENT[profile]}
    with torch.profile(profile):
        y = doubling(save_input).apply(leaf())
        assert answer(TOUCHES[attribute], y.grad_fn) == expected[attribute]


@every_release
@every_attribute
def test_freed_buffers_forbid_the_saved_tensors_and_nothing_else(profile: str, attribute: str) -> None:
    expected = {**ALIVE, **ABSENT[profile], **freed(profile)}
    with torch.profile(profile):
        y = doubling(save_input).apply(leaf())
        y.sum().backward()
        assert answer(TOUCHES[attribute], y.grad_fn) == expected[attribute]


@every_release
@every_attribute
def test_attribute_of_a_held_grad_fn_after_its_outputs_are_gone(profile: str, attribute: str) -> None:
    expected = {**ALIVE, **ABSENT[profile], **GONE[profile]}
    with torch.profile(profile):
        y = doubling(save_input).apply(leaf())
        fn = y.grad_fn
        del y
        assert answer(TOUCHES[attribute], fn) == expected[attribute]


@every_release
@every_attribute
def test_attribute_of_a_held_grad_fn_after_backward_and_its_outputs_are_gone(profile: str, attribute: str) -> None:
    expected = {**ALIVE, **ABSENT[profile], **freed(profile), **GONE[profile]}
    with torch.profile(profile):
        y = doubling(save_input).apply(leaf())
        fn = y.grad_fn
        y.sum().backward()
        del y
        assert answer(TOUCHES[attribute], fn) == expected[attribute]


@every_release
def test_saved_variables_is_deprecated(profile: str) -> None:
    with torch.profile(profile):
        y = doubling(save_input).apply(leaf())
        with pytest.warns(DeprecationWarning, match="^'saved_variables' is deprecated; use 'saved_tensors'$"):
            y.grad_fn.saved_variables  # noqa: B018


@every_release
def test_held_grad_fn_keeps_what_was_saved_only_where_it_owns_its_node(profile: str) -> None:
    with torch.profile(profile):
        nothing_yet = torch.live_bytes()
        y = doubling(save_input).apply(leaf().exp())
        fn = y.grad_fn
        of_output, before = 8, torch.live_bytes()
        del y
        assert torch.live_bytes() == (before - of_output if profile in OWNS_ITS_NODE else nothing_yet)
        del fn
        assert torch.live_bytes() == nothing_yet


@every_release
def test_held_grad_fn_keeps_nothing_saved_after_backward(profile: str) -> None:
    with torch.profile(profile):
        nothing_yet = torch.live_bytes()
        x = leaf()
        y = doubling(save_input).apply(x.exp())
        fn = y.grad_fn
        y.sum().backward()
        del y
        of_leaf_and_gradient = 16
        assert torch.live_bytes() == nothing_yet + of_leaf_and_gradient
        del fn


@every_release
def test_node_count_distinguishes_a_shell_from_an_owner(profile: str) -> None:
    with torch.profile(profile):
        y = doubling().apply(leaf())
        fn = y.grad_fn
        nodes = torch.live_counts()["node"]
        del y
        # the shell's node took the leaf's accumulator along
        assert nodes - torch.live_counts()["node"] == (0 if profile in OWNS_ITS_NODE else 2)
        assert torch.live_counts()["context"] == 1
        del fn
        assert torch.live_counts()["context"] == 0


@pytest.mark.parametrize("profile", IS_A_SHELL)
def test_shell_cannot_be_the_root_of_a_backward(profile: str) -> None:
    with torch.profile(profile):
        y = doubling().apply(leaf())
        edge = GradientEdge(y.grad_fn, 0)  # by hand: get_gradient_edge owns the node
        del y
        with pytest.raises(RuntimeError, match="_input_metadata"):
            torch.autograd.backward(edge, torch.ones(2))


@pytest.mark.parametrize("profile", OWNS_ITS_NODE)
def test_grad_fn_that_owns_its_node_can_be_the_root_of_a_backward(profile: str) -> None:
    with torch.profile(profile):
        x = leaf()
        edge = get_gradient_edge(doubling().apply(x))
        torch.autograd.backward(edge, torch.ones(2))
        assert x.grad.tolist() == [2.0, 2.0]


@pytest.mark.parametrize("profile", IS_A_SHELL)
def test_shell_stays_a_shell_and_keeps_its_own_attributes(profile: str) -> None:
    with torch.profile(profile):
        y = doubling().apply(leaf())
        fn = y.grad_fn
        fn.note = "mine"
        del y
        assert fn.note == "mine"
        with pytest.raises(RuntimeError):
            fn.next_functions  # noqa: B018
        assert fn.note == "mine"


@every_release
def test_metadata_goes_with_the_node_not_with_the_grad_fn(profile: str) -> None:
    deaths: list[str] = []
    with torch.profile(profile), collector_off():
        y = doubling().apply(leaf())
        fn = y.grad_fn
        fn.metadata["canary"] = Canary(lambda: deaths.append("gone"))
        del y
        assert deaths == ([] if profile in OWNS_ITS_NODE else ["gone"])
        del fn
        assert deaths == ["gone"]


@every_release
def test_hook_registered_on_a_node_that_lives_is_called_and_on_a_shell_never(profile: str) -> None:
    calls: list[str] = []
    with torch.profile(profile):
        y = doubling().apply(leaf())
        fn = y.grad_fn
        fn.register_hook(lambda *ignored: calls.append("called"))
        y.sum().backward()
        assert calls == ["called"]


# --- a context applied by nobody, and calls that make no sense ---


def test_context_never_applied_has_a_node_of_its_own_in_2_13() -> None:
    context = doubling()._backward_cls()
    assert context.next_functions == ()
    assert context.metadata == {}
    assert context.name() == "FBackward"
    assert context.saved_tensors == ()
    assert context.needs_input_grad is None


@pytest.mark.parametrize("attribute", GONE["torch-1.10"])
def test_context_never_applied_answers_as_a_shell_in_1_10(attribute: str) -> None:
    with torch.profile("torch-1.10"):
        context = doubling()._backward_cls()
        if attribute.startswith("saved"):
            assert answer(TOUCHES[attribute], context) == []
        else:
            assert answer(TOUCHES[attribute], context) == GONE["torch-1.10"][attribute]


@every_release
def test_grad_fn_cannot_be_called(profile: str) -> None:
    with torch.profile(profile):
        fn = doubling().apply(leaf()).grad_fn
        assert answer(lambda held: held(torch.ones(2)), fn) == "TypeError: 'FBackward' object is not callable"


@every_release
def test_apply_of_a_held_grad_fn_runs_its_backward_even_as_a_shell(profile: str) -> None:
    with torch.profile(profile):
        fn = doubling().apply(leaf()).grad_fn
        assert fn.apply(torch.ones(2)).tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        ("torch-1.1", "RuntimeError: function FBackward doesn't implement a required 'backward' method"),
        (
            "torch-1.2",
            f"RuntimeError: {BACKWARD_BEFORE_CALL}",
        ),
        ("torch-1.10", lacks("_do_backward")),
        ("torch-2.13", lacks("_do_backward")),
    ],
)
def test_do_backward_of_a_held_grad_fn(profile: str, expected: str) -> None:
    with torch.profile(profile):
        fn = doubling().apply(leaf()).grad_fn
        assert answer(lambda held: held._do_backward((torch.ones(2),), True), fn) == expected


# --- C++ nodes own themselves in every release ---


@every_release
def test_cpp_node_held_alone_keeps_its_edges_and_its_name(profile: str) -> None:
    with torch.profile(profile):
        fn = (leaf() * leaf()).grad_fn
        assert fn.name() == "MulBackward0"
        assert [type(after).__name__ for after, _ in fn.next_functions] == ["AccumulateGrad", "AccumulateGrad"]
        assert type(fn.register_hook(nothing)).__name__ == "RemovableHandle"


@pytest.mark.parametrize("profile", ["torch-1.10", "torch-2.13"])
def test_cpp_node_held_alone_keeps_what_it_saved_until_backward(profile: str) -> None:
    with torch.profile(profile):
        y = leaf(3.0) * leaf(5.0)
        fn = y.grad_fn
        assert fn._saved_self.tolist() == [3.0]
        y.backward()
        del y
        assert answer(lambda held: held._saved_self, fn) == f"RuntimeError: {FREED}"


@pytest.mark.parametrize("profile", ["torch-1.1", "torch-1.2"])
def test_cpp_nodes_showed_nothing_of_what_they_saved_before_1_9(profile: str) -> None:
    with torch.profile(profile):
        fn = (leaf() * leaf()).grad_fn
        text = "AttributeError: 'MulBackward0' object has no attribute '_saved_self'"
        assert answer(lambda held: held._saved_self, fn) == text
