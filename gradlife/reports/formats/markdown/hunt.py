"""A hunt as Markdown: for an issue, or for the summary of a job."""

from __future__ import annotations

from collections.abc import Iterator

from gradlife.model.hunt import Finding, HuntReport
from gradlife.reports.formats.markdown.document import code_span, fenced, plain, table
from gradlife.reports.hunt.ranks import HEADS, cells, cost_words, rounds_title, skew_words
from gradlife.reports.hunt.rounds import MEASURES, conclusion_text, row
from gradlife.reports.hunt.sentences import (
    KINDS,
    amounts,
    by_whose_bug,
    headline,
    judged,
    keywords,
    method,
    next_commands,
    problem,
)
from gradlife.reports.hunt.shared_memory import (
    HEADS as SHARED_HEADS,
    cells as shared_cells,
    leftover_words,
    shared_title,
)
from gradlife.reports.hunt.trace import trace_drawing
from gradlife.reports.hunt.workers import HEADS as WORKER_HEADS, cells as worker_cells, worker_notes
from gradlife.reports.values import counted, size
from gradlife.reports.visible_report import shows_report


@shows_report
def hunt_markdown(report: HuntReport) -> str:
    """Return the whole report; text of the program is in code or escaped."""
    return "\n".join(lines(report)).rstrip() + "\n"


def lines(report: HuntReport) -> Iterator[str]:
    """Yield the lines of the report."""
    yield f"## gradlife: {report.tolerated or report.verdict} in {code_span(report.target)}"
    yield f"\n{plain(headline(report))}.\n"
    if report.stepped_by:
        yield f"A step is {code_span(report.stepped_by)}; {plain(method(report))}."
    if report.unread is not None:
        yield f"\n**Unread:** {plain(str(report.unread))}"
    if report.trouble:
        yield f"\n**Trouble:** {plain(report.trouble)}"
    if report.script_status:
        yield f"\nThe script ended with status {report.script_status}."
    yield from findings(report)
    yield from table_of_ranks(report)
    yield from table_of_shared_memory(report)
    yield from table_of_rounds(report)
    yield from small_print(report)
    yield from next_part(report)


def findings(report: HuntReport) -> Iterator[str]:
    """Yield the findings under headings."""
    for title, found in by_whose_bug(report):
        yield f"\n### {title}"
        for finding in found:
            yield from finding_lines(finding, report)


def finding_lines(finding: Finding, report: HuntReport) -> Iterator[str]:
    """Yield the lines of one finding."""
    yield f"\n#### {finding.code}: {plain(finding.title)}\n"
    facts = [
        KINDS[finding.kind],
        f"{amounts(finding.per_step)} a {report.step}",
        f"{counted(finding.survivors, 'object')} survived",
    ]
    facts += [f"{size(finding.retained_bytes)} retained"] if finding.retained_bytes else []
    facts += [f"fingerprint `{finding.fingerprint}`"] if finding.fingerprint else []
    yield " · ".join(facts)
    yield f"\n{plain(' '.join(problem(finding, report)))} {plain(finding.diagnosis.reason)}".rstrip()
    if finding.diagnosis.library:
        yield f"\nA bug of: {plain(finding.diagnosis.library)}"
    yield from fenced(trace_drawing(finding.trace), "text")
    if finding.proof is not None:
        proof = finding.proof
        verdict = "sufficient" if proof.is_sufficient else "not sufficient"
        after = amounts(proof.after) if proof.has_rate else "unknown"
        yield f"\n**Proof:** {plain(proof.cut)}: {amounts(proof.before)} → {after} a step, {verdict}. "
        yield plain(proof.note)
    advice = finding.diagnosis.advice
    if advice.text:
        yield f"\n**What to do:** {plain(advice.text)}"
    if advice.code:
        yield from fenced(advice.code, "python")
    if advice.links:
        yield f"\nSee {', '.join(map(plain, advice.links))}."
    yield f"\n<sub>search terms: {plain(', '.join(keywords(finding)))}</sub>"


def table_of_ranks(report: HuntReport) -> Iterator[str]:
    """Return a row for each worker or rank, or for those that agree."""
    if report.workers:
        yield "\n### Workers\n"
        yield from table(WORKER_HEADS, ([plain(cell) for cell in worker_cells(row)] for row in report.workers))
        yield ""
        yield from (f"- {plain(note)}" for note in worker_notes(report))
    if not report.ranks:
        return
    yield "\n### Ranks\n"
    yield from table(HEADS, ([plain(cell) for cell in cells(row)] for row in report.ranks))
    yield ""
    yield from (f"- rank {row.ranks}: {plain(row.trouble)}" for row in report.ranks if row.trouble)
    yield from (f"- skew: {plain(skew_words(one))}" for one in report.skew)
    yield from ([f"- snapshots: {plain(cost_words(report.snapshot_cost))}"] if report.snapshot_cost is not None else [])


def table_of_shared_memory(report: HuntReport) -> Iterator[str]:
    """Yield a row for each maker of shared memory, and what was left behind."""
    if not report.shared_memory.segments:
        return
    yield f"\n### {shared_title(report)}\n"
    yield from table(SHARED_HEADS, ([plain(cell) for cell in shared_cells(row)] for row in report.shared_memory.rows))
    yield ""
    yield from (f"- {plain(leftover_words(one))}" for one in report.shared_memory.leftovers)


def table_of_rounds(report: HuntReport) -> Iterator[str]:
    """Return a row per round."""
    fields = [(field, head) for field, _, head in MEASURES if any(getattr(one.added, field) for one in report.rounds)]
    if not fields:
        return
    yield f"\n### {rounds_title(report)}\n"
    heads = ["round", f"{report.step}s", *(head for _, head in fields), f"{fields[0][1]}/{report.step}"]
    rows = [row(number, one, [field for field, _ in fields]) for number, one in enumerate(report.rounds, 1)]
    yield from table(heads, rows, "---:")
    yield ""
    yield from (f"{sentence}." for sentence, _ in conclusion_text(report))


def small_print(report: HuntReport) -> Iterator[str]:
    """Yield intended growth, controls and limits."""
    for title, explained in (("Who held the memory", report.at_failure), ("Growth that is meant", report.meant)):
        if explained:
            yield f"\n### {title}\n"
            yield from (f"- {plain(one.kind)}: {plain(one.what)}" for one in explained)
    if report.controls:
        wrong = [one for one in report.controls if not one.is_right]
        names = [plain(judged(one)) for one in wrong]
        yield "\n### How far to believe this\n"
        yield f"- controls: {'; '.join(names) or f'all {len(report.controls)} judged rightly'}"
        yield from (f"- {plain(limit)}" for limit in report.limits)


def next_part(report: HuntReport) -> Iterator[str]:
    """Yield the next commands."""
    commands = next_commands(report)
    if commands:
        yield "\n### Next"
        yield from fenced("\n".join(f"{command}  # {what_for}" for command, what_for in commands), "sh")
