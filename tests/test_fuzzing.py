"""The fuzzer writes the same programs for a seed, shrinks what differs, finds what is planted and nothing else."""

from __future__ import annotations

import gc
import mmap
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.fuzz import campaign
from benchmarks.fuzz.books import imbalances
from benchmarks.fuzz.campaign import Found, Slice, Systems, as_it_is, run_slices, shrink_safely
from benchmarks.fuzz.children import Died, in_child
from benchmarks.fuzz.coverage import Coverage
from benchmarks.fuzz.faults import FAULTS, ROOT, Fault
from benchmarks.fuzz.known import known_reason
from benchmarks.fuzz.lockstep import SINGLE, alike, run_both, tolerance_for
from benchmarks.fuzz.other_python import client
from benchmarks.fuzz.profiles import VARIANTS, check_programs, ended, violation
from benchmarks.fuzz.program import Difference, Outcome, Program, Step
from benchmarks.fuzz.report import figures
from benchmarks.fuzz.shrink import shrunk
from benchmarks.fuzz.story import story_of
from benchmarks.fuzz.writer import write_program
from gradlife import engine
from gradlife.cli import main as gradlife


def program(*texts: str, **modes: bool) -> Program:
    return Program(tuple(Step("some rule", text) for text in texts), **modes)


def texts(of: Program) -> list[str]:
    return [step.text for step in of.steps]


def has(*wanted: str) -> Callable[[Program], bool]:
    return lambda candidate: all(any(word in text for text in texts(candidate)) for word in wanted)


def test_a_seed_and_a_number_always_give_the_same_program() -> None:
    assert write_program(3, 14) == write_program(3, 14)
    assert write_program(3, 14) != write_program(3, 15) != write_program(4, 15)


def test_programs_have_five_to_forty_steps() -> None:
    lengths = {len(write_program(1, index).steps) for index in range(300)}
    assert min(lengths) == 5
    assert max(lengths) == 40


def test_steps_that_a_difference_does_not_need_are_left_out() -> None:
    whole = program("t3 = 1", "t4 = 2", "del t4", "t5 = t3.sin()", "gc.collect()", looks=True)
    assert shrunk(whole, has("sin", "t3 = 1")) == program("t0 = 1", "t1 = t0.sin()")


def test_statements_become_simpler_where_the_difference_stays() -> None:
    whole = program("t1.register_hook(hook(lab, 'h7', [t2], 'scales'))", "t1.tanh()")
    small = shrunk(whole, lambda one: len(one.steps) == 2 and has("hook(lab")(one))
    assert texts(small) == ["t0.register_hook(hook(lab, 'h0'))", "t0.neg()"]


def test_numbers_are_alike_up_to_rounding_and_nothing_else_is() -> None:
    assert alike([("t0", [1.0, float("nan")])], [("t0", [1.0 + 1e-9, float("nan")])])
    assert not alike([1.0], [1.001])
    assert not alike([1.0], [1])
    assert not alike([1.0, None], [1.0])


def test_a_child_that_dies_and_one_that_never_ends_are_distinguished() -> None:
    assert in_child(lambda: [1, 2]) == [1, 2]
    assert in_child(lambda: __import__("os").kill(__import__("os").getpid(), 11)) == Died(11)
    assert in_child(lambda: __import__("time").sleep(60), seconds=1).text == "did not end"


def test_a_found_program_is_written_as_a_scenario_file_that_loads(tmp_path: Path) -> None:
    step = "t1 = custom(lab, 'f0', keep='output').apply(t0)"
    found = Found(program("t0 = fw.ones(2)", step, "gc.collect()"), Difference(1, "values", 1, 2), 7)
    source = story_of(found, seed=5)
    names: dict[str, object] = {"__name__": "story"}
    exec(compile(source, str(tmp_path / "story.py"), "exec"), names)
    assert str(names["program_7_of_seed_5"]) == "<scenario program_7_of_seed_5>"
    assert step in source
    assert "lab.collect()" in source


def test_float32_may_round_further_apart_than_float64() -> None:
    assert tolerance_for(program("t0 = fw.tensor(1.5, dtype=fw.float32)")) == SINGLE
    assert alike(1e-3, 1.001e-3, SINGLE)
    assert not alike(1e-3, 1.001e-3)
    assert not alike(0.1, 0.101, SINGLE)


def test_what_is_left_of_float32_terms_that_cancel_is_rounding() -> None:
    assert alike(-1.9073486328125e-06, 9.5367431640625e-07, SINGLE)
    assert not alike(-1.9073486328125e-05, 9.5367431640625e-07, SINGLE)


def test_only_steps_that_were_done_count_as_covered() -> None:
    steps = tuple(Step(f"rule {number}", "pass") for number in range(4))
    coverage = Coverage()
    coverage.count(Program(steps), Outcome(Difference(3, "values", 1, 2), {}, frozenset({1})))
    assert coverage.rules == {"rule 0": 1, "rule 2": 1}
    assert coverage.pairs == {("rule 0", "rule 2"): 1}


def test_a_campaign_is_judged_by_its_rarest_rule_and_pair() -> None:
    judged = {figure.name: figure.is_met for figure in figures(Slice())}
    assert judged == {
        "programs": False,
        "rarest rule, programs": False,
        "rarest pair, programs": False,
        "subjects that end as del": False,
        "subjects that end as gc": False,
        "subjects that end as held": False,
        "subjects that end as never": False,
        "differences not explained": True,
    }


def systems(policy: str = "") -> Systems:
    """The engine, with a policy replaced in it if one is named, and PyTorch."""
    torch: Any = pytest.importorskip("torch")

    class Planted:
        def __getattr__(self, name: str) -> Any:
            return getattr(engine, name)

    engine.set_default_profile("torch-2.13" + policy)
    return Systems(Planted(), torch)


@pytest.mark.torch
@pytest.mark.faithful
@pytest.mark.filterwarnings("ignore")
def test_first_programs_show_the_same_on_the_engine_and_on_pytorch() -> None:
    found = [item for one in run_slices(systems(), 1, 200, 300, shrinks=0) for item in one.found]
    assert [item for item in found if not item.reason] == []


def test_a_difference_beyond_those_that_are_shrunk_has_its_reason_too() -> None:
    """The ninth of a campaign was called unexplained, though it was one of a known kind."""
    seen = [("t1", 3.0)], [("t1", 6.9e-310)]
    found = Found(program("t0 = n0._saved_other", "t1 = t0.sum()"), Difference(1, "values", *seen), 7)
    assert "nothing was written" in as_it_is(found).reason


def test_a_difference_before_a_program_that_ends_the_process_has_its_reason_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = [("t1", 3.0)], [("t1", 6.9e-310)]
    found = Found(program("t0 = n0._saved_other", "t1 = t0.sum()"), Difference(1, "values", *seen), 0)

    def run(_systems: Systems, _seed: int, indices: range, place: mmap.mmap) -> Slice:
        if 1 in indices:
            place[:] = campaign.NUMBER.pack(1)
            os.kill(os.getpid(), signal.SIGKILL)
        return Slice(found=[found] if 0 in indices else [])

    monkeypatch.setattr(campaign, "run_slice", run)
    monkeypatch.setattr(campaign, "judged_alone", lambda *_: Slice(peer_crashes=[1]))
    slices = list(run_slices(Systems(engine, engine), 1, 0, 3, shrinks=0))
    assert ["nothing was written" in item.reason for one in slices for item in one.found] == [True]
    assert [one.peer_crashes for one in slices] == [[], [1], []]


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")
def test_planted_difference_becomes_a_scenario_that_shows_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        both = systems("+saved_slot=owning")
        first = next(item for one in run_slices(both, 1, 0, 20, shrinks=0) for item in one.found)
        small = shrink_safely(both, first)
    finally:
        engine.set_default_profile("torch-2.13")
    assert len(small.program.steps) < len(first.program.steps)
    path = tmp_path / "planted.py"
    path.write_text(story_of(small, seed=1), encoding="utf-8")
    seen = ["run", str(path), "--against", "torch", "--backend"]
    assert gradlife([*seen, "mini:torch-2.13"]) == 0
    assert "differs from torch" not in capsys.readouterr().out
    assert gradlife([*seen, "mini:torch-2.13+saved_slot=owning"]) == 0
    assert "differs from torch" in capsys.readouterr().out


def test_first_programs_leave_the_books_of_every_profile_in_balance() -> None:
    assert [item for some in check_programs(engine, 1, 0, 150) for item in some] == []


def test_live_objects_have_the_owners_that_they_count() -> None:
    x = engine.tensor([1.0, 2.0], requires_grad=True)
    y = (x * x).sin()
    y.sum().backward(retain_graph=True)
    assert y.grad_fn is not None
    assert imbalances(engine) == []


def test_a_profile_that_computes_something_else_is_a_violation() -> None:
    class Doubling:
        """The engine, but where one profile is chosen, numbers are others."""

        @staticmethod
        def profile(name: str) -> Any:
            return engine.profile(name)

        def __getattr__(self, name: str) -> Any:
            made = getattr(engine, name)
            wrong = name == "tensor" and engine.current_profile().axes["tensor_identity"] == "rewrap"
            return (lambda numbers, **given: made([7.0], **given)) if wrong else made

    text = in_child(lambda: violation(program("t0 = fw.tensor([1.0])"), Doubling(), VARIANTS[0]))
    assert text == "step 0 gives [('t0', [1.0], None)] under torch-2.13 and [('t0', [7.0], None)] here"


def test_a_program_that_ends_its_process_is_a_violation() -> None:
    class Deadly:
        def __getattr__(self, name: str) -> Any:
            return __import__("os").abort() if name == "tensor" else getattr(engine, name)

    found = ended(Deadly(), program("t0 = fw.tensor([1.0])"), 5, Died(6))
    assert (found.profile, found.index, found.text) == (VARIANTS[5], 5, "the process ended: Aborted")


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_each_fault_of_the_core_still_has_its_place_in_the_source(fault: Fault) -> None:
    text = (ROOT / "csrc" / fault.source).read_text(encoding="utf-8")
    assert fault.edited(text) != text


def test_a_fault_whose_place_is_gone_says_so() -> None:
    fault = Fault("some fault", "", "engine/view.cpp", (("no such text", ""),))
    with pytest.raises(SystemExit, match=r"^some fault: engine/view\.cpp does not have 'no such text' once"):
        fault.edited("int x;")


def test_a_value_that_large_numbers_leave_to_chance_is_let_be() -> None:
    steps = program("t0 = t1.exp()", "t2 = t0.sin()")
    seen = [("t0", 5.1e23), ("t2", 0.39)], [("t0", 5.1e23), ("t2", -0.74)]
    assert "sine" in known_reason(steps, Difference(1, "values", *seen))
    assert known_reason(program("t0 = t1.exp()", "t2 = t0 * 2"), Difference(1, "values", *seen)) == ""
    assert known_reason(steps, Difference(1, "values", [("t2", 0.39)], [("t2", -0.74)])) == ""


def test_a_release_gets_no_step_with_a_word_that_it_lacks() -> None:
    steps = program("t0 = fw.ones(2)", "t1 = fw.autograd.grad(t0.sum(), [t0], materialize_grads=True)[0]", "del t0")
    assert texts(steps.fitted((1, 13))) == ["t0 = fw.ones(2)", "del t0"]
    assert steps.fitted((2, 0)) == steps


def replayed(release: tuple[int, int], error: str) -> Outcome:
    """The outcome of a step that the engine refuses with a TypeError, and a release with `error`."""

    class Elsewhere(client.Elsewhere):
        def __init__(self) -> None:
            pass

        def world(self, program: Program) -> client.Replayed:
            quiet: tuple[str, Any] = ("", ([], [], []))
            return client.Replayed([(error, ([], [], [])), *[quiet] * 4], release)

    return run_both(program("fw.tensor()"), engine, Elsewhere())


def test_texts_of_errors_are_compared_with_the_releases_whose_texts_the_engine_has() -> None:
    assert replayed((1, 13), "TypeError: other words") == Outcome(None, {}, frozenset({0}), frozenset({0}))
    newer = replayed((2, 13), "TypeError: other words").difference
    assert newer is not None
    assert newer.other == "TypeError: other words"
    other = replayed((1, 13), "ValueError: other words").difference
    assert other is not None
    assert other.kind == "error"


def differences(one: Any, other: Any) -> list[Difference | None]:
    """The differences of the first programs of a seed; the collector runs only where they say so."""
    gc.disable()
    return [run_both(write_program(1, index), one, other).difference for index in range(10)]


@pytest.mark.whole
@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")
def test_programs_show_the_same_on_pytorch_in_another_process_and_here() -> None:
    torch: Any = pytest.importorskip("torch")
    there = client.Elsewhere(sys.executable)
    try:
        found = in_child(lambda: differences(torch, there))
    finally:
        there.close()
    assert found == [None] * 10
