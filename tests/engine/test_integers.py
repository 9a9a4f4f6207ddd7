"""Whole numbers, bits, truth values and dtypes, against PyTorch: every pair of dtypes, as functions, operators and in place."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradlife.engine as mini
from op_stories import Operands, Story, assert_same

real = pytest.importorskip("torch")
pytestmark = pytest.mark.torch
examples = settings(max_examples=100, deadline=None, database=None)

DTYPES = ("float32", "float64", "int64", "int32", "bool")
LEFT, RIGHT = [7, -7, 0, 5, -8, 3], [2, 2, 3, -3, 3, -1]
NUMBERS = (2, -3, 2.5, True, 0)
OPERATORS = (
    operator.floordiv,
    operator.mod,
    operator.and_,
    operator.or_,
    operator.xor,
    operator.lshift,
    operator.rshift,
    operator.ifloordiv,
    operator.imod,
    operator.iand,
    operator.ior,
    operator.ixor,
    operator.ilshift,
    operator.irshift,
    operator.add,
    operator.sub,
    operator.mul,
    operator.lt,
    operator.eq,
)
METHODS = ("fmod", "logical_and", "logical_or", "logical_xor", "fmod_", "logical_and_", "remainder_", "bitwise_xor_")


def of(o: Operands, values: Any, dtype: str) -> Any:
    return o.tensor(values).to(getattr(o.fw, dtype))


@pytest.mark.parametrize("left", DTYPES)
def test_every_pair_of_dtypes_gives_what_it_gives_in_torch(left: str) -> None:
    stories: dict[str, Story] = {}
    for right in DTYPES:
        for function in OPERATORS:
            stories[f"{function.__name__} {right}"] = lambda o, f=function, d=right: f(
                of(o, LEFT, left), of(o, RIGHT, d)
            )  # type: ignore[misc]
        for name in METHODS:
            stories[f"{name} {right}"] = lambda o, n=name, d=right: getattr(of(o, LEFT, left), n)(of(o, RIGHT, d))  # type: ignore[misc]
        for mode in ("floor", "trunc"):
            stories[f"div {mode} {right}"] = lambda o, m=mode, d=right: o.fw.div(  # type: ignore[misc]
                of(o, LEFT, left), of(o, RIGHT, d), rounding_mode=m
            )
    assert_same(real, stories)


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_on_either_side_count_as_in_torch(dtype: str) -> None:
    stories: dict[str, Story] = {}
    for number in NUMBERS:
        for function in OPERATORS:
            stories[f"{function.__name__} {number}"] = lambda o, f=function, n=number: f(of(o, LEFT, dtype), n)  # type: ignore[misc]
            if not function.__name__.startswith("i"):
                stories[f"{number} {function.__name__}"] = lambda o, f=function, n=number: f(n, of(o, LEFT, dtype))  # type: ignore[misc]
    for name in ("bitwise_not", "logical_not", "bitwise_not_", "logical_not_"):
        stories[name] = lambda o, n=name: getattr(of(o, LEFT, dtype), n)()  # type: ignore[misc]
    assert_same(real, stories)


DIVISIONS: dict[str, Story] = {
    "floor_divide": lambda o: o.x // o.y,
    "floor_divide by a number": lambda o: o.x // 2,
    "floor_divide of a number": lambda o: 2 // o.x,
    "remainder": lambda o: o.x % o.y,
    "remainder of a constant": lambda o: o.x.detach() % o.y,
    "remainder by a constant": lambda o: o.x % o.y.detach(),
    "remainder by a row": lambda o: o.x % o.y[0],
    "remainder by a number": lambda o: o.x % 2,
    "remainder of a number": lambda o: 2 % o.x,
    "fmod": lambda o: o.x.fmod(o.y),
    "fmod by a number": lambda o: o.x.fmod(2),
    "div, floor": lambda o: o.x.div(o.y, rounding_mode="floor"),
    "div by a number, trunc": lambda o: o.x.div(2, rounding_mode="trunc"),
    "floor_divide in place": lambda o: o.changed(lambda t: t.floor_divide_(o.y)),
    "remainder in place": lambda o: o.changed(lambda t: t.remainder_(o.y)),
    "fmod in place": lambda o: o.changed(lambda t: t.fmod_(o.y)),
    "div in place, floor": lambda o: o.changed(lambda t: t.div_(o.y, rounding_mode="floor")),
    "logical_and in place": lambda o: o.changed(lambda t: t.logical_and_(o.y)),
    "remainder of a leaf": lambda o: o.x.remainder_(2),
    "another rounding": lambda o: o.x.div(2, rounding_mode="x"),
    "transposed": lambda o: o.x.t() % o.y.t(),
    "and with text": lambda o: o.rows & "a",
    "by None": lambda o: o.rows // None,
}


def test_divisions_have_torchs_gradients_and_graphs() -> None:
    assert_same(real, DIVISIONS)


@given(
    st.lists(
        st.tuples(st.integers(-(2**31), 2**31 - 1), st.integers(-(2**31), 2**31 - 1).filter(bool)),
        min_size=1,
        max_size=5,
    )
)
@examples
def test_any_integers_are_divided_as_in_python(pairs: list[tuple[int, int]]) -> None:
    a, b = (mini.tensor(list(column), dtype=mini.int64) for column in zip(*pairs, strict=True))
    assert (a // b).tolist() == [x // y for x, y in pairs]
    assert (a % b).tolist() == [x % y for x, y in pairs]


def test_the_lowest_integer_by_minus_one_wraps() -> None:
    lowest = mini.tensor([-(2**63)])
    assert (lowest // -1).tolist() == [-(2**63)]
    assert (lowest % -1).tolist() == [0]


def test_shifts_by_too_much_leave_the_sign() -> None:
    values = [5, -5]
    for shift in (63, 64, -1, 200):
        assert_same(
            real,
            {
                "left": lambda o, s=shift: o.tensor(values) << s,  # type: ignore[misc]
                "right": lambda o, s=shift: o.tensor(values) >> s,  # type: ignore[misc]
            },
        )


def test_dtypes_are_promoted_as_in_torch() -> None:
    for a in DTYPES:
        for b in DTYPES:
            ours, theirs = (
                (str(fw.promote_types(getattr(fw, a), getattr(fw, b))), fw.can_cast(getattr(fw, a), getattr(fw, b)))
                for fw in (mini, real)
            )
            assert ours == theirs, (a, b)


def test_a_result_has_torchs_dtype() -> None:
    asked: list[Callable[[Any], Any]] = [
        lambda fw: fw.result_type(fw.tensor([1]), 1.0),
        lambda fw: fw.result_type(fw.tensor(1.0), fw.tensor([1])),
        lambda fw: fw.result_type(1, 2.0),
        lambda fw: fw.result_type(fw.tensor([True]), 1),
        lambda fw: fw.result_type(fw.tensor([1], dtype=fw.int32), fw.tensor(1)),
    ]
    for ask in asked:
        assert str(ask(mini)) == str(ask(real))


def test_the_limits_of_dtypes_are_torchs() -> None:
    for name in ("int64", "int32"):
        ours, theirs = mini.iinfo(getattr(mini, name)), real.iinfo(getattr(real, name))
        assert repr(ours) == repr(theirs)
        assert (ours.bits, ours.min, ours.max, ours.dtype) == (theirs.bits, theirs.min, theirs.max, theirs.dtype)
    for name in ("float32", "float64"):
        close, their = mini.finfo(getattr(mini, name)), real.finfo(getattr(real, name))
        assert repr(close) == repr(their)
        for field in ("bits", "eps", "min", "max", "tiny", "smallest_normal", "resolution", "dtype"):
            assert getattr(close, field) == getattr(their, field), field


def test_what_has_no_limits_is_refused_in_torchs_words() -> None:
    mistakes: list[Callable[[Any], Any]] = [
        lambda fw: fw.iinfo(fw.float32),
        lambda fw: fw.iinfo(fw.bool),
        lambda fw: fw.finfo(fw.int64),
    ]
    for wrong in mistakes:
        texts = []
        for fw in (mini, real):
            with pytest.raises(TypeError) as error:
                wrong(fw)
            texts.append(str(error.value))
        assert texts[0] == texts[1]


def test_int32_goes_to_numpy_and_back() -> None:
    array = np.array([1, 2], dtype="int32")
    tensor = mini.from_numpy(array)
    assert tensor.dtype is mini.int32
    array[0] = 5
    assert tensor.tolist() == [5, 2]
    assert tensor.numpy().dtype == array.dtype
    assert mini.tensor(np.int32(3)).dtype is mini.int32
    assert mini.tensor([1.7]).int().tolist() == [1]


def test_random_integers_stay_in_their_range_and_repeat_with_the_seed() -> None:
    mini.manual_seed(5)
    first = mini.randint(-3, 4, (1000,))
    mini.manual_seed(5)
    assert first.tolist() == mini.randint(-3, 4, (1000,)).tolist()
    assert set(first.tolist()) == set(range(-3, 4))
    assert first.dtype is mini.int64
    assert mini.randint(2, (3,), dtype=mini.float32).dtype is mini.float32
    assert mini.randint(low=0, high=1, size=(2, 2)).tolist() == [[0, 0], [0, 0]]
    with pytest.raises(RuntimeError, match="expects 'from' to be less than 'to', but got from=5 >= to=5"):
        mini.randint(5, 5, (3,))


def test_a_random_order_holds_every_number_once() -> None:
    assert sorted(mini.randperm(50).tolist()) == list(range(50))
    assert mini.randperm(0).tolist() == []
    assert mini.randperm(3, dtype=mini.int32).dtype is mini.int32
    with pytest.raises(RuntimeError, match="negative dimension -1"):
        mini.randperm(-1)
