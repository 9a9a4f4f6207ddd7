"""Indexing with tensors, masks, lists and arrays, against PyTorch: what is read, what is written, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import gradlife.engine as mini
from op_stories import Story, assert_same

real = pytest.importorskip("torch")
pytestmark = pytest.mark.torch
examples = settings(max_examples=150, deadline=None, database=None)

READS: dict[str, Story] = {
    "tensor": lambda o: o.z[o.tensor([0, 1, 1])],
    "negative": lambda o: o.z[:, o.tensor([-1, 0, -3])],
    "no dimensions": lambda o: o.z[o.tensor(1)],
    "no dimensions, int32": lambda o: o.z[o.tensor(1, dtype=o.fw.int32)],
    "int32": lambda o: o.z[o.tensor([0, 1], dtype=o.fw.int32)],
    "list": lambda o: o.z[[0, 1]],
    "list in a tuple": lambda o: o.z[:, [0, 1]],
    "tuple in a tuple": lambda o: o.z[:, (0, 1)],
    "range": lambda o: o.z[range(2)],
    "list of floats": lambda o: o.z[[1.0]],
    "empty list": lambda o: o.z[[]],
    "mask": lambda o: o.z[o.tensor([True, False])],
    "mask of two dimensions": lambda o: o.z[o.fw.ones(2, 3) > 0],
    "mask behind a slice": lambda o: o.z[:, o.mask],
    "mask and int": lambda o: o.z[o.tensor([True, False]), 0],
    "list of bools": lambda o: o.z[[True, False]],
    "True": lambda o: o.z[True],
    "False": lambda o: o.z[False],
    "True twice": lambda o: o.z[True, True],
    "True and int": lambda o: o.z[True, 0],
    "True and list": lambda o: o.z[True, [0, 1]],
    "list and True": lambda o: o.z[[0, 1], True],
    "slice and True": lambda o: o.z[:, True],
    "True, no dimensions": lambda o: o.z[o.tensor(True)],
    "False, no dimensions": lambda o: o.z[o.tensor(False)],
    "True of a number": lambda o: o.x[0, 0][True],
    "side by side": lambda o: o.z[:, o.rows, [1, 2, 3]],
    "apart": lambda o: o.z[[0, 1, 1], :, [1, 2, 3]],
    "behind an int": lambda o: o.z[0, :, o.rows],
    "between None and slice": lambda o: o.z[None, [0, 1, 1], 1:],
    "behind an ellipsis": lambda o: o.z[..., o.rows],
    "broadcast": lambda o: o.x[o.tensor([[0], [2]]), o.tensor([1, 2, 3])],
    "transposed index": lambda o: o.z[o.tensor([[0, 1, 1], [1, 1, 0]]).t()],
    "of a transposed": lambda o: o.z.transpose(0, 2)[o.rows],
    "of a transposed, last": lambda o: o.z.transpose(0, 2)[:, :, [0, 1]],
    "of a transposed, apart": lambda o: o.z.transpose(0, 2)[o.rows, :, [0, 1, 1]],
    "of a permuted, in the middle": lambda o: o.z.permute(1, 2, 0)[:, [[0, 1, 2], [2, 2, 3]], :],
    "array": lambda o: o.z[np.array([0, 1])],
    "array of bools": lambda o: o.z[np.array([True, False])],
    "array of two dimensions": lambda o: o.z[np.array([[0, 1], [1, 0]])],
    "numpy int": lambda o: o.z[np.int64(1)],
    "slice by tensors": lambda o: o.z[o.tensor(0) : o.tensor(1)],
    "list of lists": lambda o: o.z[[[0, 1], [1, 0]]],
    "list with a slice": lambda o: o.z[[slice(None), 0]],
    "list with a tensor": lambda o: o.z[[0, o.rows]],
    "list with None": lambda o: o.z[[None, 0]],
    "long list of lists": lambda o: o.z[[[0]] * 40],
    "nothing of nothing": lambda o: o.fw.zeros(0, 3)[[]],
    "beside nothing": lambda o: o.fw.zeros(2, 0)[[0, 1]],
}
WRONG_READS: dict[str, Story] = {
    "floats": lambda o: o.z[o.tensor([1.0])],
    "float": lambda o: o.z[o.tensor(1.0)],
    "empty floats": lambda o: o.z[o.tensor([])],
    "beyond": lambda o: o.z[o.tensor([2])],
    "before": lambda o: o.z[o.tensor([-3])],
    "beyond, second": lambda o: o.z[:, o.tensor([3])],
    "beyond of nothing": lambda o: o.fw.zeros(0, 3)[o.rows],
    "mask too long": lambda o: o.z[o.tensor([True] * 3)],
    "mask too short, second": lambda o: o.z[:, o.tensor([True] * 2)],
    "mask of another shape": lambda o: o.z[o.fw.ones(2, 4) > 0],
    "mask of more dimensions": lambda o: o.z[o.fw.ones(2, 3, 4, 1) > 0],
    "too many": lambda o: o.z[o.rows, o.rows, o.rows, o.rows],
    "not to be broadcast": lambda o: o.z[o.rows, o.tensor([0, 1])],
    "False and three": lambda o: o.z[False, o.rows],
    "list of no dimension": lambda o: o.x[0, 0][[0]],
    "numpy bool": lambda o: o.z[np.bool_(True)],
    "text": lambda o: o.z["a"],
    "list of text": lambda o: o.z[["a"]],
    "object": lambda o: o.x[object()],
    "dict": lambda o: o.x[{}],
    "ragged": lambda o: o.x[[[0, 1], [1]]],
    "float beside a list": lambda o: o.x[[0, 1], 1.0],
}
PLACES: dict[str, Any] = {
    "tensor": lambda o: o.rows,
    "mask": lambda o: o.mask,
    "two": lambda o: (o.rows, [1, 2, 3]),
    "behind a slice": lambda o: (slice(None), o.rows),
    "behind None": lambda o: (None, o.rows),
    "behind an ellipsis": lambda o: (..., o.rows),
    "True": lambda o: True,
    "False": lambda o: False,
    "True and int": lambda o: (True, 0),
    "True, no dimensions": lambda o: o.tensor(True),
    "list of bools": lambda o: [True, False, True],
    "mask and int": lambda o: (o.tensor([True, False, True]), 1),
    "int and mask": lambda o: (0, o.tensor([True, False, True, True])),
    "no dimensions": lambda o: o.tensor(1),
    "empty": lambda o: [],
    "beyond": lambda o: [5],
    "floats": lambda o: o.tensor([1.0]),
    "mask too short": lambda o: o.tensor([True, True]),
}
VALUES: dict[str, Any] = {
    "float": lambda o: 2.0,
    "int": lambda o: 3,
    "tensor": lambda o: o.y,
    "row": lambda o: o.y[0],
    "number": lambda o: o.y[0, 0],
    "leading ones": lambda o: o.y[:1, :1],
    "column": lambda o: o.y[:, 0],
    "another shape": lambda o: o.y[:2, :2],
    "another dtype": lambda o: o.y.float(),
    "one of another dtype": lambda o: o.y[0, 0].float(),
    "ints": lambda o: o.rows,
    "text": lambda o: "a",
}


@pytest.mark.faithful
def test_what_an_index_reads_is_what_torch_reads() -> None:
    assert_same(real, READS)


def test_an_index_that_torch_refuses_is_refused_in_the_same_words() -> None:
    assert_same(real, WRONG_READS)


@pytest.mark.faithful
@pytest.mark.parametrize("place", PLACES)
def test_what_is_written_to_an_index_is_what_torch_writes(place: str) -> None:
    where = PLACES[place]
    assert_same(
        real,
        {
            value: lambda o, what=what: o.changed(lambda t: t.__setitem__(where(o), what(o)))  # type: ignore[misc]
            for value, what in VALUES.items()
        },
    )


@pytest.mark.faithful
@pytest.mark.parametrize("place", PLACES)
def test_an_index_is_added_to_as_in_torch(place: str) -> None:
    def add(target: Any, index: Any, value: Any) -> None:
        target[index] += value

    where = PLACES[place]
    assert_same(
        real,
        {
            value: lambda o, what=what: o.changed(lambda t: add(t, where(o), what(o)))  # type: ignore[misc]
            for value, what in VALUES.items()
            if value != "text"
        },
    )


def test_a_leaf_a_view_and_shared_memory_are_written_to_as_in_torch() -> None:
    assert_same(
        real,
        {
            "leaf": lambda o: o.x.__setitem__(o.rows, 1.0),
            "view": lambda o: o.changed(lambda t: t[0].__setitem__([0, 1], 1.0)),
            "itself": lambda o: o.changed(lambda t: t.__setitem__(o.rows, t)),
            "itself by a mask": lambda o: o.changed(lambda t: t.__setitem__(o.mask, t)),
        },
    )


def test_a_repeated_index_adds_its_gradients_up() -> None:
    x = mini.tensor([1.0, 2.0, 3.0], requires_grad=True)
    x[[0, 2, 2, 0, 0]].backward(mini.tensor([1.0, 10.0, 100.0, 1000.0, 10000.0]))
    assert x.grad is not None
    assert x.grad.tolist() == [11001.0, 0.0, 110.0]


def test_an_index_is_saved_as_itself() -> None:
    x = mini.ones(3, requires_grad=True)
    index = mini.tensor([0, 2])
    node = x[index].grad_fn
    assert node is not None
    assert node._saved_indices[0] is index
    assert node._raw_saved_indices[0].data is index


def test_an_index_changed_after_it_was_used_is_reported_at_backward() -> None:
    x = mini.ones(3, requires_grad=True)
    index = mini.tensor([0, 2])
    y = x[index].sum()
    index.add_(1)
    with pytest.raises(RuntimeError, match=r"inplace operation: \[torch.LongTensor \[2\]\] is at version 1"):
        y.backward()


@pytest.mark.faithful
@given(st.data())
@examples
def test_any_index_tensors_read_and_write_as_in_torch(data: Any) -> None:
    parts = st.sampled_from(["slice", "int", "list", "column", "mask", "none", "tensor"])
    chosen = data.draw(st.lists(parts, max_size=4))
    dims = iter((2, 3, 4))
    index: list[Any] = []
    for part in chosen:
        size = None if part == "none" else next(dims, None)
        if part == "none":
            index.append(None)
        elif size is None or part == "slice":
            index.append(slice(None, None, data.draw(st.integers(1, 2))))
        elif part == "int":
            index.append(data.draw(st.integers(-size, size - 1)))
        elif part == "mask":
            index.append(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)))
        elif part == "column":
            index.append([[each] for each in data.draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=2))])
        else:
            index.append(data.draw(st.lists(st.integers(-size, size - 1), min_size=1, max_size=2)))
    order = data.draw(st.permutations(range(3)))
    where = tuple(index)
    assert_same(
        real,
        {
            "read": lambda o: o.z.permute(*order)[where] if order == [0, 1, 2] else o.z[where],
            "write": lambda o: (lambda t: (t.__setitem__(where, o.x[0, 0]), t)[1])(o.z * 1),
        },
    )
