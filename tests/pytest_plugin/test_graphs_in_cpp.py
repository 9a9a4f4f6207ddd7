"""`--leaks` where no new object of Python shows the leak: grad nodes that an old tensor has come to hold."""

from __future__ import annotations

import pytest

from gradlife import _heap
from plugin_suites import Ran, run_suite

SUITE = """
    import pytest
    import torch

    weights = torch.ones(64, requires_grad=True)
    total = torch.zeros(())
    state = {"mean": torch.zeros(64)}

    def test_adds_to_an_old_tensor_with_its_graph():
        total.add_((weights * 2).sum())

    def test_adds_without_one():
        with torch.no_grad():
            total.add_((weights * 2).sum())

    def test_updates_a_buffer_with_a_graph():
        state["mean"].mul_(0.9).add_((weights * 3).exp())

    def test_trains():
        (weights * 2).exp().sum().backward()

    @pytest.fixture(scope="module")
    def prepared():
        weighed = torch.zeros(())
        weighed.add_((weights * 5).sum())
        yield weighed

    def test_uses_what_a_wider_fixture_prepared(prepared):
        (prepared * 2).exp()

    @pytest.fixture
    def scaled():
        made = torch.zeros(64)
        made.add_(weights * 7)
        yield made

    def test_uses_what_its_own_fixture_made(scaled):
        scaled.exp().sum().backward()
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return run_suite(tmp_path_factory.mktemp("graphs"), "--leaks", test_suite=SUITE)


@pytest.mark.whole
@pytest.mark.torch
@pytest.mark.parametrize(
    ("name", "holder"),
    [("test_adds_to_an_old_tensor_with_its_graph", "total"), ("test_updates_a_buffer_with_a_graph", "state")],
)
def test_a_graph_on_an_old_tensor_is_the_leak_of_the_test_that_made_it(ran: Ran, name: str, holder: str) -> None:
    assert ran.outcome(name) == "FAILED"
    [found] = ran.checked(name)["findings"]
    assert (found["per_step"]["tensors"], found["per_step"]["graph_nodes"], found["lifetime"]) == (0, 2, "held")
    assert found["created_at"][0].endswith(f" in {name}")
    assert f"global variable '{holder}'" in found["trace"]["text"]


@pytest.mark.torch
@pytest.mark.parametrize(
    "name",
    [
        "test_adds_without_one",
        "test_trains",
        "test_uses_what_a_wider_fixture_prepared",
        "test_uses_what_its_own_fixture_made",
    ],
)
@pytest.mark.whole
def test_graphs_that_end_with_the_test_or_are_a_fixtures_are_none(ran: Ran, name: str) -> None:
    assert ran.outcome(name) == "PASSED"
    assert ran.checked(name)["findings"] == []


def test_nodes_are_known_only_while_they_are_recorded() -> None:
    with pytest.raises(RuntimeError, match="nothing is recorded"):
        _heap.living_nodes(0)
