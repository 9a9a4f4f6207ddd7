"""The copy that looks at growth last makes the report, which is used if nothing has happened since."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from gradlife.hunting.process.forked import in_fork
from gradlife.hunting.session.clean_report import TargetFacts
from gradlife.hunting.session.method import Hunt
from gradlife.hunting.session.report import EarlyJudge, report_of
from gradlife.hunting.session.step_counter import Counter
from gradlife.hunting.steps.schedule import Schedule
from gradlife.model.hunt import HuntReport
from script_hunts import repeated

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.whole

FACTS = TargetFacts("program.py", "SGD.step", is_script=True)


class Copies:
    """Counts the copies that judge for a report."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        monkeypatch.setattr(Hunt, "in_copy", lambda hunt, work: self._judge(work))

    def _judge(self, work: Callable[[], HuntReport]) -> HuntReport:
        self.count += 1
        return in_fork(work)


def test_the_report_is_made_by_the_copy_that_looks_at_growth_last(monkeypatch: pytest.MonkeyPatch) -> None:
    copies = Copies(monkeypatch)
    kept: list[object] = []
    hunt = Hunt(Schedule(may_end=True))
    hunt.make_early_report = EarlyJudge(hunt, FACTS)
    repeated(lambda: kept.append(torch.ones(8)), 270)(Counter(hunt).step)
    try:
        reports: list[tuple[int, HuntReport]] = []
        for facts in (FACTS, replace(FACTS, script_status=1)):
            report = report_of(hunt, facts)
            reports.append((copies.count, report))
        hunt.early_report = None
        reports.append((copies.count + 1, report_of(hunt, FACTS)))
    finally:
        hunt.close()
    assert [count for count, _ in reports] == [0, 1, 2]
    assert [one.script_status for _, one in reports] == [None, 1, None]
    assert reports[0][1] == reports[2][1]
    assert [one.per_step.tensors for one in reports[0][1].findings] == [1.0]
