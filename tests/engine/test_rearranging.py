"""Elements in other places (flip, roll, repeat, tril, diagonal, sort, unfold, ...), against PyTorch."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradlife.engine as mini
from op_stories import Story, assert_same

real = pytest.importorskip("torch")
pytestmark = pytest.mark.torch
examples = settings(max_examples=100, deadline=None, database=None)

STORIES: dict[str, Story] = {
    "flip": lambda o: o.x.flip(0),
    "flip of two": lambda o: o.x.flip(0, 1),
    "flip of a transposed": lambda o: o.x.t().flip(0),
    "flip of none": lambda o: o.x.flip(()),
    "fliplr": lambda o: o.x.fliplr(),
    "flip of an expanded": lambda o: o.x[0].expand(3, 4).flip(0),
    "roll": lambda o: o.x.roll(1, 0),
    "roll in a row": lambda o: o.x.roll(1),
    "roll of two": lambda o: o.x.roll((1, 2), (0, 1)),
    "roll of a transposed": lambda o: o.x.t().roll(-1, 1),
    "repeat": lambda o: o.x.repeat(2, 1, 3),
    "repeat once": lambda o: o.x.repeat(1, 1),
    "repeat of a transposed": lambda o: o.x.t().repeat(2, 2),
    "repeat of a number": lambda o: o.x[0, 0].repeat(3),
    "repeat no times": lambda o: o.x.repeat(0, 2),
    "repeat of a number, no dimensions": lambda o: o.x[0, 0].repeat(()),
    "tile": lambda o: o.x.tile(2),
    "repeat_interleave": lambda o: o.x.repeat_interleave(2),
    "repeat_interleave of rows": lambda o: o.x.repeat_interleave(2, 0),
    "repeat_interleave by a tensor": lambda o: o.x.repeat_interleave(o.tensor([1, 0, 2]), 0),
    "repeat_interleave of a transposed": lambda o: o.x.t().repeat_interleave(3, 1),
    "repeat_interleave by one number": lambda o: o.x.repeat_interleave(o.tensor(2), 1),
    "repeat_interleave as a function": lambda o: o.fw.repeat_interleave(o.x, 2, dim=0),
    "tril": lambda o: o.x.tril(1),
    "triu": lambda o: o.x.triu(),
    "tril in place": lambda o: o.changed(lambda t: t.tril_(-1)),
    "triu in place of a view": lambda o: o.changed(lambda t: t[:, 1:].triu_(1)),
    "tril of a batch": lambda o: o.z.tril(),
    "triu of a transposed": lambda o: o.x.t().triu(1),
    "diag of a matrix": lambda o: o.x.diag(1),
    "diag of a vector": lambda o: o.x[0].diag(1),
    "diagonal": lambda o: o.x.diagonal(-1),
    "diagonal of other dimensions": lambda o: o.z.diagonal(1, -1, 0),
    "diagonal of an expanded": lambda o: o.x.expand(2, 3, 4).diagonal(0, 1, 2),
    "diag_embed": lambda o: o.x.diag_embed(),
    "diag_embed in other dimensions": lambda o: o.x.diag_embed(-1, 0, 1),
    "trace": lambda o: o.x.trace(),
    "trace of a transposed": lambda o: o.x.t().trace(),
    "diagonal written to": lambda o: o.changed(lambda t: t.diagonal().fill_(1.0)),
    "sort": lambda o: o.x.sort(0, True),
    "stable sort": lambda o: o.fw.sort(o.x, stable=True),
    "sort of a transposed": lambda o: o.x.t().sort(),
    "argsort": lambda o: o.x.argsort(),
    "msort": lambda o: o.x.msort(),
    "sort of a number": lambda o: o.x[0, 0].sort(),
    "topk": lambda o: o.x.topk(2),
    "topk, smallest of rows": lambda o: o.x.topk(2, 0, False),
    "topk in the middle": lambda o: o.z.topk(1, 1),
    "kthvalue": lambda o: o.x.kthvalue(2),
    "kthvalue, kept": lambda o: o.x.kthvalue(2, 0, True),
    "kthvalue in the middle": lambda o: o.z.kthvalue(2, 1),
    "kthvalue of a number": lambda o: o.x[0, 0].kthvalue(1),
    "topk of a number": lambda o: o.x[0, 0].topk(1),
    "movedim": lambda o: o.x.movedim(0, 1),
    "movedim of two": lambda o: o.z.movedim((0, 1), (2, 0)),
    "swapaxes": lambda o: o.x.swapaxes(0, 1),
    "unfold": lambda o: o.x.unfold(1, 2, 1),
    "unfold with gaps": lambda o: o.z.unfold(-1, 3, 2),
    "unfold of a transposed": lambda o: o.x.t().unfold(0, 2, 2),
    "unfold of a number": lambda o: o.x[0, 0].unfold(0, 1, 1),
    "unfold of nothing": lambda o: o.x.unfold(1, 0, 2),
    "unflatten": lambda o: o.x.unflatten(1, (2, 2)),
    "unflatten with -1": lambda o: o.x.unflatten(-1, (2, -1)),
    "tensor_split": lambda o: o.x.tensor_split(3, 1),
    "tensor_split at places": lambda o: o.x.tensor_split((1, 2)),
    "split_with_sizes": lambda o: o.x.split_with_sizes([1, 2]),
}
JOINED: dict[str, Story] = {
    "broadcast_tensors": lambda o: o.fw.broadcast_tensors(o.x, o.y[0], o.y[0, 0]),
    "broadcast_tensors of none": lambda o: list(o.fw.broadcast_tensors()),
    "broadcast_shapes": lambda o: tuple(o.fw.broadcast_shapes((2, 1), (3,))),
    "atleast_1d": lambda o: o.fw.atleast_1d(o.x[0, 0]),
    "atleast_1d of two": lambda o: o.fw.atleast_1d(o.x[0, 0], o.y),
    "atleast_2d": lambda o: o.fw.atleast_2d([o.x[0, 0], o.x[0], o.y]),
    "atleast_3d": lambda o: o.fw.atleast_3d(o.x[0, 0], o.x[0], o.y),
    "hstack of numbers": lambda o: o.fw.hstack((o.x[0, 0], o.y[0, 0])),
    "hstack": lambda o: o.fw.hstack((o.x, o.y)),
    "vstack": lambda o: o.fw.vstack((o.x[0], o.y)),
    "dstack": lambda o: o.fw.dstack((o.x, o.y)),
    "column_stack": lambda o: o.fw.column_stack((o.x[:, 0], o.y)),
    "meshgrid": lambda o: o.fw.meshgrid(o.x[0], o.y[:, 0], indexing="ij"),
    "meshgrid of x and y": lambda o: o.fw.meshgrid([o.x[0], o.y[:, 0], o.y[0]], indexing="xy"),
}
MISTAKES: dict[str, Story] = {
    "flip twice": lambda o: o.x.flip(0, 0),
    "flip of no dimension": lambda o: o.x.flip(2),
    "fliplr of a vector": lambda o: o.rows.fliplr(),
    "roll by two along one": lambda o: o.x.roll((1, 2), 0),
    "roll by nothing": lambda o: o.x.roll((), ()),
    "repeat in too few": lambda o: o.x.repeat(2),
    "repeat negative": lambda o: o.x.repeat(-1, 2),
    "repeat_interleave negative": lambda o: o.rows.repeat_interleave(-1),
    "repeat_interleave by too few": lambda o: o.x.repeat_interleave(o.tensor([1, 2])),
    "repeat_interleave by floats": lambda o: o.rows.repeat_interleave(o.tensor([1.0, 0, 2])),
    "repeat_interleave by a negative": lambda o: o.rows.repeat_interleave(o.tensor([-1, 1, 1])),
    "repeat_interleave by a matrix": lambda o: o.x.repeat_interleave(o.tensor([[1, 2]]), 0),
    "tril of a vector": lambda o: o.rows.tril(),
    "tril of a leaf in place": lambda o: o.x.tril_(),
    "diag of three": lambda o: o.z.diag(),
    "diagonal of one dimension": lambda o: o.x.diagonal(0, 1, 1),
    "diagonal of a vector": lambda o: o.rows.diagonal(),
    "trace of a vector": lambda o: o.rows.trace(),
    "trace of bools": lambda o: o.mask.trace(),
    "sort of no dimension": lambda o: o.x.sort(2),
    "topk too many": lambda o: o.x.topk(5),
    "topk negative": lambda o: o.x.topk(-1),
    "topk of bools": lambda o: o.mask.topk(1),
    "kthvalue of none": lambda o: o.x.kthvalue(0),
    "kthvalue too large": lambda o: o.x.kthvalue(5),
    "kthvalue of nothing": lambda o: o.fw.zeros(0, 3).kthvalue(1, 0),
    "movedim of unequal": lambda o: o.z.movedim((0, 1), (2,)),
    "movedim from one twice": lambda o: o.z.movedim((0, 0), (1, 2)),
    "movedim to one twice": lambda o: o.z.movedim((0, 1), (2, 2)),
    "unfold too long": lambda o: o.x.unfold(0, 4, 1),
    "unfold without a step": lambda o: o.x.unfold(0, 1, 0),
    "unfold negative": lambda o: o.x.unfold(0, -1, 1),
    "unflatten to another size": lambda o: o.x.unflatten(1, (3, 2)),
    "unflatten to nothing": lambda o: o.x.unflatten(1, ()),
    "tensor_split in none": lambda o: o.x.tensor_split(0),
    "tensor_split of a number": lambda o: o.x[0, 0].tensor_split(1),
    "hstack of none": lambda o: o.fw.hstack(()),
    "vstack of unequal": lambda o: o.fw.vstack((o.rows, o.rows[:2])),
    "broadcast_tensors of unequal": lambda o: o.fw.broadcast_tensors(o.x, o.x[0, :2]),
    "meshgrid of none": lambda o: o.fw.meshgrid(indexing="ij"),
    "meshgrid of two dtypes": lambda o: o.fw.meshgrid(o.rows, o.x[0], indexing="ij"),
    "meshgrid indexed otherwise": lambda o: o.fw.meshgrid(o.rows, o.rows, indexing="ab"),
}
OTHERS: dict[str, Story] = {
    "ints": lambda o: [o.places.flip(1), o.places.triu(), o.rows[:2].sort(), o.places[0].topk(2), o.places.trace()],
    "bools": lambda o: [o.mask.roll(1), o.mask.tril(), o.mask.sort(descending=True), o.mask.repeat(1, 2)],
    "nan is the largest": lambda o: o.tensor([1.0, float("nan"), 0.0]).sort(),
    "nan is the largest, from above": lambda o: o.tensor([1.0, float("nan"), 0.0]).sort(descending=True),
    "equal ones keep their order": lambda o: o.tensor([1, 0, 1, 0]).sort(stable=True),
    "sort of nothing": lambda o: o.fw.zeros(0).sort(),
    "topk of none": lambda o: o.x.topk(0),
    "diagonal beyond": lambda o: o.x.diag(9),
    "repeated positions": lambda o: o.fw.repeat_interleave(o.tensor([1, 2])),
    "tensor_split beyond": lambda o: o.rows.tensor_split((2, 9)),
    "tensor_split by tensors": lambda o: [o.x.tensor_split(o.tensor(2)), o.x.tensor_split(o.tensor([1, 2]))],
}


def test_results_gradients_and_graphs_are_torchs() -> None:
    assert_same(real, STORIES)


def test_several_tensors_are_shaped_as_in_torch() -> None:
    assert_same(real, JOINED)


def test_what_torch_refuses_is_refused_in_the_same_words() -> None:
    assert_same(real, MISTAKES)


def test_integers_bools_and_unusual_numbers_go_where_they_go_in_torch() -> None:
    assert_same(real, OTHERS)


def test_named_results_say_their_names() -> None:
    sorted_tensor = mini.tensor([2.0, 1.0]).sort()
    assert sorted_tensor.values.tolist() == [1.0, 2.0]
    assert sorted_tensor.indices.tolist() == [1, 0]
    assert repr(mini.tensor([2, 1]).sort()) == repr(real.tensor([2, 1]).sort())


@given(st.data())
@examples
def test_any_dimensions_are_turned_repeated_and_unfolded_as_in_torch(data: Any) -> None:
    order = data.draw(st.permutations(range(3)))
    dims = tuple(data.draw(st.lists(st.integers(0, 2), max_size=3, unique=True)))
    shift = data.draw(st.integers(-5, 5))
    repeats = data.draw(st.lists(st.integers(0, 2), min_size=3, max_size=4))
    offset = data.draw(st.integers(-3, 4))
    dim = data.draw(st.integers(-3, 2))
    window, step = data.draw(st.integers(0, 3)), data.draw(st.integers(1, 2))
    assert_same(
        real,
        {
            "flip": lambda o: o.z.permute(order).flip(dims),
            "roll": lambda o: o.z.permute(order).roll(shift, dim),
            "repeat": lambda o: o.z.permute(order).repeat(repeats),
            "diagonal": lambda o: o.z.permute(order).diagonal(offset, 0, 2),
            "triangle": lambda o: o.z.permute(order).tril(offset),
            "sort": lambda o: o.z.permute(order).sort(dim, shift > 0),
            "unfold": lambda o: o.z.permute(order).unfold(dim, window, step),
            "select": lambda o: o.z.permute(order).repeat_interleave(2, dim),
        },
    )
