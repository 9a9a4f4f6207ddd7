"""A finding written as a scenario: a file that runs, and whose declarations are true."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")

from gradlife.hunting.findings.scenario_file import NoScenario, export_first, exported
from gradlife.model.hunt import Amounts, Finding, FindingKind
from gradlife.model.trace import Lifetime
from gradlife.patterns import diagnose, fingerprint
from gradlife.runner import api
from patterns.cases import CASES
from patterns.conftest import Traces

pytestmark = pytest.mark.torch


def findings(traces: Traces) -> dict[str, Finding]:
    """Each case as a hunt would tell it."""
    found = {}
    for _, kind, leak, _ in CASES:
        trace = traces[leak]
        diagnosis = diagnose(trace, kind, versions={"torch": "2.13.0"})
        found[leak.__name__] = Finding(
            kind, trace.lifetime, diagnosis, trace, Amounts(), fingerprint=fingerprint(trace)
        )
    return found


@pytest.mark.whole
def test_exported_findings_of_many_patterns_meet_their_declarations_on_torch(traces: Traces, tmp_path: Path) -> None:
    codes = set()
    for name, finding in findings(traces).items():
        with contextlib.suppress(NoScenario):
            (tmp_path / f"{name}.py").write_text(exported(finding), encoding="utf-8")
            codes.add(finding.code)
    assert {"GL402", "GL403", "GL404", "GL511", "GL512"} <= codes
    report = api.run([str(tmp_path)], backends=["torch", "mini:torch-2.13"])
    assert report.exit_status == 0
    assert report.totals.expectations_met >= 6 * len(codes)
    assert report.totals.contradictions == report.totals.failures == 0


@pytest.mark.whole
def test_what_no_variable_leads_to_says_why_it_is_no_scenario(traces: Traces) -> None:
    finding = findings(traces)["ctx_keeps_output"]
    with pytest.raises(NoScenario, match="gradlife explain GL101 has its story"):
        exported(finding)


def test_the_worst_finding_that_can_be_written_is(traces: Traces) -> None:
    known = findings(traces)
    text = export_first([known["ctx_keeps_output"], known["losses_in_list"]])
    assert "pattern='GL402'" in text or 'pattern="GL402"' in text


def test_what_waits_for_the_collector_is_not_exported(traces: Traces) -> None:
    finding = replace(findings(traces)["losses_in_list"], kind=FindingKind.NEEDS_GC, lifetime=Lifetime.GC)
    with pytest.raises(NoScenario, match="nothing leaks"):
        export_first([finding])
