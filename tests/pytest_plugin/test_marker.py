"""The marker `no_leaks`: what each counted run leaves behind fails the test that did it, and nothing else does."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import cast

import pytest

from gradlife.pytest_plugin.settings.bad_marker import BadMarker
from gradlife.pytest_plugin.settings.marks import terms_of
from plugin_suites import Ran, run_suite

SUITE = """
    import unittest
    from collections import deque

    import gradlife.engine as torch
    import pytest

    kept, ring, runs, states = [], deque(maxlen=3), [], {}
    no_leaks = pytest.mark.no_leaks

    class Owner:
        pass

    def in_cycle(count=8):
        owner = Owner()
        owner.itself = owner
        owner.tensor = torch.ones(count)

    @no_leaks
    def test_clean():
        torch.ones(3, requires_grad=True).sum().backward()

    @no_leaks
    def test_keeps_a_tensor():
        kept.append(torch.ones(3))

    @no_leaks
    def test_keeps_in_a_ring():
        ring.append(torch.ones(3))

    @no_leaks
    def test_keeps_once():
        states.setdefault("weights", torch.ones(3))

    @no_leaks
    def test_replaces():
        states["last"] = torch.ones(3)

    @no_leaks(repeat=3, warmup=4)
    def test_counts_runs():
        runs.append(0)

    @no_leaks(repeat=3, warmup=0)
    def test_keeps_from_the_first_run_on():
        kept.append(torch.ones(3))

    @no_leaks
    def test_leaves_cycles():
        in_cycle(2000)

    @no_leaks
    def test_leaves_small_cycles():
        in_cycle()

    @no_leaks(cycles="fail")
    def test_leaves_small_cycles_that_fail():
        in_cycle()

    @no_leaks(cycles="warn")
    def test_leaves_cycles_that_are_reported():
        in_cycle()

    @no_leaks(cycles="allow")
    def test_leaves_cycles_that_are_allowed():
        in_cycle()

    @no_leaks(tensors=1)
    def test_keeps_what_it_may():
        kept.append(torch.ones(3))

    @no_leaks(tensors=1)
    def test_keeps_more_than_it_may():
        kept.append((torch.ones(3), torch.ones(3)))

    @no_leaks(tensors=1, bytes=8)
    def test_keeps_more_bytes_than_it_may():
        kept.append(torch.ones(3))

    @no_leaks(allow=["GL512"], until="2999-01-01", reason="upstream")
    def test_is_allowed():
        kept.append(torch.ones(3))

    @no_leaks(allow=["GL402"], reason="another one")
    def test_is_not_allowed():
        kept.append(torch.ones(3))

    @no_leaks(allow=["GL512"], until="2020-01-01", reason="was to be mended")
    def test_was_allowed():
        kept.append(torch.ones(3))

    @no_leaks
    def test_fails_when_repeated():
        runs.append(1)
        if runs.count(1) == 3:
            raise ValueError("the third run" + chr(10) + "and more")

    @no_leaks
    def test_fails_at_once():
        kept.append(torch.ones(3))
        assert False, "its own reason"

    @pytest.fixture(scope="module")
    def state():
        yield {"history": [], "weights": torch.ones(4)}

    set_up = []

    @pytest.fixture
    def anew(state, tmp_path):
        set_up.append(tmp_path)
        yield [torch.ones(2)]

    @no_leaks
    def test_uses_fixtures(state, anew):
        (state["weights"] + 1).sum()

    @no_leaks
    def test_set_up_anew_each_time():
        assert len(set_up) == len(set(set_up)) == 9

    @no_leaks
    def test_keeps_in_a_fixture(state):
        state["history"].append(torch.ones(5))

    @no_leaks
    @pytest.mark.parametrize("count", [0, 2])
    def test_with_parameters(count):
        kept.extend(torch.ones(2) for _ in range(count))

    class TestMethods:
        def setup_method(self):
            self.mine = torch.ones(2)

        @no_leaks
        def test_method(self):
            self.mine = self.mine + 1

    @no_leaks
    class TestUnit(unittest.TestCase):
        @classmethod
        def setUpClass(cls):
            cls.shared = torch.ones(2)

        def setUp(self):
            self.mine = torch.ones(2)

        def test_clean_case(self):
            self.assertIs(self.mine, self.mine)

        def test_leaky_case(self):
            kept.append(self.mine)

        def test_failing_case(self):
            self.fail("its own reason")
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return run_suite(tmp_path_factory.mktemp("marker"), "-vv", test_suite=SUITE)


LEAKY = [
    ("test_keeps_a_tensor", "GL512"),
    ("test_keeps_from_the_first_run_on", "GL512"),
    ("test_leaves_cycles", "GL516"),
    ("test_leaves_small_cycles_that_fail", "GL516"),
    ("test_keeps_more_than_it_may", "GL512"),
    ("test_keeps_more_bytes_than_it_may", "GL512"),
    ("test_is_not_allowed", "GL512"),
    ("test_was_allowed", "GL512"),
    ("test_keeps_in_a_fixture", "GL512"),
    ("test_with_parameters[2]", "GL512"),
    ("test_leaky_case", "GL512"),
]
CLEAN = [
    "test_clean",
    "test_keeps_in_a_ring",
    "test_keeps_once",
    "test_replaces",
    "test_counts_runs",
    "test_leaves_small_cycles",
    "test_leaves_cycles_that_are_reported",
    "test_leaves_cycles_that_are_allowed",
    "test_keeps_what_it_may",
    "test_is_allowed",
    "test_fails_when_repeated",
    "test_uses_fixtures",
    "test_set_up_anew_each_time",
    "test_with_parameters[0]",
    "test_method",
    "test_clean_case",
]


@pytest.mark.whole
@pytest.mark.parametrize(("name", "code"), LEAKY)
def test_a_test_that_leaves_something_in_every_run_fails(ran: Ran, name: str, code: str) -> None:
    assert ran.outcome(name) == "FAILED"
    assert ran.codes(name) == [("new", code)]


@pytest.mark.whole
@pytest.mark.parametrize("name", CLEAN)
def test_a_test_that_does_not_passes(ran: Ran, name: str) -> None:
    assert ran.outcome(name) == "PASSED"
    assert not ran.checked(name)["is_failure"]


@pytest.mark.parametrize("name", ["test_fails_at_once", "test_failing_case"])
def test_a_test_that_fails_by_itself_keeps_its_reason(ran: Ran, name: str) -> None:
    assert ran.outcome(name) == "FAILED"
    assert not [one for one in ran.report["tests"] if one["nodeid"].endswith(name)]
    assert ran.text.count("its own reason") >= 2


def test_warm_up_and_counted_runs_are_all_the_runs_of_a_clean_test(ran: Ran) -> None:
    assert len(ran.checked("test_counts_runs")["runs"]) == 3
    assert ran.checked("test_counts_runs")["verdict"] == "clean"


def test_a_repeat_that_fails_is_reported_and_no_leak(ran: Ran) -> None:
    checked = ran.checked("test_fails_when_repeated")
    assert (checked["verdict"], checked["trouble"]) == ("not repeatable", "run 3: ValueError: the third run")


def test_every_counted_run_is_shown(ran: Ran) -> None:
    checked = ran.checked("test_keeps_a_tensor")
    assert [run["tensors"] for run in checked["runs"]] == [1] * 7
    assert re.search(r"\btensors +\+1\b", ran.text)


def test_the_message_leads_from_the_survivor_to_its_holder(ran: Ran) -> None:
    text = ran.text[ran.text.index("_ test_keeps_in_a_fixture _") :]
    at = 0
    for line in (
        "1 leak (held), 1 tensor and 20 B a run: GL512",
        "Tensor float32 [5] (made at test_suite.py:",
        "in test_keeps_in_a_fixture) is held by",
        "item ",
        "of list (",
        ", which is held by",
        "key 'history' of dict (2 items), which is held by",
        "fixture state (module scope)",
        "What to do:",
        "del state['history'][:-100]",
    ):
        at = text.index(line, at)


def test_excuses_are_reported_with_the_leak(ran: Ran) -> None:
    [allowed] = ran.checked("test_is_allowed")["findings"]
    assert (allowed["section"], allowed["why"]) == ("known", "allowed by the marker until 2999-01-01: upstream")
    [expired] = ran.checked("test_was_allowed")["findings"]
    assert expired["why"] == "was allowed by the marker until 2020-01-01: was to be mended"
    [within] = ran.checked("test_keeps_what_it_may")["findings"]
    assert (within["section"], within["why"]) == ("within limits", "allowed: 1 tensors a run")
    [result] = ran.checked("test_leaves_cycles_that_are_reported")["findings"]
    assert (result["section"], result["kind"], result["lifetime"]) == ("waiting", "needs-gc", "gc")


def test_one_line_at_the_end_sums_it_up(ran: Ran) -> None:
    assert "1 not repeatable" in ran.text
    assert (
        f"{len(LEAKY) + len(CLEAN)} tests checked: {len(LEAKY)} new · 2 waiting · 1 known · 2 within limits" in ran.text
    )


BAD = {
    "tensors=-1": "no_leaks(tensors=-1): a whole number from 0 on",
    "tensors=True": "no_leaks(tensors=True): a whole number from 0 on",
    "repeat=0": "no_leaks(repeat=0): at least one run is counted",
    "cycles='no'": "no_leaks(cycles='no'): 'fail', 'warn' or 'allow'",
    "allow='GL402'": "no_leaks(allow='GL402'): a list of fingerprints, codes, or 'torch>=1.4:pt#94990'",
    "until='soon'": "no_leaks(until='soon'): a day such as '2027-03-01'",
    "tensor=1": "no_leaks does not know tensor; it takes tensors, bytes, cycles, repeat, warmup, allow, until, reason",
    "3": "no_leaks takes keywords only: no_leaks(tensors=1)",
}


@pytest.mark.parametrize("arguments", BAD)
def test_a_marker_that_makes_no_sense_is_refused_in_a_line(arguments: str) -> None:
    mark = eval(f"pytest.mark.no_leaks({arguments})").mark
    item = SimpleNamespace(get_closest_marker={"no_leaks": mark}.get)
    with pytest.raises(BadMarker) as refused:
        terms_of(cast(pytest.Item, item))
    assert str(refused.value) == BAD[arguments]


def test_it_is_refused_when_tests_are_collected(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("import pytest\n@pytest.mark.no_leaks(repeat=0)\ndef test_it(): pass")
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:asyncio")
    result.stdout.fnmatch_lines(["*::test_it: no_leaks(repeat=0): at least one run is counted"])
    assert result.ret == pytest.ExitCode.INTERRUPTED


@pytest.mark.whole
def test_a_file_for_reports_is_written_beside_others(ran: Ran) -> None:
    assert ran.report["format"] == "gradlife.pytest/1"
    assert ran.report["exit_status"] == ran.status == 1
    assert ran.report["totals"]["leaking"] == len(LEAKY) + 5
