"""What names elements by an index or a mask (gather, scatter, ...), against PyTorch: results, gradients, graphs, refusals."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from op_stories import Operands, Story, assert_same

real = pytest.importorskip("torch")
pytestmark = pytest.mark.torch
examples = settings(max_examples=100, deadline=None, database=None)

STORIES: dict[str, Story] = {
    "gather": lambda o: o.x.gather(0, o.places),
    "gather of a transposed": lambda o: o.x.t().gather(1, o.places.t()),
    "gather, negative dimension": lambda o: o.x.gather(-1, o.places[:, :2]),
    "gather of three dimensions": lambda o: o.z.gather(1, o.tensor([[[0, 1, 2, 0]], [[1, 1, 1, 1]]])),
    "scatter": lambda o: o.x.scatter(0, o.places, o.y),
    "scatter a number": lambda o: o.x.scatter(0, o.places, 2.0),
    "scatter and add": lambda o: o.x.scatter(0, o.places, o.y, reduce="add"),
    "scatter a number and multiply": lambda o: o.x.scatter(1, o.places, 2.0, reduce="multiply"),
    "scatter in place": lambda o: o.changed(lambda t: t.scatter_(0, o.places, o.y)),
    "scatter_add": lambda o: o.x.scatter_add(0, o.places, o.y),
    "scatter_add in place": lambda o: o.changed(lambda t: t.scatter_add_(1, o.places, o.y)),
    "scatter_add to a transposed": lambda o: o.x.t().scatter_add(0, o.places, o.y.t()[:, :]),
    "scatter into a constant": lambda o: o.x.detach().scatter(0, o.places, o.y),
    "scatter a number in place": lambda o: o.changed(lambda t: t.scatter_(0, o.places, 1.5)),
    "scatter a number in place and add": lambda o: o.changed(lambda t: t.scatter_(0, o.places, 1.5, reduce="add")),
    "index_select": lambda o: o.x.index_select(0, o.rows),
    "index_select of a transposed": lambda o: o.z.transpose(0, 2).index_select(-1, o.tensor([1, 0, 1])),
    "index_select of a number": lambda o: o.x[0, 0].index_select(0, o.tensor([0])),
    "index_select by a number": lambda o: o.x.index_select(0, o.tensor(1)),
    "index_add": lambda o: o.x.index_add(0, o.rows, o.y, alpha=2),
    "index_add in place": lambda o: o.changed(lambda t: t.index_add_(1, o.tensor([0, 3, 0]), o.y.t()[:3, :3].t())),
    "index_add to a constant": lambda o: o.x.detach().index_add(0, o.rows, o.y),
    "index_add of a constant": lambda o: o.x.index_add(0, o.rows, o.y.detach()),
    "index_add of a number": lambda o: o.x[0].index_add(0, o.tensor([1]), o.y[0, 0]),
    "index_add to a number": lambda o: o.x[0, 0].index_add(0, o.tensor(0), o.y[0, 0]),
    "index_copy": lambda o: o.x.index_copy(0, o.tensor([2, 0, 1]), o.y),
    "index_copy in place": lambda o: o.changed(lambda t: t.index_copy_(1, o.tensor([0, 3]), o.y[:, :2])),
    "index_copy of a number": lambda o: o.x[0].index_copy(0, o.tensor([1]), o.y[0, 0]),
    "index_fill": lambda o: o.x.index_fill(0, o.rows, 2.0),
    "index_fill with a tensor": lambda o: o.x.index_fill(-1, o.tensor([1, 0]), o.y[0, 0]),
    "index_fill in place": lambda o: o.changed(lambda t: t.index_fill_(0, o.rows, 1)),
    "index_fill of a transposed": lambda o: o.x.t().index_fill(0, o.rows, 2.0),
    "index_fill in place with a tensor": lambda o: o.changed(lambda t: t.index_fill_(0, o.rows, o.y[0, 0])),
    "masked_fill": lambda o: o.x.masked_fill(o.mask, 2.0),
    "masked_fill with a tensor": lambda o: o.x.masked_fill(o.mask, o.y[0, 0]),
    "masked_fill in place": lambda o: o.changed(lambda t: t.masked_fill_(o.mask, 2.0)),
    "masked_fill of a transposed": lambda o: o.x.t().masked_fill(o.mask.t(), 2.0),
    "masked_fill of a smaller": lambda o: o.x[0].masked_fill(o.mask, 2.0),
    "masked_fill in place of a view": lambda o: o.changed(lambda t: t[:, 0].masked_fill_(o.mask[:, 0], o.y[0, 0])),
    "masked_fill by a row": lambda o: o.x.masked_fill(o.mask[0], 1),
    "masked_select": lambda o: o.x.masked_select(o.mask),
    "masked_select of a transposed": lambda o: o.x.t().masked_select(o.mask.t()),
    "masked_select of a smaller": lambda o: o.x[0].masked_select(o.mask),
    "masked_select by a column": lambda o: o.x.masked_select(o.mask[:, :1]),
    "masked_scatter": lambda o: o.x.masked_scatter(o.mask, o.y),
    "masked_scatter in place": lambda o: o.changed(lambda t: t.masked_scatter_(o.mask[:1], o.y.t())),
    "masked_scatter into a smaller": lambda o: o.x[0].masked_scatter(o.mask, o.y),
    "where with a number": lambda o: o.fw.where(o.mask, o.x, 2.0),
    "where as a method": lambda o: o.x.where(o.mask, o.y),
    "where alone": lambda o: o.fw.where(o.mask),
    "where as a method with a number": lambda o: o.x.where(o.mask, 3),
    "where with a number first": lambda o: o.fw.where(o.mask, 1.0, o.x),
    "take": lambda o: o.x.take(o.tensor([[0, 1, -1]])),
    "take of a transposed": lambda o: o.x.t().take(o.tensor([0, 1, 5, 1])),
    "take_along_dim": lambda o: o.fw.take_along_dim(o.x, o.places, 0),
    "take_along_dim of all": lambda o: o.fw.take_along_dim(o.x, o.places),
    "take_along_dim, broadcast": lambda o: o.fw.take_along_dim(o.x, o.places[:, :1], 0),
    "take_along_dim of a transposed": lambda o: o.x.t().take_along_dim(o.places.t(), 1),
    "put": lambda o: o.x.put(o.rows, o.y[0, :3]),
    "put in place, added": lambda o: o.changed(lambda t: t.put_(o.rows, o.y[0, :3], accumulate=True)),
    "put into a transposed": lambda o: o.x.t().put(o.rows, o.y[0, :3].detach()),
    "nonzero": lambda o: o.mask.nonzero(),
    "nonzero as tuple": lambda o: o.mask.nonzero(as_tuple=True),
    "nonzero of floats": lambda o: o.x.nonzero(),
    "nonzero of a transposed": lambda o: o.mask.t().nonzero(),
    "argwhere": lambda o: o.x.argwhere(),
    "index_put": lambda o: o.x.index_put((o.rows,), o.y),
    "index_put with None": lambda o: o.x.index_put((None, o.rows), o.y[:, :3], accumulate=True),
    "index_put in place by a mask": lambda o: o.changed(lambda t: t.index_put_((o.mask,), o.y[0, 0])),
    "index_put of a constant": lambda o: o.x.index_put((o.rows,), o.y.detach()),
    "index_put with a list": lambda o: o.x.index_put([o.rows], o.y),
    "index_put with too many": lambda o: o.x.index_put((o.rows, o.rows, o.rows), o.y),
    "index_put into a transposed": lambda o: o.x.t().index_put((o.rows,), o.y[0, 0]),
    "masked_fill of a leaf": lambda o: o.x.masked_fill_(o.mask, 1),
    "index_add to a leaf": lambda o: o.x.index_add_(0, o.rows, o.y),
    "scatter into a view of a leaf": lambda o: o.x[0].scatter_(0, o.rows, 1.0),
    "masked_fill of an expanded": lambda o: o.x.detach()[0].expand(3, 4).masked_fill_(o.mask, 1.0),
    "scatter into an expanded": lambda o: o.x.detach()[0].expand(3, 4).scatter_(0, o.places, 1.0),
    "index_fill of an expanded": lambda o: o.x.detach()[0].expand(3, 4).index_fill_(0, o.rows, 1.0),
    "index_add to an expanded": lambda o: o.x.detach()[0].expand(3, 4).index_add_(0, o.rows, o.y.detach()),
}
# Doubles meet floats, an index is of floats or too long, a position does not exist.
MISTAKES: dict[str, Story] = {
    "gather by floats": lambda o: o.x.gather(0, o.y),
    "gather by a vector": lambda o: o.x.gather(0, o.rows),
    "gather by a wider index": lambda o: o.x.gather(0, o.fw.zeros(2, 5, dtype=o.fw.int64)),
    "gather beyond": lambda o: o.x.gather(0, o.tensor([[3]])),
    "gather before": lambda o: o.x.gather(0, o.tensor([[-1]])),
    "gather along no dimension": lambda o: o.x.gather(2, o.places),
    "gather beyond a number": lambda o: o.x[0, 0].gather(0, o.tensor(1)),
    "scatter by floats": lambda o: o.x.scatter(0, o.y, o.y),
    "scatter floats": lambda o: o.x.scatter(0, o.places, o.y.float()),
    "scatter by a vector": lambda o: o.x.scatter(0, o.rows, o.y),
    "scatter by a longer index": lambda o: o.x.scatter(0, o.fw.zeros(4, 4, dtype=o.fw.int64), o.y),
    "scatter by a wider index": lambda o: o.x.scatter(1, o.fw.zeros(3, 5, dtype=o.fw.int64), o.y),
    "scatter beyond": lambda o: o.x.scatter(0, o.tensor([[3]]), o.y),
    "scatter before": lambda o: o.x.scatter(0, o.tensor([[-1]]), o.y),
    "scatter_add a number": lambda o: o.x.scatter_add(0, o.places, 1.0),
    "index_select by floats": lambda o: o.x.index_select(0, o.y[0]),
    "index_select by a matrix": lambda o: o.x.index_select(0, o.places),
    "index_select beyond": lambda o: o.x.index_select(0, o.tensor([3])),
    "index_select before": lambda o: o.x.index_select(0, o.tensor([-1])),
    "index_select of a number, twice": lambda o: o.x[0, 0].index_select(0, o.tensor([0, 0])),
    "index_add by floats": lambda o: o.x.index_add(0, o.y[0], o.y),
    "index_add floats": lambda o: o.x.index_add(0, o.rows, o.y.float()),
    "index_add of another shape": lambda o: o.x.index_add(0, o.rows, o.y[:, :2]),
    "index_add too few": lambda o: o.x.index_add(0, o.tensor([0]), o.y),
    "index_add beyond": lambda o: o.x.index_add(0, o.tensor([3]), o.y[:1]),
    "index_add by a matrix": lambda o: o.x.index_add(0, o.places, o.y),
    "index_copy by floats": lambda o: o.x.index_copy(0, o.y[0], o.y),
    "index_copy floats": lambda o: o.x.index_copy(0, o.rows, o.y.float()),
    "index_copy of another shape": lambda o: o.x.index_copy(0, o.rows, o.y[:, :2]),
    "index_copy too few": lambda o: o.x.index_copy(0, o.tensor([0]), o.y),
    "index_copy beyond": lambda o: o.x.index_copy(0, o.tensor([3]), o.y[:1]),
    "index_copy of fewer dimensions": lambda o: o.x.index_copy(0, o.tensor([0]), o.y[0]),
    "index_fill by floats": lambda o: o.x.index_fill(0, o.y[0], 1),
    "index_fill with a vector": lambda o: o.x.index_fill(0, o.rows, o.y[0]),
    "index_fill beyond": lambda o: o.x.index_fill(0, o.tensor([3]), 1),
    "index_fill by a matrix": lambda o: o.x.index_fill(0, o.places, 1),
    "masked_fill by floats": lambda o: o.x.masked_fill(o.y, 1),
    "masked_fill by ints": lambda o: o.x.masked_fill(o.places[0], 1),
    "masked_fill by another shape": lambda o: o.x.masked_fill(o.mask[:2], 1),
    "masked_fill with a vector": lambda o: o.x.masked_fill(o.mask, o.y[0]),
    "masked_fill in place of a smaller": lambda o: o.changed(lambda t: t[0].masked_fill_(o.mask, 1)),
    "masked_select by floats": lambda o: o.x.masked_select(o.y),
    "masked_scatter too few": lambda o: o.x.masked_scatter(o.mask, o.y[0, :1]),
    "masked_scatter floats": lambda o: o.x.masked_scatter(o.mask, o.y.float()),
    "where of floats": lambda o: o.fw.where(o.x, o.x, o.y),
    "where of another shape": lambda o: o.fw.where(o.mask[:2], o.x, o.y),
    "take beyond": lambda o: o.x.take(o.tensor([12])),
    "take by floats": lambda o: o.x.take(o.y),
    "take of nothing": lambda o: o.fw.zeros(0).take(o.tensor([0])),
    "take_along_dim by floats": lambda o: o.fw.take_along_dim(o.x, o.y, 0),
    "take_along_dim by a vector": lambda o: o.fw.take_along_dim(o.x, o.rows, 0),
    "put too few": lambda o: o.x.put(o.rows, o.y[0, :2]),
    "put floats": lambda o: o.x.put(o.rows, o.y[0, :3].float()),
}
OTHER_DTYPES: dict[str, Story] = {
    "gather by int32": lambda o: o.x.gather(0, o.places.int()),
    "scatter by int32": lambda o: o.x.scatter(0, o.places.int(), 1.0),
    "index_select by int32": lambda o: o.x.index_select(0, o.rows.int()),
    "index_add by int32": lambda o: o.x.index_add(0, o.rows.int(), o.y),
    "a float among ints": lambda o: o.rows.masked_fill(o.rows > 0, 2.5),
    "a float scattered among ints": lambda o: o.rows.scatter(0, o.tensor([0]), 2.5),
    "a number among bools": lambda o: o.mask.masked_fill(o.mask, 0),
    "ints": lambda o: [o.places.gather(0, o.places[:1] * 0), o.places.index_select(1, o.rows), o.places[o.places > 0]],
    "bools": lambda o: [o.mask.gather(0, o.places), o.mask[o.rows], o.mask.masked_select(o.mask)],
    "where of two ints": lambda o: o.fw.where(o.mask, 1, 2),
    "where of two floats": lambda o: o.fw.where(o.mask, 1.0, 2),
    "where of two bools": lambda o: o.fw.where(o.mask, True, False),
    "where of floats and ints": lambda o: o.fw.where(o.mask, o.x, o.rows[0]),
}


def test_results_gradients_and_graphs_are_torchs() -> None:
    assert_same(real, STORIES)


def test_what_torch_refuses_is_refused_in_the_same_words() -> None:
    assert_same(real, MISTAKES)


def test_integers_and_bools_are_chosen_as_in_torch() -> None:
    assert_same(real, OTHER_DTYPES)


def test_what_has_no_elements_or_dimensions_is_chosen_as_in_torch() -> None:
    assert_same(
        real,
        {
            "gather of a number": lambda o: o.x[0, 0].gather(0, o.tensor(0)),
            "gather of a number by a vector": lambda o: o.x[0, 0].gather(0, o.tensor([0])),
            "gather by nothing": lambda o: o.x.gather(0, o.fw.zeros(0, dtype=o.fw.int64)),
            "index_select by nothing": lambda o: o.x.index_select(1, o.fw.zeros(0, dtype=o.fw.int64)),
            "nonzero of a number": lambda o: [o.x[0, 0].nonzero(), o.tensor(0.0).nonzero()],
            "nonzero of a number as tuple": lambda o: o.tensor(1.0).nonzero(as_tuple=True),
            "nonzero of nothing": lambda o: o.fw.zeros(0, 3).nonzero(),
            "masked_select of nothing": lambda o: o.fw.zeros(0, 3).masked_select(o.fw.zeros(0, 3) > 0),
        },
    )


@given(st.data())
@examples
def test_any_positions_along_any_dimension_are_gathered_and_scattered_as_in_torch(data: st.DataObject) -> None:
    dim = data.draw(st.integers(-3, 2))
    sizes = [data.draw(st.integers(0, size)) for size in (2, 3, 4)]
    count = sizes[0] * sizes[1] * sizes[2]
    positions = data.draw(st.lists(st.integers(0, (2, 3, 4)[dim] - 1), min_size=count, max_size=count))

    def index(o: Operands) -> object:
        return o.tensor(positions, dtype=o.fw.int64).reshape(sizes)

    assert_same(
        real,
        {
            "gather": lambda o: o.z.gather(dim, index(o)),
            "scatter_add": lambda o: o.z.scatter_add(dim, index(o), o.z * 2),
            "along": lambda o: o.z.index_select(dim, o.tensor(positions[:3], dtype=o.fw.int64)),
        },
    )
