"""Element-wise functions against PyTorch: values, gradients of both orders, nodes, in-place forms, errors.

Inputs without dimensions, empty, broadcast, and in five memory layouts; float32 to 2e-5 relative and 2e-6 absolute, float64 to
1e-12 and 1e-13, second derivatives to ten times that.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gradlife.engine as mini
from op_pairs import DTYPES, LAYOUTS, compare, has_layouts, numbers, told

real = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

Operation = Callable[..., Any]

# Each with what takes inputs between 0.3 and 1.7 to where the function is interesting.
UNARY: dict[str, Operation] = {
    "tan": lambda x: x,
    "sinh": lambda x: x - 1,
    "cosh": lambda x: x - 1,
    "asin": lambda x: (x - 1) * 0.9,
    "acos": lambda x: (x - 1) * 0.9,
    "atan": lambda x: x - 1,
    "asinh": lambda x: x - 1,
    "acosh": lambda x: x + 1,
    "atanh": lambda x: (x - 1) * 0.9,
    "deg2rad": lambda x: x * 90,
    "rad2deg": lambda x: x,
    "log2": lambda x: x,
    "log10": lambda x: x,
    "log1p": lambda x: x - 1,
    "expm1": lambda x: x - 1,
    "exp2": lambda x: x - 1,
    "rsqrt": lambda x: x,
    "erf": lambda x: x - 1,
    "erfc": lambda x: x - 1,
    "logit": lambda x: x / 2,
}
SHAPES = [(), (0,), (3,), (2, 3), (3, 0, 2)]
PAIRS: dict[str, Operation] = {
    "atan2": lambda fw, a, b: fw.atan2(a - 1, b),
    "hypot": lambda fw, a, b: fw.hypot(a, b),
    "logaddexp": lambda fw, a, b: fw.logaddexp(a, b),
    "xlogy": lambda fw, a, b: fw.xlogy(a, b),
    "lerp by a number": lambda fw, a, b: fw.lerp(a, b, 0.3),
    "lerp beyond a half": lambda fw, a, b: a.lerp(b, 0.75),
}
TRIPLES: dict[str, Operation] = {
    "lerp": lambda fw, a, b, c: fw.lerp(a, b, c / 2),
    "addcmul": lambda fw, a, b, c: fw.addcmul(a, b, c),
    "addcmul, scaled": lambda fw, a, b, c: a.addcmul(b, c, value=2.5),
    "addcdiv": lambda fw, a, b, c: fw.addcdiv(a, b, c),
    "addcdiv, scaled": lambda fw, a, b, c: a.addcdiv(b, c, value=-2),
}
PAIR_SHAPES = [((), ()), ((3,), ()), ((2, 3), (3,)), ((2, 1), (1, 3)), ((0,), (1,))]
TRIPLE_SHAPES = [((), (), ()), ((2, 3), (3,), (2, 1)), ((3,), (2, 3), ()), ((0,), (1,), (0,))]


def of(name: str, to_domain: Operation) -> Operation:
    return lambda fw, x: getattr(fw, name)(to_domain(x))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_functions_of_one_tensor(layout: str) -> None:
    for shape in SHAPES:
        if layout != "contiguous" and not has_layouts([shape]):
            continue
        for (name, to_domain), dtype in product(UNARY.items(), DTYPES):
            with told(name, shape, dtype):
                compare(of(name, to_domain), real, [shape], [dtype], layout)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_functions_of_two_tensors(layout: str) -> None:
    for shapes in PAIR_SHAPES:
        if layout != "contiguous" and not has_layouts(shapes):
            continue
        for name, dtype in product(PAIRS, DTYPES):
            with told(name, shapes, dtype):
                compare(PAIRS[name], real, shapes, [dtype] * 2, layout)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_functions_of_three_tensors(layout: str) -> None:
    for shapes in TRIPLE_SHAPES:
        if layout != "contiguous" and not has_layouts(shapes):
            continue
        for name, dtype in product(TRIPLES, DTYPES):
            with told(name, shapes, dtype):
                compare(TRIPLES[name], real, shapes, [dtype] * 3, layout)


CORNERS = [0.0, -0.0, 1.0, -1.0, 0.5, float("inf"), -float("inf"), float("nan"), 30.0, -30.0]


@given(st.lists(st.floats(-4, 4) | st.sampled_from(CORNERS), min_size=1, max_size=6))
def test_any_numbers_give_what_they_give_in_torch(values: list[float]) -> None:
    for name in UNARY:
        ours, theirs = (getattr(fw.tensor(values, dtype=fw.float64), name)().tolist() for fw in (mini, real))
        assert ours == pytest.approx(theirs, nan_ok=True), name


@given(st.lists(st.tuples(st.sampled_from(CORNERS), st.sampled_from(CORNERS)), min_size=1, max_size=4))
def test_any_pairs_give_what_they_give_in_torch(values: list[tuple[float, float]]) -> None:
    for name in ("atan2", "hypot", "logaddexp", "xlogy"):
        ours, theirs = (
            getattr(fw, name)(*fw.tensor(values, dtype=fw.float64).unbind(1)).tolist() for fw in (mini, real)
        )
        assert ours == pytest.approx(theirs, nan_ok=True), name


def test_integers_become_floats() -> None:
    for name in [*UNARY, "sin", "sqrt", "sigmoid"]:
        ours, theirs = (getattr(fw, name)(fw.tensor([0, 1])) for fw in (mini, real))
        assert str(ours.dtype) == str(theirs.dtype) == "torch.float32"
        assert ours.tolist() == pytest.approx(theirs.tolist(), nan_ok=True), name
    for name in ("atan2", "xlogy"):
        assert str(getattr(mini, name)(mini.tensor([1]), mini.tensor([2])).dtype) == "torch.float32"


def saved(node: Any) -> dict[str, Any]:
    fields = {name: getattr(node, name) for name in dir(node) if name.startswith("_saved")}
    return {name: value.tolist() if hasattr(value, "tolist") else value for name, value in fields.items()}


def assert_same_node(ours: Any, theirs: Any) -> None:
    assert type(ours).__name__ == type(theirs).__name__
    mine, other = saved(ours), saved(theirs)
    assert mine.keys() == other.keys()
    for name, value in other.items():
        assert mine[name] == pytest.approx(value) if value is not None else mine[name] is None, name
        assert isinstance(mine[name], int) == isinstance(value, int), name
    assert [node is None for node, _ in ours.next_functions] == [node is None for node, _ in theirs.next_functions]


def operands(fw: Any, wanted: tuple[bool, ...]) -> list[Any]:
    return [
        fw.tensor(numbers((3,), "float64", i, 0.3, 0.9)).requires_grad_(requires) for i, requires in enumerate(wanted)
    ]


def test_a_node_saves_what_torch_saves() -> None:
    for name in UNARY:
        ours, theirs = (getattr(fw, name)(operands(fw, (True,))[0] + (name == "acosh")) for fw in (mini, real))
        assert_same_node(ours.grad_fn, theirs.grad_fn)
    for wanted in product((True, False), repeat=2):
        if any(wanted):
            for name in PAIRS:
                assert_same_node(*(PAIRS[name](fw, *operands(fw, wanted)).grad_fn for fw in (mini, real)))
    for wanted in product((True, False), repeat=3):
        if any(wanted):
            for name in TRIPLES:
                with told(name, wanted):
                    assert_same_node(*(TRIPLES[name](fw, *operands(fw, wanted)).grad_fn for fw in (mini, real)))


IN_PLACE: dict[str, Operation] = {
    "atan2_": lambda x, y: x.atan2_(y),
    "hypot_": lambda x, y: x.hypot_(y),
    "xlogy_": lambda x, y: x.xlogy_(y),
    "lerp_": lambda x, y: x.lerp_(y, 0.25),
    "lerp_ by a tensor": lambda x, y: x.lerp_(y, y),
    "addcmul_": lambda x, y: x.addcmul_(y, y, value=2),
    "addcdiv_": lambda x, y: x.addcdiv_(y, y + 1),
}
WITHOUT_IN_PLACE_GRADIENT = ("asinh", "acosh", "atanh")
for _name in UNARY:
    IN_PLACE[f"{_name}_"] = lambda x, y, method=f"{_name}_": getattr(x, method)()


def changed(fw: Any, change: Operation, wanted: tuple[bool, bool]) -> Any:
    x, y = operands(fw, wanted)
    target = x.clone() + 1 if change is IN_PLACE["acosh_"] else x.clone()
    before = target._version
    result = change(target, y)
    assert result is target
    assert target._version == before + 1
    if target.requires_grad and change not in [IN_PLACE[f"{name}_"] for name in WITHOUT_IN_PLACE_GRADIENT]:
        target.sum().backward()
    return target, [each.grad.tolist() if each.grad is not None else None for each in (x, y)]


def test_in_place_forms_record_and_count_like_torch() -> None:
    for name, wanted in product(IN_PLACE, [(True, False), (True, True), (False, True)]):
        with told(name, wanted):
            (ours, our_grads), (theirs, their_grads) = (changed(fw, IN_PLACE[name], wanted) for fw in (mini, real))
            assert ours.tolist() == pytest.approx(theirs.tolist())
            for mine, other in zip(our_grads, their_grads, strict=True):
                assert mine == (pytest.approx(other) if other is not None else None)
            assert (ours.grad_fn is None) == (theirs.grad_fn is None)


@pytest.mark.parametrize("name", WITHOUT_IN_PLACE_GRADIENT)
def test_the_forms_that_torch_cannot_differentiate_say_so(name: str) -> None:
    for fw in (mini, real):
        changed = getattr(fw.zeros(2, requires_grad=True) + (name == "acosh"), f"{name}_")()
        with pytest.raises(NotImplementedError, match=f"^the derivative for 'inplace version of {name}' is not impl"):
            changed.sum().backward()


def test_in_place_nodes_save_copies_like_torch() -> None:
    for name, wanted in product(IN_PLACE, [(True, False), (True, True), (False, True)]):
        with told(name, wanted):
            nodes = []
            for fw in (mini, real):
                x, y = operands(fw, wanted)
                nodes.append(IN_PLACE[name](x.clone() + (name == "acosh_"), y).grad_fn)
            if nodes[1] is None:
                assert nodes[0] is None
            else:
                assert_same_node(*nodes)


@pytest.mark.parametrize("name", ["tan_", "log2_", "relu_", "exp_", "neg_", "zero_", "square_"])
def test_in_place_forms_are_functions_too(name: str) -> None:
    x = mini.tensor([0.5, 1.0])
    assert getattr(mini, name)(x) is x
    theirs = getattr(real, name)(real.tensor([0.5, 1.0]))
    assert x.tolist() == pytest.approx(theirs.tolist())


def test_positive_gives_the_tensor_itself() -> None:
    x = mini.tensor([1.0])
    assert mini.positive(x) is x
    assert x.positive() is x


REFUSALS: dict[str, Operation] = {
    "a leaf": lambda fw: fw.tensor([1.0], requires_grad=True).tan_(),
    "integers": lambda fw: fw.tensor([1]).tan_(),
    "repeated memory": lambda fw: fw.tensor([1.0]).expand(3).tan_(),
    "plus a bool": lambda fw: fw.positive(fw.tensor([True])),
    "hypot of integers": lambda fw: fw.hypot(fw.tensor([1]), fw.tensor([2])),
    "logaddexp of integers": lambda fw: fw.logaddexp(fw.tensor([1]), fw.tensor([2])),
    "shapes": lambda fw: fw.hypot(fw.ones(2), fw.ones(3)),
    "a larger result": lambda fw: fw.ones(3).hypot_(fw.ones(2, 3)),
    "a larger end": lambda fw: fw.ones(3).lerp_(fw.ones(2, 3), 0.5),
    "a larger product": lambda fw: fw.ones(3).addcmul_(fw.ones(2, 3), fw.ones(3)),
    "a repeated target": lambda fw: fw.ones(1).expand(3).addcdiv_(fw.ones(3), fw.ones(3)),
    "floats into integers": lambda fw: fw.tensor([1]).addcmul_(fw.ones(1), fw.ones(1)),
    "lerp of two dtypes": lambda fw: fw.lerp(fw.ones(2), fw.ones(2).double(), 0.5),
    "lerp with a weight of another": lambda fw: fw.lerp(fw.ones(2), fw.ones(2), fw.ones(2).double()),
    "lerp of integers": lambda fw: fw.lerp(fw.tensor([1]), fw.tensor([2]), 0.5),
    "lerp of integers by one": lambda fw: fw.lerp(fw.tensor([1]), fw.tensor([2]), fw.tensor([1])),
    "addcdiv of integers": lambda fw: fw.addcdiv(fw.ones(2), fw.tensor([1, 2]), fw.tensor([1, 2])),
}


@pytest.mark.parametrize("attempt", REFUSALS.values(), ids=REFUSALS)
def test_what_torch_refuses_is_refused_in_its_words(attempt: Operation) -> None:
    errors = []
    for fw in (mini, real):
        with pytest.raises(RuntimeError) as raised:
            attempt(fw)
        errors.append((type(raised.value), str(raised.value)))
    assert errors[0] == errors[1]
