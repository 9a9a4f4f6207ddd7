"""Random numbers: what their distributions promise, what they record, and what they refuse in PyTorch's words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import gradlife.engine as mini

real = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

Operation = Callable[..., Any]
COUNT = 20_000

DRAWS: dict[str, Operation] = {
    "uniform_": lambda fw, x: x.uniform_(),
    "normal_": lambda fw, x: x.normal_(),
    "bernoulli_": lambda fw, x: x.bernoulli_(),
    "bernoulli_ by a tensor": lambda fw, x: x.bernoulli_(fw.full((3,), 0.5, dtype=fw.float64)),
    "random_": lambda fw, x: x.random_(),
    "random_ below": lambda fw, x: x.random_(5),
    "random_ between": lambda fw, x: x.random_(2, 5),
    "exponential_": lambda fw, x: x.exponential_(),
    "geometric_": lambda fw, x: x.geometric_(0.5),
    "log_normal_": lambda fw, x: x.log_normal_(),
    "cauchy_": lambda fw, x: x.cauchy_(),
}
NEW: dict[str, Operation] = {
    "bernoulli": lambda fw, x: fw.bernoulli(x),
    "normal around a tensor": lambda fw, x: fw.normal(x, 2.0),
    "normal as wide as a tensor": lambda fw, x: fw.normal(1.0, x),
    "normal of two": lambda fw, x: fw.normal(x, x),
}


def sample(draw: Operation) -> list[float]:
    mini.manual_seed(11)
    values: list[float] = draw(mini, mini.empty(COUNT, dtype=mini.float64)).tolist()
    return values


@pytest.mark.parametrize(
    ("draw", "mean", "deviation"),
    [
        pytest.param(lambda fw, x: x.uniform_(2, 4), 3, 0.5774, id="uniform_"),
        pytest.param(lambda fw, x: x.normal_(1, 3), 1, 3, id="normal_"),
        pytest.param(lambda fw, x: x.bernoulli_(0.25), 0.25, 0.4330, id="bernoulli_"),
        pytest.param(lambda fw, x: x.random_(2, 7), 4, 1.4142, id="random_"),
        pytest.param(lambda fw, x: x.exponential_(2.0), 0.5, 0.5, id="exponential_"),
        pytest.param(lambda fw, x: x.geometric_(0.5), 2, 1.4142, id="geometric_"),
        pytest.param(lambda fw, x: x.log_normal_(0, 0.5), 1.1331, 0.6039, id="log_normal_"),
        pytest.param(lambda fw, x: fw.normal(x.fill_(2), 0.5), 2, 0.5, id="normal"),
        pytest.param(lambda fw, x: fw.normal(2.0, 0.5, (COUNT,)), 2, 0.5, id="normal of a size"),
        pytest.param(lambda fw, x: fw.bernoulli(x.fill_(0.75)), 0.75, 0.4330, id="bernoulli"),
    ],
)
def test_a_large_sample_has_the_mean_and_the_deviation(draw: Operation, mean: float, deviation: float) -> None:
    values = sample(draw)
    middle = sum(values) / COUNT
    assert middle == pytest.approx(mean, abs=5 * deviation / COUNT**0.5)
    assert (sum((value - middle) ** 2 for value in values) / COUNT) ** 0.5 == pytest.approx(deviation, rel=0.05)


def test_ranges() -> None:
    assert set(sample(lambda fw, x: x.random_(3))) == {0.0, 1.0, 2.0}
    assert set(sample(lambda fw, x: x.bernoulli_())) == {0.0, 1.0}
    assert min(sample(lambda fw, x: x.geometric_(0.9))) == 1.0
    assert min(sample(lambda fw, x: x.exponential_())) >= 0.0
    assert 2**52 < max(sample(lambda fw, x: x.random_())) <= 2**53
    assert set(mini.zeros(100, dtype=mini.bool).random_().tolist()) == {True, False}
    assert mini.zeros(3, dtype=mini.int64).random_(2**62, 2**62 + 1).tolist() == [2**62] * 3


def test_the_same_seed_gives_the_same_numbers() -> None:
    for draw in DRAWS.values():
        results = []
        for _ in range(2):
            mini.manual_seed(5)
            results.append(draw(mini, mini.zeros(3, dtype=mini.float64)).tolist())
        assert results[0] == results[1]


@pytest.mark.parametrize("name", DRAWS)
def test_a_draw_in_place_cuts_the_history_like_torch(name: str) -> None:
    seen = []
    for fw in (mini, real):
        x = fw.full((3,), 0.5, dtype=fw.float64, requires_grad=True)
        y = x.clone()
        assert DRAWS[name](fw, y) is y
        node = y.grad_fn
        y.sum().backward()
        seen.append((node.name(), y._version, x.grad.tolist(), [each is None for each, _ in node.next_functions]))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("name", NEW)
def test_a_new_draw_records_what_torch_records(name: str) -> None:
    seen = []
    for fw in (mini, real):
        x = fw.full((3,), 0.5, dtype=fw.float64, requires_grad=True)
        node = NEW[name](fw, x).grad_fn
        fields = {field: tuple(getattr(node, field)) for field in dir(node) if field.startswith("_saved")}
        NEW[name](fw, x).sum().backward()
        seen.append((node.name(), fields, x.grad.tolist()))
    assert seen[0] == seen[1]


REFUSALS: dict[str, Operation] = {
    "uniform of integers": lambda fw: fw.tensor([1]).uniform_(),
    "normal of integers": lambda fw: fw.tensor([1]).normal_(),
    "rand of integers": lambda fw: fw.rand(2, dtype=fw.int64),
    "randn of integers": lambda fw: fw.randn(2, dtype=fw.int64),
    "uniform, wrong way": lambda fw: fw.ones(2).uniform_(1, 0),
    "normal below 0": lambda fw: fw.ones(2).normal_(0, -1),
    "bernoulli above 1": lambda fw: fw.ones(2).bernoulli_(1.5),
    "bernoulli by numbers above 1": lambda fw: fw.bernoulli(fw.ones(2) * 2),
    "bernoulli by integers": lambda fw: fw.bernoulli(fw.tensor([1])),
    "random, wrong way": lambda fw: fw.ones(2).random_(5, 3),
    "random below nothing": lambda fw: fw.ones(2).random_(0),
    "random beyond bool": lambda fw: fw.tensor([True]).random_(0, 5),
    "exponential of 0": lambda fw: fw.ones(2).exponential_(0.0),
    "exponential of integers": lambda fw: fw.tensor([1]).exponential_(),
    "geometric of 1": lambda fw: fw.ones(2).geometric_(1.0),
    "log_normal below 0": lambda fw: fw.ones(2).log_normal_(0, -1),
    "cauchy of 0": lambda fw: fw.ones(2).cauchy_(0, 0),
    "normal, widths below 0": lambda fw: fw.normal(fw.ones(2), fw.ones(2) - 2),
    "normal, width below 0": lambda fw: fw.normal(fw.ones(2), -1.0),
    "a leaf": lambda fw: fw.ones(2, requires_grad=True).uniform_(),
    "repeated memory": lambda fw: fw.ones(1).expand(3).normal_(),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_what_torch_refuses_is_refused_in_its_words(name: str) -> None:
    errors = []
    for fw in (mini, real):
        with pytest.raises(RuntimeError) as raised:
            REFUSALS[name](fw)
        errors.append((type(raised.value), str(raised.value)))
    assert errors[0] == errors[1]
