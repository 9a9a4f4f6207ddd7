"""Judge the report of an entry's hunt: verdict, holder, line, advice."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.corpus.running import Hunted
from benchmarks.field.entry import Entry
from benchmarks.twins.judging import MISSED, RIGHT, Row, has_holder, judge as judge_pair


@dataclass(frozen=True)
class Answer:
    """What a hunt of one program said, and what of it is right; None where the entry does not ask."""

    row: Row
    source: str
    is_verdict_right: bool
    is_holder_right: bool | None
    is_line_right: bool | None
    is_advice_right: bool | None
    line: str  # the reported source line
    advice: str
    cpu_seconds: float
    output: str

    def document(self) -> dict[str, Any]:
        """Return it for a JSON file."""
        return asdict(self)


def judge(area: str, entry: Entry, is_leaking: bool, steps: int, hunted: Hunted) -> Answer:
    """Judge the first finding of a leak, the verdict of a twin."""
    row = judge_pair(area, entry.pair, is_leaking, steps, "", hunted)
    findings = (hunted.document or {}).get("findings") or [{}]
    line, advice = line_of(findings[0]), advice_of(findings[0])
    is_found = row.result != MISSED
    return Answer(
        row=row,
        source=entry.source,
        is_verdict_right=is_found if is_leaking else row.result == RIGHT,
        is_holder_right=is_found and has_holder(entry.pair, hunted.document or {}) if is_leaking else None,
        is_line_right=is_found and has_one(entry.line, line) if is_leaking and entry.line else None,
        is_advice_right=is_found and is_sound(entry, advice) if is_leaking and has_advice(entry) else None,
        line=line,
        advice=advice,
        cpu_seconds=round(hunted.cpu_seconds, 1),
        output=hunted.output,
    )


def line_of(finding: dict[str, Any]) -> str:
    """Return the source line that a finding says to be the one that stores."""
    return str((finding.get("stored_at") or {}).get("source", ""))


def advice_of(finding: dict[str, Any]) -> str:
    """Return a finding's advice and patch as text."""
    parts = [finding.get("advice") or {}, (finding.get("patch") or {}).get("added") or []]
    return json.dumps(parts, ensure_ascii=False) if any(parts) else ""


def has_one(wanted: str, text: str) -> bool:
    """Whether the text has one of the words between "|"."""
    return any(word in text for word in wanted.split("|"))


def has_advice(entry: Entry) -> bool:
    """Whether the entry says anything of the advice."""
    return bool(entry.advice or entry.harmful)


def is_sound(entry: Entry, advice: str) -> bool:
    """Whether the advice says what it must and nothing that does harm."""
    says = not entry.advice or has_one(entry.advice, advice)
    return says and not (entry.harmful and has_one(entry.harmful, advice))
