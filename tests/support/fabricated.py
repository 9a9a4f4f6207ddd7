"""Runs made up for tests of reports: what each system saw in each story is written down, nothing is run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gradlife.model import (
    Declared,
    Event,
    ExpectationResult,
    PairTotals,
    Reading,
    RunCrashed,
    RunFailed,
    RunOk,
    RunReport,
    RunUnavailable,
    ScenarioInfo,
    ScenarioRun,
    Status,
    SystemInfo,
    Totals,
)

LINUX = "Linux x86_64"
TORCH = SystemInfo("torch", "torch-2.13", "torch", "2.13.0", "3.11.7", LINUX)


def mini(spec: str) -> SystemInfo:
    return SystemInfo(f"mini:{spec}", spec.partition("+")[0], "gradlife.engine", "0.1.0", "3.11.7", LINUX)


SEVEN = (
    *(mini(spec) for spec in ("torch-1.1", "torch-1.2", "torch-1.10", "torch-2.13", "oneflow-0.8", "oneflow-0.9")),
    TORCH,
)

#: What ctx and y come to in each of the seven, in that order.
LEAK = ("never", "never", "gc", "gc", "never", "never", "gc")
FREED = ("del",) * 7

STORY = ScenarioInfo(
    "function_ownership/ctx_keeps_output",
    "ctx_keeps_output",
    "function_ownership",
    "ctx keeps its own output",
    ("pytorch/pytorch#25340",),
    "GL101",
    story="Storing an output on ctx ties a knot.\n\nFix: store it detached.",
    expects=(
        Declared("ctx", "never", on="torch-1.1 torch-1.2", because="the collector does not see the edge"),
        Declared("ctx", "gc", because="from 1.10 on it does"),
    ),
)
TWIN = ScenarioInfo(
    "function_ownership/ctx_keeps_detached_output",
    "ctx_keeps_detached_output",
    "function_ownership",
    "ctx keeps a detached copy of its output",
    pattern="GL101",
    fixed_of="ctx_keeps_output",
    fix="store y.detach() on ctx",
    expects=(Declared("ctx", "del"),),
)
PLAIN = ScenarioInfo(
    "wrapper_identity/grad_id",
    "grad_id",
    "wrapper_identity",
    "x.grad read again and again",
    expects=(Declared("one id", True, probe="value"),),
)


def readings(story: ScenarioInfo, system: str, rows: list[tuple[str, str, str, Any]]) -> tuple[Reading, ...]:
    """Readings from rows of stage, subject, probe, value."""
    return tuple(Reading(story.id, stage, subject, probe, system, value) for stage, subject, probe, value in rows)


def ownership_run(story: ScenarioInfo, system: str, verdict: str) -> RunOk:
    rows = [
        ("forward done", "ctx", "expiry", "alive"),
        ("forward done", "ctx", "refcount", 1),
        ("output dropped", "ctx", "expiry", "dead" if verdict == "del" else "alive"),
        ("output dropped", "ctx", "liveness", verdict),
        ("output dropped", "y", "liveness", verdict),
    ]
    return RunOk(story.id, system, readings(story, system, rows), seconds=0.01)


def identity_run(system: str, is_one: bool, text: str) -> RunOk:
    rows = [("read", "one id", "value", is_one), ("read", "error", "value", text)]
    return RunOk(PLAIN.id, system, readings(PLAIN, system, rows), seconds=0.01)


def compared(run: ScenarioRun, other: ScenarioRun) -> ScenarioRun:
    """The run with the status of each reading against the other."""
    theirs = {reading.key: reading.value for reading in other.readings}
    marked = tuple(
        replace(one, status=Status.SAME if theirs.get(one.key) == one.value else Status.DIFFERS) for one in run.readings
    )
    return replace(run, readings=marked)


def seven_systems() -> RunReport:
    """A clean run of three stories in seven systems."""
    runs: list[ScenarioRun] = []
    for story, verdicts in ((STORY, LEAK), (TWIN, FREED)):
        reference = ownership_run(story, "torch", verdicts[-1])
        for system, verdict in zip(SEVEN, verdicts, strict=True):
            run = ownership_run(story, system.name, verdict)
            runs.append(run if system is TORCH else compared(run, reference))
    long = "RuntimeError: Expected a Tensor of type Variable but found an undefined Tensor"
    for system in SEVEN:
        is_old = system.profile in ("torch-1.1", "torch-1.2", "oneflow-0.8")
        run = identity_run(system.name, not is_old, long if is_old else "none")
        runs.append(run if system is TORCH else compared(run, identity_run("torch", True, "none")))
    pairs = (
        PairTotals("mini:torch-2.13", "torch", "liveness", True, same=4),
        PairTotals("mini:torch-2.13", "torch", "value", True, same=2),
        PairTotals("mini:torch-1.1", "torch", "liveness", False, same=2, differs=2),
    )
    totals = Totals(
        7, 3, 21, 84, 6, 6, distinguishing=2, distinguishing_any=5, expectations_met=21, seconds=1.5, pairs=pairs
    )
    return RunReport(SEVEN, (STORY, TWIN, PLAIN), tuple(runs), "torch", (), totals)


def troubled() -> RunReport:
    """The same with a contradiction, an exception, a crash, and a story that a system lacks the means for."""
    report = seven_systems()
    contradiction = ExpectationResult(
        STORY.id, "mini:torch-2.13", "output dropped", "ctx", "liveness", "gc", "never", "from 1.10 on it does",
        "contradicted",
    )  # fmt: skip
    runs: list[ScenarioRun] = []
    for run in report.runs:
        if (run.scenario, run.system) == (STORY.id, "mini:torch-2.13"):
            runs.append(compared(ownership_run(STORY, run.system, "never"), ownership_run(STORY, "torch", "gc")))
        elif (run.scenario, run.system) == (TWIN.id, "mini:torch-1.1"):
            runs.append(RunFailed(run.scenario, run.system, (), "about to\ngo wrong\n", "ValueError: no", 12, "..."))
        elif (run.scenario, run.system) == (TWIN.id, "mini:torch-1.2"):
            runs.append(RunCrashed(run.scenario, run.system, (), "", -11, "SIGSEGV"))
        elif (run.scenario, run.system) == (PLAIN.id, "mini:oneflow-0.9"):
            runs.append(RunUnavailable(run.scenario, run.system, (), "", "needs hooks: Pack and unpack hooks"))
        else:
            runs.append(run)
    totals = replace(report.totals, expectations_met=20, contradictions=1, failures=2, unavailable=1)
    return replace(report, runs=tuple(runs), expectations=(contradiction,), totals=totals)


def event(seq: int, kind: str, number: int, object_kind: str = "tensor", stage: str = "forward done") -> Event:
    return Event(stage, seq, kind, number, object_kind, "", 1, 0, seq / 1000)
