"""`--leaks`: what outlives a test that ran once, said of the test that made it."""

from __future__ import annotations

import xml.etree.ElementTree as xml
from pathlib import Path

import pytest

from plugin_suites import Ran, run_suite

SUITE = """
    import functools
    import unittest

    import gradlife.engine as torch
    import pytest

    kept, graph, states, notes = [], [torch.zeros(1)], {}, []

    class Owner:
        pass

    last = Owner()

    @functools.lru_cache(maxsize=4)
    def bounded(n):
        return torch.ones(n)

    def in_cycle(count):
        owner = Owner()
        owner.itself = owner
        owner.tensor = torch.ones(count)

    def test_clean():
        torch.ones(3, requires_grad=True).sum().backward()

    def test_keeps_a_tensor():
        kept.append(torch.ones(3))

    def test_notices_nothing():
        assert len(kept) == 1

    def test_keeps_a_graph():
        graph[0] = graph[0] + torch.ones(1, requires_grad=True)

    def test_leaves_a_large_cycle():
        in_cycle(2000)

    def test_leaves_a_small_cycle():
        in_cycle(3)

    def test_keeps_the_last_result():
        last.loss = torch.ones(3, requires_grad=True).sum()

    def test_keeps_in_a_bounded_cache():
        bounded(3)

    def test_keeps_no_tensors():
        states["functions"] = [lambda: 0]

    def test_fails():
        mine = torch.ones(3)
        assert not kept, "its own reason"

    def test_after_one_that_failed():
        torch.ones(3)

    @pytest.fixture
    def model():
        return {"weights": torch.ones(3, requires_grad=True)}

    def test_keeps_in_its_own_fixture(model):
        model["more"] = torch.ones(3)

    @pytest.fixture(scope="module")
    def shared():
        yield {"weights": torch.ones(3, requires_grad=True)}

    def test_sets_a_wider_fixture_up(shared):
        shared["weights"].sum()

    def test_makes_gradients_of_one(shared):
        shared["weights"].sum().backward()
        shared["weights"].grad

    def test_keeps_in_a_wider_fixture(shared):
        shared["history"] = [torch.ones(4)]

    @pytest.fixture
    def leaky():
        kept.append(torch.ones(6))
        yield

    def test_has_a_fixture_that_leaks(leaky):
        pass

    def test_has_a_fixture_that_leaks_and_uses_more_memory(leaky):
        notes.append("x" * 100_000)

    @pytest.mark.no_leaks(repeat=3, tensors=1)
    def test_has_a_marker():
        kept.append(torch.ones(3))

    class TestUnit(unittest.TestCase):
        @classmethod
        def setUpClass(cls):
            cls.shared = torch.ones(2)

        def setUp(self):
            self.mine = torch.ones(2)

        def test_clean_case(self):
            self.more = torch.ones(2)

        def test_leaky_case(self):
            kept.append(self.mine)

        def test_failing_case(self):
            kept.append(self.mine)
            self.fail("its own reason")

    class TestMethods:
        def test_keeps_on_itself(self):
            self.mine = torch.ones(2)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made: Path = tmp_path_factory.mktemp("leaks")
    return made


@pytest.fixture(scope="module")
def ran(folder: Path) -> Ran:
    return run_suite(folder, "--leaks", "--junitxml=tests.xml", test_suite=SUITE)


LEAKY = [
    "test_keeps_a_tensor",
    "test_keeps_a_graph",
    "test_keeps_the_last_result",
    "test_leaves_a_large_cycle",
    "test_keeps_in_a_wider_fixture",
    "test_leaky_case",
]
CLEAN = [
    "test_clean",
    "test_notices_nothing",
    "test_leaves_a_small_cycle",
    "test_keeps_in_a_bounded_cache",
    "test_keeps_no_tensors",
    "test_after_one_that_failed",
    "test_keeps_in_its_own_fixture",
    "test_sets_a_wider_fixture_up",
    "test_makes_gradients_of_one",
    "test_has_a_marker",
    "test_clean_case",
    "test_keeps_on_itself",
]


@pytest.mark.whole
@pytest.mark.parametrize("name", LEAKY)
def test_what_outlives_a_test_fails_it(ran: Ran, name: str) -> None:
    assert ran.outcome(name) == "FAILED"
    assert [section for section, _ in ran.codes(name)] == ["new"]


@pytest.mark.parametrize("name", CLEAN)
def test_what_is_meant_to_stay_does_not(ran: Ran, name: str) -> None:
    assert ran.outcome(name) == "PASSED"
    assert not ran.checked(name)["is_failure"]


def test_a_marked_test_leaves_the_next_one_seeing(ran: Ran) -> None:
    """The marked one gave the collector everything back, and the next one reported that somebody had thawed it."""
    assert [one["nodeid"] for one in ran.report["tests"] if one["verdict"] == "inconclusive"] == []


@pytest.mark.parametrize("more", ["", "_and_uses_more_memory"])
def test_what_a_fixture_leaves_is_reported_when_it_is_torn_down(ran: Ran, more: str) -> None:
    """A few kilobytes more in use after the call, even by chance, were once reported as the test's own."""
    name = f"test_has_a_fixture_that_leaks{more}"
    assert [word for one, word in ran.outcomes.items() if one.endswith(name)] == ["ERROR"]
    checked = ran.checked(name)
    assert checked["phase"] == "teardown"
    assert checked["findings"][0]["created_at"][0].endswith(" in leaky")


def test_a_test_that_fails_by_itself_is_not_judged(ran: Ran) -> None:
    assert ran.outcome("test_fails") == "FAILED"
    assert not [one for one in ran.report["tests"] if one["nodeid"].endswith("test_fails")]


def test_a_test_case_that_fails_is_not_judged_at_its_teardown(ran: Ran) -> None:
    """Its failure raises nothing, so that it counted as passed."""
    assert [word for name, word in ran.outcomes.items() if name.endswith("test_failing_case")] == ["FAILED"]
    assert not [one for one in ran.report["tests"] if one["nodeid"].endswith("test_failing_case")]


def test_it_is_reported_where_the_survivor_was_made(ran: Ran) -> None:
    [found] = ran.checked("test_keeps_a_tensor")["findings"]
    assert found["created_at"][0].endswith(" in test_keeps_a_tensor")
    assert found["trace"]["steps"][0]["object"] == "module"
    assert found["trace"]["text"].startswith("Tensor float32 [3] is held: a root reaches it")


def test_one_run_is_not_said_to_grow(ran: Ran) -> None:
    assert ran.codes("test_keeps_the_last_result") == [("new", "GL409")]
    assert ran.checked("test_keeps_the_last_result")["findings"][0]["kind"] == "retained"


def test_what_stays_for_a_reason_is_explained(ran: Ran) -> None:
    [cache] = ran.checked("test_keeps_in_a_bounded_cache")["explained"]
    assert cache["kind"] == "bounded container"


def test_a_small_cycle_is_reported_only(ran: Ran) -> None:
    assert ran.codes("test_leaves_a_small_cycle") == [("waiting", "GL516")]


def test_junit_has_verdicts_and_fingerprints(ran: Ran, folder: Path) -> None:
    cases = {case.get("name"): case for case in xml.parse(folder / "tests.xml").iter("testcase")}
    properties = {one.get("name"): one.get("value") for one in cases["test_keeps_a_tensor"].iter("property")}
    [found] = ran.checked("test_keeps_a_tensor")["findings"]
    assert properties["gradlife_verdict"] == "leak"
    assert properties["gradlife_fingerprint"] == found["fingerprint"]
    assert properties["gradlife_leak"] == (
        f"new: 1 tensor and 12 B a run: GL512 each step appends to a list  [{found['fingerprint'][:8]}]"
    )


def test_a_suite_that_is_warned_passes_and_hears_it_on_github(tmp_path: Path) -> None:
    few = SUITE[: SUITE.index("    def test_keeps_a_graph")]
    ran = run_suite(
        tmp_path, "--leaks=warn", test_suite=few, environment={"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": ""}
    )
    assert (ran.status, ran.outcome("test_keeps_a_tensor")) == (0, "PASSED")
    assert "3 tests checked: 1 new\n" in ran.text
    line = few.splitlines().index("        kept.append(torch.ones(3))") + 1
    start = f"::warning file=test_suite.py,line={line},title=GL512 each step appends to a list::"
    assert f"{start}test_suite.py::test_keeps_a_tensor%0A1 tensor and 12 B a run: GL512" in ran.text


TABLES = """
    import logging
    import string
    import weakref

    import gradlife.engine as torch

    class Handler(logging.Handler):
        def __init__(self):
            super().__init__()
            self.batches = []

    class Owner:
        pass

    def test_adds_a_handler():
        handler = Handler()
        handler.batches.append(torch.ones(3))
        logging.getLogger().addHandler(handler)

    def test_registers_a_function():
        kept = torch.ones(3)
        string.hook = lambda: kept

    def test_registers_a_class():
        class Local:
            tensor = torch.ones(3)
        string.kind = Local

    def test_leaves_what_a_library_keeps_for_itself():
        string.table = {"plain": [torch.ones(3)]}
"""


def test_what_a_program_stores_in_a_library_is_a_leak(tmp_path: Path) -> None:
    """A handler of logging that keeps batches passed: below a module of Python's own, everything was explained."""
    ran = run_suite(tmp_path, "--leaks", test_suite=TABLES)
    assert {name.rpartition("::")[2]: word for name, word in ran.outcomes.items()} == {
        "test_adds_a_handler": "FAILED",
        "test_registers_a_function": "FAILED",
        "test_registers_a_class": "FAILED",
        "test_leaves_what_a_library_keeps_for_itself": "PASSED",
    }
