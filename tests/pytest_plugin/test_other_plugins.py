"""Together with what others install: each kind of test is judged for what it leaves itself, and others' work is not disturbed."""

from __future__ import annotations

import re
import xml.etree.ElementTree as xml
from pathlib import Path

import pytest

from plugin_suites import Ran, run_suite

HEAD = """
    import asyncio
    import unittest

    import gradlife.engine as torch
    import pytest

    kept, tries = [], {}
    no_leaks = pytest.mark.no_leaks(repeat=3)

    def is_first_try(name):
        tries[name] = tries.get(name, 0) + 1
        return tries[name] == 1

    @pytest.fixture
    def batch():
        yield torch.ones(4, requires_grad=True)
"""

# --- pytest-asyncio -------------------------------------------------------------------------------------------------------

ASYNC = """
    import pytest_asyncio

    pytestmark = pytest.mark.asyncio

    @pytest_asyncio.fixture
    async def awaited():
        await asyncio.sleep(0)
        yield torch.ones(4, requires_grad=True)
        await asyncio.sleep(0)

    @pytest_asyncio.fixture
    async def leaky():
        kept.append(torch.ones(6))
        yield

    @pytest_asyncio.fixture(scope="module", loop_scope="module")
    async def shared():
        yield {"weights": torch.ones(3, requires_grad=True), "history": []}

    @no_leaks
    async def test_marked_clean(awaited):
        (awaited * 2).sum().backward()
        await asyncio.sleep(0)

    @no_leaks
    async def test_marked_keeps(awaited):
        await asyncio.sleep(0)
        kept.append(torch.ones(3))

    @no_leaks
    @pytest.mark.asyncio(loop_scope="module")
    async def test_marked_uses_a_wider_fixture(shared):
        (shared["weights"] * 2).sum()

    @no_leaks
    @pytest.mark.asyncio(loop_scope="module")
    async def test_marked_keeps_in_a_wider_fixture(shared):
        shared["history"].append(torch.ones(2))

    async def test_clean(awaited):
        (awaited * 2).sum().backward()
        await asyncio.sleep(0)

    async def test_keeps(awaited):
        await asyncio.sleep(0)
        kept.append(torch.ones(3))

    async def test_has_a_fixture_that_leaks(leaky):
        await asyncio.sleep(0)

    @pytest.mark.asyncio(loop_scope="module")
    async def test_uses_a_wider_fixture(shared):
        (shared["weights"] * 2).sum().backward()

    async def test_expects_its_own_to_be_freed(lifetimes):
        mine = torch.ones(3)

        async def inner(one):
            await asyncio.sleep(0)
            lifetimes.expect_freed(one)

        await inner(mine)

    async def test_expects_what_is_kept_to_be_freed(lifetimes):
        mine = torch.ones(3)
        kept.append(mine)
        await asyncio.sleep(0)
        lifetimes.expect_freed(mine)
"""


@pytest.fixture(scope="module")
def awaited(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return run_suite(tmp_path_factory.mktemp("asyncio"), "--leaks", test_suite=HEAD + ASYNC, plugins=("asyncio",))


@pytest.mark.whole
@pytest.mark.parametrize(
    "name", ["test_marked_keeps", "test_marked_keeps_in_a_wider_fixture", "test_keeps", "test_has_a_fixture_that_leaks"]
)
def test_a_coroutine_that_leaves_something_fails(awaited: Ran, name: str) -> None:
    """Reports of the single runs are dropped: finalizers of a fixture do not pile up at the fixtures that it uses."""
    assert awaited.codes(name) == [("new", "GL512")]
    assert awaited.checked(name)["is_failure"]


@pytest.mark.parametrize(
    "name", ["test_marked_clean", "test_marked_uses_a_wider_fixture", "test_clean", "test_uses_a_wider_fixture"]
)
@pytest.mark.whole
def test_a_coroutine_that_leaves_nothing_passes(awaited: Ran, name: str) -> None:
    assert (awaited.outcome(name), awaited.codes(name)) == ("PASSED", [])


def test_variables_of_coroutines_that_run_do_not_keep_what_is_expected_to_be_freed(awaited: Ran) -> None:
    assert awaited.outcome("test_expects_its_own_to_be_freed") == "PASSED"
    assert awaited.outcome("test_expects_what_is_kept_to_be_freed") == "FAILED"
    result = awaited.text[awaited.text.index("_ test_expects_what_is_kept_to_be_freed _") :]
    assert "global variable 'kept' of module test_suite" in result[: result.index("What to do")]


# --- pytest-rerunfailures -------------------------------------------------------------------------------------------------

FLAKY = """
    @no_leaks
    def test_marked_fails_at_first(batch):
        loss = (batch * 2).sum()
        assert not is_first_try("marked")

    @no_leaks
    def test_marked_keeps():
        kept.append(torch.ones(3))

    def test_fails_at_first(batch):
        loss = (batch * 2).sum()
        assert not is_first_try("plain")

    def test_keeps_and_fails_at_first():
        if is_first_try("keeps"):
            kept.append(torch.ones(5))
            raise ValueError("flaky")

    @pytest.fixture
    def flaky():
        if is_first_try("fixture"):
            kept.append(torch.ones(2))
            raise ValueError("flaky")
        yield torch.ones(7)

    def test_has_a_fixture_that_fails_at_first(flaky):
        flaky.sum()

    def test_keeps():
        kept.append(torch.ones(3))

    def test_keeps_in_its_first_try_only():
        if is_first_try("once"):
            kept.append(torch.ones(3))
"""


@pytest.fixture(scope="module")
def rerun(tmp_path_factory: pytest.TempPathFactory) -> tuple[Ran, Path]:
    folder = tmp_path_factory.mktemp("reruns")
    options = ("--leaks", "--reruns=2", "--junitxml=tests.xml")
    suite = HEAD + FLAKY
    return run_suite(folder, *options, command="-rAR", test_suite=suite, plugins=("rerunfailures",)), folder


@pytest.mark.whole
@pytest.mark.parametrize(
    "name",
    [
        "test_marked_fails_at_first",
        "test_fails_at_first",
        "test_keeps_and_fails_at_first",
        "test_has_a_fixture_that_fails_at_first",
        "test_keeps_in_its_first_try_only",
    ],
)
def test_what_an_earlier_try_left_is_no_leak_of_the_next(rerun: tuple[Ran, Path], name: str) -> None:
    ran, _ = rerun
    assert (ran.outcome(name), ran.codes(name)) == ("PASSED", [])
    assert ran.text.count(f"RERUN test_suite.py::{name}\n") == 1


@pytest.mark.parametrize("name", ["test_marked_keeps", "test_keeps"])
@pytest.mark.whole
def test_a_test_that_leaks_in_each_try_fails(rerun: tuple[Ran, Path], name: str) -> None:
    ran, _ = rerun
    assert (ran.outcome(name), ran.codes(name)) == ("FAILED", [("new", "GL512")])
    assert ran.text.count(f"RERUN test_suite.py::{name}\n") == 2


def test_each_test_is_reported_once_by_its_last_try(rerun: tuple[Ran, Path]) -> None:
    ran, folder = rerun
    assert (ran.report["totals"]["checked"], ran.report["totals"]["new"]) == (7, 2)
    cases = {case.get("name"): case for case in xml.parse(folder / "tests.xml").iter("testcase")}
    names = ("test_keeps", "test_keeps_in_its_first_try_only")
    assert [len(list(cases[name].iter("property"))) for name in names] == [3, 0]


# --- pytest-randomly and pytest-cov; unittest; scopes; parameters -----------------------------------------------------------

MIXED = """
    @pytest.fixture(scope="class")
    def per_class():
        yield {"weights": torch.ones(3, requires_grad=True), "history": []}

    @pytest.fixture(scope="module", params=[2, 3])
    def per_module(request):
        yield {"weights": torch.ones(request.param, requires_grad=True), "history": []}

    class TestScopes:
        @no_leaks
        def test_marked_uses_both(self, per_class, per_module):
            (per_class["weights"].sum() * per_module["weights"].sum()).backward()

        @no_leaks
        def test_marked_keeps(self, per_class):
            per_class["history"].append(torch.ones(2))

        def test_uses_both(self, per_class, per_module):
            (per_class["weights"].sum() * per_module["weights"].sum()).backward()

        def test_keeps(self, per_module):
            per_module["history"].append(torch.ones(2))

    class TestUnit(unittest.TestCase):
        @classmethod
        def setUpClass(cls):
            cls.shared = [torch.ones(2)]

        def setUp(self):
            self.mine = torch.ones(2)

        def test_case(self):
            (self.mine + self.shared[0]).sum()

        def test_case_keeps(self):
            self.shared.append(self.mine)

        @no_leaks
        def test_marked_case(self):
            for count in range(3):
                with self.subTest(count=count):
                    self.assertEqual(torch.ones(count).numel(), count)

        @no_leaks
        def test_marked_case_keeps(self):
            self.shared.append(self.mine)

    class TestAwaited(unittest.IsolatedAsyncioTestCase):
        async def asyncSetUp(self):
            self.mine = torch.ones(2)

        async def test_awaited_case(self):
            self.mine.sum()

        @no_leaks
        async def test_marked_awaited_case(self):
            self.mine.sum()

        async def test_awaited_case_keeps(self):
            kept.append(self.mine.sum())

    @no_leaks
    @pytest.mark.parametrize("keeps", [False, True])
    def test_marked(keeps, batch):
        if keeps:
            kept.append(torch.ones(3))
"""
CLEAN = {
    "TestScopes::test_marked_uses_both[2]",
    "TestScopes::test_marked_uses_both[3]",
    "TestScopes::test_uses_both[2]",
    "TestScopes::test_uses_both[3]",
    "TestUnit::test_case",
    "TestUnit::test_marked_case",
    "TestAwaited::test_awaited_case",
    "TestAwaited::test_marked_awaited_case",
    "test_marked[False]",
}
LEAKY = {
    "TestScopes::test_marked_keeps",
    "TestScopes::test_keeps[2]",
    "TestScopes::test_keeps[3]",
    "TestUnit::test_case_keeps",
    "TestUnit::test_marked_case_keeps",
    "TestAwaited::test_awaited_case_keeps",
    "test_marked[True]",
}


@pytest.fixture(scope="module", params=[1, 2])
def shuffled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    options = ("--leaks", f"--randomly-seed={request.param}", "--cov=.", "--cov-report=term")
    folder = tmp_path_factory.mktemp("mixed")
    return run_suite(folder, *options, test_suite=HEAD + MIXED, plugins=("randomly", "pytest_cov"))


@pytest.mark.whole
def test_whatever_the_order_the_same_tests_fail(shuffled: Ran) -> None:
    by_word = {
        word: {name.partition("::")[2] for name, each in shuffled.outcomes.items() if each == word}
        for word in ("PASSED", "FAILED")
    }
    assert by_word == {"PASSED": CLEAN, "FAILED": LEAKY}
    assert (shuffled.report["totals"]["checked"], shuffled.report["totals"]["new"]) == (len(CLEAN | LEAKY), len(LEAKY))


@pytest.mark.whole
def test_each_finding_is_of_the_test_that_made_what_leaks(shuffled: Ran) -> None:
    for one in shuffled.report["tests"]:
        for finding in one["findings"]:
            name = one["nodeid"].partition("::")[2].partition("[")[0].replace("::", ".")
            maker = "TestUnit.setUp" if name.startswith("TestUnit") else name
            assert finding["created_at"][0].endswith(f" in {maker}")


@pytest.mark.whole
def test_lines_are_covered_as_without_it(shuffled: Ran) -> None:
    [missed] = re.findall(r"^test_suite\.py +\d+ +(\d+) +\d+%$", shuffled.text, re.MULTILINE)
    assert missed == "2"  # the body of is_first_try, which nothing here calls


SUBTESTS = """
    import unittest

    import pytest
    import torch

    kept, runs = [], []

    @pytest.mark.no_leaks
    def test_passes(subtests):
        for count in range(2):
            with subtests.test(count=count):
                torch.ones(count)

    @pytest.mark.no_leaks
    def test_fails_in_one(subtests):
        kept.append(torch.ones(2))
        with subtests.test("wrong"):
            assert torch.ones(2).sum() == 3

    @pytest.mark.no_leaks
    def test_fails_later(subtests):
        runs.append(None)
        with subtests.test("once"):
            assert len(runs) < 4, "too many"

    @pytest.mark.no_leaks
    def test_keeps(subtests):
        with subtests.test("keeps"):
            kept.append(torch.ones(2))

    class TestUnit(unittest.TestCase):
        @pytest.mark.no_leaks
        def test_unit_passes(self):
            for count in range(2):
                with self.subTest(count=count):
                    torch.ones(count)

        @pytest.mark.no_leaks
        def test_unit_fails_in_one(self):
            kept.append(torch.ones(2))
            with self.subTest("wrong"):
                self.assertEqual(torch.ones(2).sum(), 3)
"""


@pytest.mark.whole
@pytest.mark.torch
def test_subtests_are_reported_once_and_not_again_by_each_repeat(tmp_path: Path) -> None:
    ran = run_suite(tmp_path, "-v", test_suite=SUBTESTS)
    result = re.findall(r"::(test_\w+) (SUBPASSED\S+)", ran.text)
    assert result[:4] == [
        ("test_passes", "SUBPASSED(count=0)"),
        ("test_passes", "SUBPASSED(count=1)"),
        ("test_fails_later", "SUBPASSED[once]"),
        ("test_keeps", "SUBPASSED[keeps]"),
    ]
    assert "6 subtests passed" in ran.text  # two of them of a TestCase
    assert re.findall(r"^SUBFAILED\[wrong\] \S+::(test_\w+)", ran.text, re.MULTILINE) == [
        "test_fails_in_one",
        "test_unit_fails_in_one",
    ]
    assert (
        ran.checked("test_fails_later")["trouble"] == "run 4: subtest test_fails_later [once]: AssertionError: too many"
    )
    assert ran.checked("test_keeps")["verdict"] == "leak"
    assert {one["nodeid"].rpartition("::")[2] for one in ran.report["tests"]} == {
        "test_passes",
        "test_fails_later",
        "test_keeps",
        "test_unit_passes",
    }
