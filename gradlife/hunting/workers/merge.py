"""Merges reports of workers into the program's: findings by fingerprint, and one row for workers that agree."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from gradlife.hunting.workers.worker import FOLDER, MEMORY, REPORTS, Worker, is_written, work_of_writer, worker_at
from gradlife.model import hunt_codec
from gradlife.model.codec import CodecError
from gradlife.model.from_json import built, document_text, parsed
from gradlife.model.hunt import Finding, HuntReport, HuntVerdict, Severity
from gradlife.model.ranks import NO_VERDICT, CopyOnRead, FindingRanks, Spread, WorkerRow, rank_ranges

#: Most seconds to wait for a report whose writer does nothing: it may wait for a lock that a thread of its worker held.
LONGEST = 120.0

#: Seconds between two checks.
INTERVAL = 0.05


@dataclass(frozen=True)
class Left:
    """The report and the copied memory that one worker left."""

    worker: Worker
    report: HuntReport | None  # None: too few steps, or killed
    copied: CopyOnRead | None


def with_workers(report: HuntReport, folder: str) -> HuntReport:
    """Add the results of workers in the hunt's folder to the program's report. Waits until they are written."""
    left = list(left_by_workers(os.path.join(folder, FOLDER)))
    if not left:
        return report
    rows: list[WorkerRow] = []
    findings: list[Finding] = []
    for group in groups(left):
        findings += shared_findings(group)
        rows += rows_of(group)
    order = sorted([*report.findings, *findings], key=lambda one: list(Severity).index(one.severity))
    return about_work(replace(report, findings=tuple(order), workers=tuple(rows)))


def about_work(report: HuntReport) -> HuntReport:
    """Adjust the report of a program that leaves its work to workers: it need not take a step itself."""
    if all(one.in_workers is not None for one in report.findings):  # workers' rates are not per interval of time
        report = replace(report, settings={key: one for key, one in report.settings.items() if key != "step_seconds"})
    if not report.works_in_workers or report.script_status:
        return report
    limit = "what the program itself keeps: it took no steps, only its workers did"
    return replace(report, trouble="", limits=(limit, *report.limits))


def left_by_workers(root: str) -> Iterator[Left]:
    """Yield what each worker left: from its first process with a leak, else its last with a report, else its first."""
    by_worker: dict[Worker, Left] = {}
    for path in folders_in(root):
        worker = worker_at(path)
        if worker is not None:
            wait_until_written(path)
            found = Left(worker, report_at(path), copied_at(path))
            earlier = by_worker.get(worker)
            has_leak = earlier is not None and earlier.report is not None and is_leak(earlier.report)
            if earlier is None or (found.report is not None and not has_leak):
                by_worker[worker] = found
    yield from by_worker.values()


def folders_in(root: str) -> list[str]:
    """Return the folders of workers, sorted by name."""
    with suppress(OSError):
        return [os.path.join(root, name) for name in sorted(os.listdir(root))]
    return []


def wait_until_written(path: str) -> None:
    """Wait until the worker's report is written: on a busy machine as long as its writer works."""
    work, deadline = 0, time.monotonic() + LONGEST
    while not is_written(path) and time.monotonic() < deadline:
        before, work = work, work_of_writer(path)
        if work > before:
            deadline = time.monotonic() + LONGEST
        time.sleep(INTERVAL)


def report_at(path: str) -> HuntReport | None:
    """Read the best report of a worker; None if there is none."""
    for name in REPORTS:
        with suppress(OSError, ValueError, CodecError):
            return hunt_codec.loads(document_text(os.path.join(path, name)))
    return None


def copied_at(path: str) -> CopyOnRead | None:
    """Read what the worker copied; None if there is nothing."""
    with suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
        found: CopyOnRead = built(CopyOnRead, parsed(document_text(os.path.join(path, MEMORY))))
        return found
    return None


def groups(left: Iterable[Left]) -> list[list[Left]]:
    """Group workers by DataLoader or pool."""
    found: dict[tuple[str, str, int, str], list[Left]] = {}
    for one in left:
        found.setdefault((one.worker.kind, one.worker.label, one.worker.count, one.worker.source), []).append(one)
    return list(found.values())


def size_of(group: Sequence[Left]) -> int:
    """Return the number of workers in a group; for a pool, the number that joined."""
    return group[0].worker.count or len(group)


def shared_findings(group: Sequence[Left]) -> Iterator[Finding]:
    """Yield the findings of a group, each with the workers that have it. The fastest growing one is shown."""
    found: dict[tuple[str, str], dict[int, Finding]] = {}
    for one in group:
        for finding in one.report.findings if one.report is not None and is_leak(one.report) else ():
            key = (finding.code, finding.fingerprint or finding.title)
            found.setdefault(key, {})[one.worker.number] = finding
    for by_number in found.values():
        rates = [rate_of(finding) for finding in by_number.values()]
        fastest = max(by_number.values(), key=rate_of)
        first = group[0].worker
        who = FindingRanks(
            rank_ranges(by_number),
            len(by_number),
            size_of(group),
            Spread(min(rates), max(rates)),
            first.kind,
            first.step,
        )
        yield replace(fastest, in_workers=who)


def is_leak(report: HuntReport) -> bool:
    """Whether the report's verdict supports its findings."""
    return report.verdict in (HuntVerdict.LEAK, HuntVerdict.NEEDS_GC)


def rate_of(finding: Finding) -> float:
    """Return the bytes that a finding adds per step."""
    return max(finding.per_step.retained_bytes, finding.per_step.bytes)


def rows_of(group: Sequence[Left]) -> Iterator[WorkerRow]:
    """Yield one row for each set of workers that agree."""
    alike: dict[object, list[Left]] = {}
    for one in group:
        codes = tuple(sorted(finding.fingerprint for finding in one.report.findings)) if one.report is not None else ()
        alike.setdefault((verdict_of(one), codes), []).append(one)
    for members in alike.values():
        yield row_of(members, size_of(group))


def row_of(members: Sequence[Left], size: int) -> WorkerRow:
    """Return the row of workers that agree."""
    first = members[0]
    reports = [one.report for one in members if one.report is not None]
    return WorkerRow(
        first.worker.kind,
        first.worker.label,
        rank_ranges(one.worker.number for one in members),
        len(members),
        size,
        first.worker.start_method,
        first.worker.step,
        verdict_of(first),
        len(reports[0].findings) if reports else 0,
        Spread.of([float(steps_of(one)) for one in reports]),
        Spread.of([sum(map(rate_of, one.findings)) for one in reports]),
        reports[0].trouble if reports else "",
        max((one.copied for one in members if one.copied), key=lambda one: one.bytes, default=None),
    )


def verdict_of(one: Left) -> str:
    """Return the verdict of a worker; `NO_VERDICT` if it left no report."""
    return one.report.verdict.value if one.report is not None else NO_VERDICT


def steps_of(report: HuntReport) -> int:
    """Return the number of counted steps, including the warm-up."""
    return report.warmup_steps + sum(each.steps for each in report.rounds)
