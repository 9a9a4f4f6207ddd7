"""Habits of ordinary suites that have nothing to do with leaks: gradlife must neither disturb them nor be disturbed."""

from __future__ import annotations

from pathlib import Path

import pytest

from plugin_suites import Ran, run_suite

pytestmark = pytest.mark.whole

HEAD = """
    import gc
    import logging
    import unittest
    import weakref

    import gradlife.engine as torch
    import pytest

    class Owner:
        pass
"""


def outcomes(ran: Ran) -> dict[str, str]:
    return {name.rpartition("::")[2]: word for name, word in ran.outcomes.items()}


LIFETIMES = """
    def test_fails(lifetimes):
        one = Owner()
        lifetimes.expect_freed(one)
        assert False, "its own words"

    @pytest.mark.xfail
    def test_is_expected_to_fail(lifetimes):
        one = Owner()
        lifetimes.expect_freed(one)
        raise ValueError

    def test_fails_by_name(lifetimes):
        one = Owner()
        lifetimes.expect_freed(one)
        pytest.fail("its own words")

    @pytest.fixture
    def value():
        return torch.ones(3)

    @pytest.mark.no_leaks(repeat=3)
    def test_is_repeated(lifetimes, value):
        lifetimes.expect_freed(value)
"""


def test_a_test_that_fails_does_not_also_complain_of_its_expectations(tmp_path: Path) -> None:
    ran = run_suite(tmp_path, test_suite=HEAD + LIFETIMES)
    assert outcomes(ran) == {
        "test_fails": "FAILED",
        "test_is_expected_to_fail": "XFAIL",
        "test_fails_by_name": "FAILED",
        "test_is_repeated": "PASSED",
    }
    assert "should be freed" not in ran.text
    assert ran.checked("test_is_repeated")["verdict"] == "clean"


LOGS = """
    import warnings

    @pytest.mark.no_leaks(repeat=3)
    def test_reads_its_log(caplog):
        logging.getLogger("a").warning("once")
        assert caplog.text.count("once") == len(caplog.records) == 1

    @pytest.mark.no_leaks(repeat=3)
    def test_shows_its_first_log(caplog):
        logging.getLogger("a").warning("shown")
"""


def test_each_repeat_reads_its_own_log(tmp_path: Path) -> None:
    ran = run_suite(tmp_path, test_suite=HEAD + LOGS)
    assert outcomes(ran) == {"test_reads_its_log": "PASSED", "test_shows_its_first_log": "PASSED"}
    assert [one["verdict"] for one in ran.report["tests"]] == ["clean", "clean"]


DOCTEST = '''
    def double(number):
        """Double it.

        >>> double(two)
        4
        """
        return 2 * number
'''

CONFTEST = """
    import pytest

    @pytest.fixture(autouse=True)
    def two(doctest_namespace):
        doctest_namespace["two"] = 2
"""


def test_doctests_can_be_repeated(tmp_path: Path) -> None:
    ran = run_suite(tmp_path, "--doctest-modules", "--leaks-repeat=3", maths=DOCTEST, conftest=CONFTEST)
    assert ran.outcome("maths.double") == "PASSED"
    assert [one["verdict"] for one in ran.report["tests"]] == ["clean"]


RAISES = """
    def test_names_the_error():
        weights = torch.ones(4096)
        with pytest.raises(ValueError) as error:
            raise ValueError("wrong")
        assert "wrong" in str(error.value)

    def test_makes_a_cycle():
        owner = Owner()
        owner.weights = torch.ones(4096)
        owner.itself = owner
"""


def test_a_cycle_through_the_error_of_pytest_raises_is_not_a_leak(tmp_path: Path) -> None:
    ran = run_suite(tmp_path, "--leaks", test_suite=HEAD + RAISES)
    assert outcomes(ran) == {"test_names_the_error": "PASSED", "test_makes_a_cycle": "FAILED"}


RECIPE = """
    import pytest

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(item, call):
        report = yield
        setattr(item, "rep_" + report.when, report)
        return report

    @pytest.fixture
    def artifact(request):
        yield
        assert request.node.rep_call.passed
"""

USES = """
    kept = []

    def test_uses_it(artifact):
        torch.ones(3)

    def test_leaks_with_it(artifact):
        kept.append(torch.ones(3))

    @pytest.mark.no_leaks(repeat=3)
    def test_repeats_it(artifact):
        torch.ones(3)
"""


def test_fixtures_read_the_report_of_their_test_at_their_end(tmp_path: Path) -> None:
    ran = run_suite(tmp_path, "--leaks", test_suite=HEAD + USES, conftest=RECIPE)
    assert outcomes(ran) == {"test_uses_it": "PASSED", "test_leaks_with_it": "FAILED", "test_repeats_it": "PASSED"}
    assert "rep_call" not in ran.text


PEAK = """
    import torch

    class TestCase(unittest.TestCase):
        @pytest.mark.peak_memory(limit="2 MB")
        def test_is_skipped(self):
            self.skipTest("not today")

        @pytest.mark.peak_memory(limit="2 MB")
        def test_fails(self):
            self.assertEqual(1, 2)
"""


@pytest.mark.torch
def test_the_peak_of_a_unittest_that_did_not_pass_is_not_measured(tmp_path: Path) -> None:
    ran = run_suite(tmp_path, test_suite="import unittest\nimport pytest\n" + PEAK.replace("\n    ", "\n"))
    assert "1 failed, 1 skipped" in ran.text
    assert "AssertionError: 1 != 2" in ran.text
    assert "could not be measured" not in ran.text


WIDER = """
    kept = []

    @pytest.fixture(scope="module")
    def model():
        owner = Owner()
        owner.itself, owner.weights = owner, torch.ones(3)
        reference = weakref.ref(owner)
        yield owner.weights  # pytest keeps what is yielded until the fixture has ended
        del owner
        gc.collect()
        assert reference() is None

    @pytest.fixture
    def leaky():
        yield
        kept.append(torch.ones(3))

    def test_uses_it(model):
        model * 2

    def test_ends_it(model, leaky):
        model * 2
"""


def test_a_wider_fixture_frees_its_cycles_at_its_end_and_the_last_test_is_judged_as_the_others(tmp_path: Path) -> None:
    ran = run_suite(tmp_path, "--leaks", test_suite=HEAD + WIDER)
    assert ran.outcome("test_uses_it") == "PASSED"
    assert ran.outcome("test_ends_it") in ("ERROR", "FAILED")  # its own fixture ends sooner if malloc's memory grew
    assert "reference() is None" not in ran.text
    assert [one["section"] for one in ran.checked("test_ends_it")["findings"]] == ["new"]


FOLDER = """
    import shutil

    def test_fails():
        shutil.rmtree("reports")
        assert False, "its own words"
"""


def test_a_report_that_can_not_be_written_hides_no_failure(tmp_path: Path) -> None:
    (tmp_path / "reports").mkdir()
    ran = run_suite(tmp_path, "--leaks-sarif=reports/leaks.sarif", test_suite=FOLDER)
    assert (ran.status, outcomes(ran)) == (2, {"test_fails": "FAILED"})
    assert "AssertionError: its own words" in ran.text
    assert "gradlife: cannot write" in ran.text


def test_a_report_in_a_folder_that_does_not_exist_is_refused_before_any_test(tmp_path: Path) -> None:
    ran = run_suite(tmp_path, "--leaks-sarif=reports/leaks.sarif", test_suite=FOLDER)
    assert (ran.status, ran.outcomes) == (4, {})
    assert "gradlife: cannot write" in ran.text


@pytest.mark.parametrize("name", ["mine.json", "setup.py"])
def test_a_report_in_a_file_of_somebody_else_is_refused_before_any_test(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine = 1\n", encoding="utf-8")
    ran = run_suite(tmp_path, f"--leaks-report={name}", test_suite=FOLDER)
    assert (ran.status, ran.outcomes) == (4, {})
    assert (tmp_path / name).read_text(encoding="utf-8") == "mine = 1\n"


def test_the_options_of_a_folder_that_follows_leaks_are_known(tmp_path: Path) -> None:
    folder = tmp_path / "slow"
    folder.mkdir()
    (folder / "conftest.py").write_text("def pytest_addoption(parser):\n    parser.addoption('--runslow')\n", "utf-8")
    (folder / "test_a.py").write_text("def test_passes():\n    pass\n", "utf-8")
    ran = run_suite(tmp_path, "--leaks", "slow", "--runslow=1")
    assert outcomes(ran) == {"test_passes": "PASSED"}


READS_ARGUMENTS = """
    import pytest

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(item, call):
        report = yield
        values = item.funcargs
        said = report.when, values["tmp_path"].name, values["number"], "batch" in values
        if report.when != "setup":
            with open("said", "a") as file:
                print(*said, file=file)
        return report
"""

ARGUMENTS = """
    @pytest.fixture
    def number():
        return 4

    @pytest.fixture
    def batch():
        yield torch.ones(4)

    def test_keeps(tmp_path, number, batch):
        kept.append(torch.ones(3))

    @pytest.mark.no_leaks
    def test_is_repeated(tmp_path, number, batch):
        kept.append(torch.ones(3))

    def test_keeps_an_argument(tmp_path, number, batch):
        kept.append(batch)
"""


def test_a_conftest_reads_the_arguments_of_a_test_that_leaks(tmp_path: Path) -> None:
    """pytest's documentation advises it; it was an internal error."""
    ran = run_suite(tmp_path, "--leaks", conftest=READS_ARGUMENTS, test_suite=HEAD + ARGUMENTS)
    assert outcomes(ran) == dict.fromkeys(("test_keeps", "test_is_repeated", "test_keeps_an_argument"), "FAILED")
    assert (tmp_path / "said").read_text().splitlines() == [
        "call test_keeps0 4 True",
        "teardown test_keeps0 4 True",
        "call test_is_repeated0 4 True",
        "teardown test_is_repeated0 4 True",
        "call test_keeps_an_argument0 4 True",
        "teardown test_keeps_an_argument0 4 True",
    ]
