"""Judge the report of a hunt by what the program is declared to be."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from benchmarks.corpus.running import Hunted
from benchmarks.twins.pair import Pair

RIGHT, FALSE_ALARM, UNDECIDED, MISSED, UNNAMED = "right", "false alarm", "undecided", "missed", "holder not named"


@dataclass(frozen=True)
class Row:
    """A hunt of one program."""

    area: str
    name: str
    is_leaking: bool
    steps: int
    limit: str
    result: str  # one of the five above
    verdict: str
    status: int
    codes: tuple[str, ...]  # with their severities
    title: str  # of the first finding
    said: str
    seconds: float
    why: str

    @property
    def kind(self) -> str:
        """Return the word for the program in the table."""
        return "leak" if self.is_leaking else "twin"


def result_of(pair: Pair, is_leaking: bool, document: dict[str, Any] | None, status: int) -> str:
    """Return what is wrong with a report, if anything.

    A finding below major in a clean report is fine. A twin that gradlife cannot judge is undecided, a leak that it
    cannot judge is missed: no holder is named then.
    """
    verdict = str(document["verdict"]) if document else ""
    if not is_leaking:
        if verdict in ("clean", pair.twin_truth) and status == 0:
            return RIGHT
        return FALSE_ALARM if verdict in ("leak", "needs-gc") or status == 1 else UNDECIDED
    if document is None or (verdict != pair.truth and not (pair.small and verdict == "clean")):
        return MISSED
    return RIGHT if has_holder(pair, document) else UNNAMED


def has_holder(pair: Pair, document: dict[str, Any]) -> bool:
    """Whether the trace of the first finding has one of the holder's names; of any part of the report, if it is small."""
    trace = json.dumps(document if pair.small else (document["findings"] or [{}])[0].get("trace", {}))
    return not pair.holder or any(re.search(rf"\b{re.escape(name)}\b", trace) for name in pair.holder.split("|"))


def judge(area: str, pair: Pair, is_leaking: bool, steps: int, limit: str, hunted: Hunted) -> Row:
    """Judge a hunt."""
    document = hunted.document
    findings = document["findings"] if document else []
    return Row(
        area=area,
        name=pair.name,
        is_leaking=is_leaking,
        steps=steps,
        limit=limit,
        result=result_of(pair, is_leaking, document, hunted.status),
        verdict=str(document["verdict"]) if document else "-",
        status=hunted.status,
        codes=tuple(f"{one['code']}/{one['severity']}" for one in findings),
        title=str(findings[0].get("title", "")) if findings else "",
        said=str((document or {}).get("trouble") or "") if document else hunted.said,
        seconds=round(hunted.seconds, 1),
        why=pair.why if is_leaking else pair.why_not,
    )
