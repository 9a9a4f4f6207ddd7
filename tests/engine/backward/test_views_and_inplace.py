"""Views share storage, version and history with their base; in-place changes of either reach the other."""

from __future__ import annotations

from typing import Any

import pytest

import gradlife.engine as torch
from engine_tools import leaf, text_of
from torch_texts import IN_PLACE_ON_LEAF, IN_PLACE_ON_VIEW_OF_LEAF

pytestmark = pytest.mark.valgrind


def matrix(requires_grad: bool = False) -> Any:
    return torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=requires_grad)


VIEWS = {
    "view": lambda t: t.view(3, 2),
    "reshape": lambda t: t.reshape(-1),
    "expand": lambda t: t.expand(4, 2, 3),
    "transpose": lambda t: t.transpose(0, 1),
    "t": lambda t: t.t(),
    "int": lambda t: t[1],
    "slice": lambda t: t[:, 1:],
    "step": lambda t: t[:, ::2],
    "None": lambda t: t[None, 0],
    "view_as": lambda t: t.view_as(t),
    "select": lambda t: t.select(1, 2),
    "narrow": lambda t: t.narrow(1, 0, 2),
    "unsqueeze": lambda t: t.unsqueeze(0),
    "permute": lambda t: t.permute(1, 0),
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_shares_storage_and_version_and_names_its_base(name: str) -> None:
    base = matrix() * 1
    view = VIEWS[name](base)
    assert view._is_view()
    assert view._base is base
    assert view.untyped_storage() is base.untyped_storage()
    base.add_(1)
    assert view._version == base._version == 1
    if name != "expand":  # whose elements overlap
        view.mul_(0)
        assert view._version == base._version == 2


@pytest.mark.parametrize("name", VIEWS)
def test_a_gradient_goes_through_a_view_to_the_elements_it_shows(name: str) -> None:
    x = matrix(requires_grad=True)
    VIEWS[name](x).sum().backward()
    with torch.no_grad():
        counted = torch.zeros(2, 3)
        shown = VIEWS[name](torch.arange(6).view(2, 3)).reshape(-1).tolist()
        for index in shown:
            counted.view(-1)[index] += 1
    assert x.grad.tolist() == counted.tolist()


def test_the_base_of_a_view_of_a_view_is_the_first_base() -> None:
    base = matrix()
    view = base[0][1:][None]
    assert view._base is base
    assert view[0]._base is base


def test_a_view_keeps_its_base_alive() -> None:
    before = torch.live_counts()["tensor"]
    view = matrix()[0]
    assert torch.live_counts()["tensor"] == before + 2
    del view
    assert torch.live_counts()["tensor"] == before


def test_a_reshape_that_must_copy_is_no_view() -> None:
    base = matrix()
    copy = base.t().reshape(-1)
    assert not copy._is_view()
    assert copy._base is None
    copy.zero_()
    assert base.tolist() == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def test_a_view_that_does_not_fit_says_so() -> None:
    with pytest.raises(RuntimeError) as error:
        matrix().t().view(-1)
    assert text_of(error) == (
        "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous "
        "subspaces). Use .reshape(...) instead."
    )
    with pytest.raises(RuntimeError) as error:
        matrix().view(4)
    assert text_of(error) == "shape '[4]' is invalid for input of size 6"


# --- in-place on views and bases ---


def test_changing_a_view_in_place_moves_the_base_behind_copy_slices() -> None:
    x = leaf(1.0, 2.0, 3.0, 4.0)
    base = x * 1
    view = base[:2]
    view.mul_(10)
    assert type(base.grad_fn).__name__ == "CopySlices"
    assert type(view.grad_fn).__name__ == "AsStridedBackward0"
    assert base.tolist() == [10.0, 20.0, 3.0, 4.0]
    base.sum().backward()
    assert x.grad.tolist() == [10.0, 10.0, 1.0, 1.0]


def test_the_changed_view_goes_on_with_the_new_history() -> None:
    x = leaf(1.0, 2.0)
    base = x * 1
    view = base[:1]
    view.mul_(10)
    (view * 3).sum().backward()
    assert x.grad.tolist() == [30.0, 0.0]


def test_changing_the_base_in_place_gives_its_views_a_new_history() -> None:
    x = leaf(1.0, 2.0)
    base = x * 1
    view = base[:1]
    before = view.grad_fn
    base.mul_(5)
    assert view.grad_fn is not before
    assert type(view.grad_fn).__name__ == "AsStridedBackward0"
    view.sum().backward()
    assert x.grad.tolist() == [5.0, 0.0]


def test_a_view_changed_by_a_tensor_that_requires_grad_makes_a_constant_base_require_it() -> None:
    base = torch.zeros(3)
    x = leaf(2.0)
    base[1:2].add_(x)
    assert base.requires_grad
    assert base.grad_fn is not None
    (base * 7).sum().backward()
    assert x.grad.tolist() == [7.0]


def test_setting_an_item_cuts_the_old_values_off_and_lets_the_new_ones_in() -> None:
    x, value = leaf(1.0, 2.0, 3.0), leaf(9.0)
    y = x * 2
    y[1] = value[0]
    assert y.tolist() == [2.0, 9.0, 6.0]
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 0.0, 2.0]
    assert value.grad.tolist() == [1.0]


def test_views_of_views_changed_one_after_the_other() -> None:
    x = matrix(requires_grad=True)
    base = x * 1
    base[0][1:].mul_(2)
    base.t()[2].mul_(3)
    assert base.tolist() == [[1.0, 4.0, 18.0], [4.0, 5.0, 18.0]]
    base.sum().backward()
    assert x.grad.tolist() == [[1.0, 2.0, 6.0], [1.0, 1.0, 3.0]]


def test_in_place_operations_record_their_history() -> None:
    x = leaf(2.0)
    y = x * 3
    first = y.grad_fn
    y.mul_(4)
    assert y.grad_fn is not first
    assert y.grad_fn.next_functions[0][0] is first
    assert y._version == 1
    y.backward()
    assert x.grad.item() == 12.0


def test_zero_and_fill_cut_the_history_off() -> None:
    x = leaf(2.0)
    for change, values in (("zero_", []), ("fill_", [7])):
        y = x * 3
        getattr(y, change)(*values)
        y.backward()
    assert x.grad.item() == 0.0


def test_copy_takes_the_history_of_its_source() -> None:
    x, source = leaf(2.0), leaf(5.0)
    y = x * 3
    y.copy_(source * 2)
    assert y.item() == 10.0
    y.backward()
    assert (x.grad.item(), source.grad.item()) == (0.0, 2.0)


# --- version counters ---


def test_each_in_place_operation_counts_one() -> None:
    t = torch.zeros(3)
    t.add_(1)
    t.mul_(2)
    t[0] = 5
    t.zero_()
    assert t._version == 4
    with torch.no_grad():
        t.add_(1)
    assert t._version == 5


def test_detach_shares_the_counter_and_data_has_its_own() -> None:
    x = leaf(1.0) * 1
    detached, data = x.detach(), x.data
    assert (detached.requires_grad, detached.grad_fn, detached._base) == (False, None, None)
    detached.add_(1)
    assert (x._version, detached._version, data._version) == (1, 1, 0)
    data.add_(1)
    assert (x._version, detached._version, data._version) == (1, 1, 1)
    assert x.item() == data.item() == 3.0
    assert x.data is not x.data


def test_assigning_data_swaps_the_storage_and_keeps_object_gradient_and_version() -> None:
    x = leaf(1.0)
    (x * 2).backward()
    x.detach().add_(0)
    old = x.untyped_storage()
    x.data = torch.tensor([5.0, 6.0])
    assert x.tolist() == [5.0, 6.0]
    assert x.untyped_storage() is not old
    assert (x._version, x.grad.tolist(), x.is_leaf, x.requires_grad) == (1, [2.0], True, True)


def test_detach_in_place_makes_a_leaf() -> None:
    y = leaf(2.0) * 3
    y.detach_()
    assert (y.is_leaf, y.requires_grad, y.grad_fn) == (True, False, None)


def test_detach_in_place_is_refused_on_a_view() -> None:
    with pytest.raises(RuntimeError) as error:
        (matrix(requires_grad=True) * 1)[0].detach_()
    assert text_of(error).startswith("Can't detach views in-place. Use detach() instead. If you are using Distributed")


# --- what may not be changed ---


def test_a_leaf_that_requires_grad_may_be_changed_only_without_recording() -> None:
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError) as error:
        x.add_(1)
    assert text_of(error) == IN_PLACE_ON_LEAF
    with pytest.raises(RuntimeError) as error:
        x[0] = 5
    assert text_of(error) == IN_PLACE_ON_VIEW_OF_LEAF
    with pytest.raises(RuntimeError) as error:
        x.view(-1).mul_(2)
    assert text_of(error) == IN_PLACE_ON_VIEW_OF_LEAF
    assert x.tolist() == [1.0, 2.0]
    with torch.no_grad():
        x.add_(1)
    assert x.tolist() == [2.0, 3.0]
