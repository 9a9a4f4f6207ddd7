"""The rule that tests leave nothing behind, seen to fail where it should."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from leftovers import ChildDied, ChildFailed, difference, run_in_child, run_script

CONFTEST = (Path(__file__).parent / "conftest.py").read_text()

# An engine that counts what the tests below tell it to.
FAKE_ENGINE = """
import sys, types

engine = types.ModuleType("gradlife.engine")
engine.counts = {"tensor": 3, "node": 0, "event": 0}
engine.live_counts = lambda: dict(engine.counts)
sys.modules["gradlife.engine"] = engine
"""


def outcome_of(pytester: pytest.Pytester, body: str) -> pytest.RunResult:
    pytester.makeconftest(FAKE_ENGINE + CONFTEST.replace("from __future__ import annotations", ""))
    pytester.makeini(
        f"""
        [pytest]
        pythonpath = {Path(__file__).parent / "support"}
        markers =
            leaves: declared
            torch: needs torch
        """
    )
    indented = body.replace("\n", "\n    ")
    pytester.makepyfile(
        f"""
    import sys
    from leftovers import leaves
    counts = sys.modules["gradlife.engine"].counts

    {indented}
    """
    )
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "no:xdist")


def test_a_test_that_leaves_nothing_passes(pytester: pytest.Pytester) -> None:
    outcome_of(pytester, "def test_clean(): pass").assert_outcomes(passed=1)


def test_a_test_that_leaves_a_tensor_undeclared_is_an_error_naming_it(pytester: pytest.Pytester) -> None:
    result = outcome_of(pytester, "def test_leaves(): counts['tensor'] += 2")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*left behind, undeclared: {'tensor': 2}*"])


def test_a_declared_leftover_passes_and_dies_with_its_child(pytester: pytest.Pytester) -> None:
    body = "@leaves(tensor=2, node=0)\ndef test_leaves(): counts['tensor'] += 2\n"
    body += "def test_next(): assert counts['tensor'] == 3"
    outcome_of(pytester, body).assert_outcomes(passed=2)


@pytest.mark.parametrize("more", [0, 1, 3])
def test_a_leftover_other_than_declared_fails(pytester: pytest.Pytester, more: int) -> None:
    result = outcome_of(pytester, f"@leaves(tensor=2)\ndef test_leaves(): counts['tensor'] += {more}")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*declares that it leaves {'tensor': 2}, but leaves*"])


def test_a_failing_assertion_in_the_child_fails_the_test(pytester: pytest.Pytester) -> None:
    result = outcome_of(pytester, "@leaves(node=1)\ndef test_leaves(tmp_path): assert tmp_path is None")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*assert tmp_path is None*"])


def test_a_failed_test_is_not_blamed_for_what_its_traceback_keeps(pytester: pytest.Pytester) -> None:
    body = "def test_fails():\n    counts['tensor'] += 1\n    assert False"
    outcome_of(pytester, body).assert_outcomes(failed=1)


def test_the_events_of_the_log_are_no_leftovers(pytester: pytest.Pytester) -> None:
    outcome_of(pytester, "def test_logs(): counts['event'] += 5").assert_outcomes(passed=1)


def test_difference_leaves_out_what_did_not_change() -> None:
    assert difference({"tensor": 1, "node": 2}, {"tensor": 3, "node": 2, "saved": 1}) == {"saved": 1, "tensor": 2}
    assert difference({"tensor": 1}, {}) == {"tensor": -1}


def test_a_child_returns_its_value() -> None:
    assert run_in_child(lambda a, b: {"sum": a + b, "pid": os.getpid()}, 2, 3)["sum"] == 5
    assert run_in_child(os.getpid) != os.getpid()
    assert len(run_in_child(bytes, 1_000_000)) == 1_000_000


def test_what_a_child_raises_is_reported_with_its_traceback() -> None:
    with pytest.raises(ChildFailed, match=r"ZeroDivisionError: division by zero"):
        run_in_child(lambda: 1 / 0)
    with pytest.raises(ChildFailed, match=r"KeyboardInterrupt"):
        run_in_child(signal.raise_signal, signal.SIGINT)


def test_a_result_that_cannot_be_sent_is_an_error_of_the_child() -> None:
    with pytest.raises(ChildFailed, match=r"pickle"):
        run_in_child(lambda: lambda: None)


def test_a_child_that_dies_is_named_by_its_signal_or_status() -> None:
    with pytest.raises(ChildDied, match=r"died of SIGKILL"):
        run_in_child(lambda: os.kill(os.getpid(), signal.SIGKILL))
    with pytest.raises(ChildDied, match=r"exit status 7 and no answer"):
        run_in_child(os._exit, 7)


def test_a_child_that_hangs_is_killed_at_its_time_limit() -> None:
    started = time.monotonic()
    with pytest.raises(ChildDied, match=r"still running after 0.2 s"):
        run_in_child(time.sleep, 3600, timeout=0.2)
    assert time.monotonic() - started < 1800


def test_a_script_runs_in_a_fresh_interpreter_with_its_environment() -> None:
    text = "import os, sys; print(os.environ['SHADE'], sys.argv[1]); sys.exit(4)"
    result = run_script(text, "x", SHADE="green")
    assert (result.returncode, result.stdout, result.stderr) == (4, "green x\n", "")
    assert result.args[0] == sys.executable
