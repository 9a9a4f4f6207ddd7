"""Hooks on saved tensors that raise, return the wrong thing, or are set where they may not be."""

from __future__ import annotations

from typing import Any

import pytest

import gradlife.engine as torch
from engine_tools import Counted, copy_of, identity, leaf, text_of
from torch_texts import HOOKS_ALREADY_SET, HOOKS_ON_FREED, PACK_CHANGED_ITS_INPUT, UNDEFINED_TENSOR

pytestmark = pytest.mark.valgrind

saved_tensors_hooks = torch.autograd.graph.saved_tensors_hooks
CANNOT_PUSH = (
    "_push_saved_tensors_default_hooks(): incompatible function arguments. The following argument types are supported:\n"
    "    1. (arg0: collections.abc.Callable, arg1: collections.abc.Callable) -> None"
)
CANNOT_REGISTER = (
    "register_hooks(): incompatible function arguments. The following argument types are supported:\n"
    "    1. (self: torch._C._autograd.SavedTensor, arg0: collections.abc.Callable, arg1: collections.abc.Callable) -> None"
)


def test_a_type_error_of_a_pack_hook_lets_the_other_operand_answer() -> None:
    """PyTorch's operators answer every TypeError with NotImplemented; its functions pass it on."""

    pack: Any = lambda one, other: one  # noqa: E731
    x = leaf()
    with saved_tensors_hooks(pack, identity):
        with pytest.raises(TypeError, match="unsupported operand type"):
            _ = x * x
        with pytest.raises(TypeError, match="missing 1 required positional argument: 'other'"):
            x.mul(x)


def test_pack_raising_leaves_nothing_behind() -> None:
    hooks = Counted()
    calls = 0

    def pack(tensor: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise ValueError("pack boom")
        return hooks.box

    x, w = leaf(), leaf()
    with pytest.raises(ValueError) as error, saved_tensors_hooks(pack, hooks.unpack):
        _ = x * w
    assert text_of(error) == "pack boom"
    assert calls == 2
    del error
    assert hooks.counts() == [0, 0, 0]
    x.sin().sum().backward()  # no hook is active any more
    assert calls == 2


def test_register_hooks_whose_pack_raises_leaves_hooks_without_data() -> None:
    """As torch does: the exception arrives, the hooks stay, and the next unpack is called with nothing."""

    def pack(tensor: Any) -> Any:
        raise KeyError("raw boom")

    def unpack(box: Any) -> Any:
        return box

    x = leaf()
    y = x.sin()
    raw = y.grad_fn._raw_saved_self
    with pytest.raises(KeyError, match="raw boom"):
        raw.register_hooks(pack, unpack)
    with pytest.raises(RuntimeError) as refused:
        raw.register_hooks(pack, unpack)
    assert text_of(refused) == HOOKS_ALREADY_SET
    with pytest.raises(TypeError, match=r"unpack\(\) missing 1 required positional argument: 'box'$"):
        y.sum().backward()
    assert raw.unpack_hook is unpack  # PyTorch 2.13 crashes here
    assert raw.data is None


def test_unpack_raising_arrives_as_itself_and_leaves_the_node_whole() -> None:
    class Boom(Exception):
        pass

    hooks = Counted()
    fails = [True]

    def unpack(box: Any) -> Any:
        if fails[0]:
            raise Boom("unpack boom")
        return torch.tensor([0.0])

    x = leaf()
    with saved_tensors_hooks(hooks.pack, unpack):
        y = x.sin()
    for _ in range(2):
        with pytest.raises(Boom, match=r"^unpack boom$"):
            y.sum().backward()
    with pytest.raises(Boom):
        _ = y.grad_fn._saved_self
    assert hooks.counts()[2] == 1
    fails[0] = False
    y.sum().backward()
    assert x.grad.tolist() == [1.0]
    assert hooks.counts()[2] == 0


def test_up_to_1_13_a_hooks_exception_arrives_quoted_in_a_runtime_error() -> None:
    def boom(value: Any) -> Any:
        raise ValueError("boom")

    with torch.profile("torch-1.10"):
        x = leaf()
        with pytest.raises(RuntimeError) as error, saved_tensors_hooks(boom, identity):
            x.sin()
        assert text_of(error) == "ValueError: boom"
        with saved_tensors_hooks(copy_of, boom):
            y = x.sin()
        with pytest.raises(RuntimeError) as error:
            y.sum().backward()
        assert text_of(error) == "ValueError: boom"


@pytest.mark.parametrize(("result", "name"), [(None, "NoneType"), (3, "int"), ([1.0], "list"), ((), "tuple")])
def test_unpack_returning_no_tensor_is_a_type_error_that_names_the_type(result: Any, name: str) -> None:
    with saved_tensors_hooks(copy_of, lambda packed: result):
        y = leaf().sin()
    for use in (lambda: y.grad_fn._saved_self, y.sum().backward):
        with pytest.raises(TypeError) as error:
            use()
        assert text_of(error) == (
            f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {name}"
        )


def test_a_packed_none_goes_to_unpack_like_anything_else() -> None:
    x = leaf()
    with saved_tensors_hooks(lambda tensor: None, lambda packed: torch.tensor([0.0 if packed is None else 9.0])):
        y = x.sin()
    y.sum().backward()
    assert x.grad.tolist() == [1.0]


def test_unpack_of_the_wrong_shape_fails_where_it_is_used() -> None:
    x = leaf(1.0, 2.0, 3.0)
    with saved_tensors_hooks(copy_of, lambda packed: torch.ones(2)):
        y = x.sin()
    with pytest.raises(RuntimeError) as error:
        y.sum().backward()
    assert text_of(error) == (
        "The size of tensor a (3) must match the size of tensor b (2) at non-singleton dimension 0"
    )


def change_in_place(tensor: Any) -> Any:
    return tensor.mul_(2)


def test_a_default_pack_may_not_change_its_input_in_place() -> None:
    x = torch.tensor([2.0])
    w = leaf()
    with pytest.raises(RuntimeError) as error, saved_tensors_hooks(change_in_place, identity):
        _ = x * w
    assert text_of(error) == PACK_CHANGED_ITS_INPUT


def test_releases_before_2_13_said_it_in_slightly_other_words() -> None:
    with torch.profile("torch-1.10"):
        x, w = leaf(), torch.tensor([2.0])
        with pytest.raises(RuntimeError) as error, saved_tensors_hooks(change_in_place, identity):
            _ = x * w
    assert text_of(error) == PACK_CHANGED_ITS_INPUT.replace("cannot be modified", "can not be modified")


def test_a_registered_pack_may_not_change_its_input_in_place() -> None:
    y = torch.tensor([2.0]) * leaf()
    with pytest.raises(RuntimeError) as error:
        y.grad_fn._raw_saved_other.register_hooks(change_in_place, identity)
    assert text_of(error) == "Calling register_hooks on a saved tensor with value None is forbidden"
    with pytest.raises(RuntimeError) as error:
        y.grad_fn._raw_saved_self.register_hooks(change_in_place, identity)
    assert text_of(error) == PACK_CHANGED_ITS_INPUT


def test_hooks_are_set_once_a_slot() -> None:
    y = leaf().sin()
    raw = y.grad_fn._raw_saved_self
    raw.register_hooks(copy_of, identity)
    with pytest.raises(RuntimeError) as error:
        raw.register_hooks(copy_of, identity)
    assert text_of(error) == HOOKS_ALREADY_SET
    with saved_tensors_hooks(copy_of, identity):
        z = leaf().sin()
    with pytest.raises(RuntimeError) as error:
        z.grad_fn._raw_saved_self.register_hooks(copy_of, identity)
    assert text_of(error) == HOOKS_ALREADY_SET


def test_hooks_on_a_freed_slot_are_refused_and_keep_nothing() -> None:
    hooks = Counted()
    y = leaf().sin()
    raw = y.grad_fn._raw_saved_self
    y.sum().backward()
    with pytest.raises(RuntimeError) as error:
        raw.register_hooks(hooks.pack, hooks.unpack)
    assert text_of(error) == HOOKS_ON_FREED
    del error
    assert hooks.counts() == [0, 0, 0]


@pytest.mark.parametrize("pair", [(1, identity), (identity, None), ("a", "b")])
def test_hooks_that_cannot_be_called_are_a_type_error(pair: Any) -> None:
    y = leaf().sin()
    with pytest.raises(TypeError) as error:
        y.grad_fn._raw_saved_self.register_hooks(*pair)
    assert text_of(error).startswith(CANNOT_REGISTER)
    with pytest.raises(TypeError) as error, saved_tensors_hooks(*pair):
        pass
    assert text_of(error).startswith(CANNOT_PUSH)
    assert torch._C._autograd._top_saved_tensors_default_hooks(True) is None


def test_hooks_may_be_set_after_an_in_place_change_and_hide_it() -> None:
    x, w = leaf(), torch.tensor([5.0])
    y = x * w
    w.add_(1)
    y.grad_fn._raw_saved_other.register_hooks(copy_of, identity)
    y.sum().backward()
    assert x.grad.tolist() == [6.0]


@pytest.mark.parametrize(
    ("change", "argument"),
    [
        (torch.Tensor.sigmoid_, "#1 'output'"),
        (torch.Tensor.tanh_, "#1 'output'"),
        (torch.Tensor.exp_, "#1 'other'"),
        (torch.Tensor.relu_, "#1 'self'"),
    ],
)
def test_result_that_no_hook_could_pack_is_missing_in_backward(change: Any, argument: str) -> None:
    """The operation is in the graph when its result is to be saved; backward ended the process."""

    def pack(tensor: Any) -> Any:
        raise ValueError("pack boom")

    x = leaf()
    y = x * 2
    with pytest.raises(ValueError, match="pack boom"), saved_tensors_hooks(pack, identity):
        change(y)
    assert y.grad_fn._saved_result is None
    for _ in range(2):
        with pytest.raises(RuntimeError) as error:
            y.sum().backward()
        assert text_of(error) == f"{UNDEFINED_TENSOR} for argument {argument}"
    assert x.grad is None
