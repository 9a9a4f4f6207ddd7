"""A log of findings as JSON lines, each written once. A state file remembers them across runs."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from gradlife.errors import UsageError
from gradlife.hunting.process.rank import write_whole
from gradlife.model.from_json import built, document_text, parsed
from gradlife.model.hunt import Finding, HuntReport
from gradlife.model.hunt_codec import encode_finding, no_text
from gradlife.output import reason
from gradlife.visible_text import visible_json

#: The format name in a state file.
FORMAT = "gradlife.watch/1"


class FindingsLog:
    """Writes new findings to a file. Raises UsageError if a file cannot be used."""

    def __init__(self, path: str | None = None, state: str | None = None) -> None:
        # The program may change the folder.
        self.path = os.path.abspath(path) if path is not None else None
        self._state = os.path.abspath(state) if state is not None else None
        self._written: dict[str, dict[str, Any]] = read_state(state) if state is not None else {}
        if path is not None:
            append(path, "")

    def take(self, report: HuntReport) -> tuple[Finding, ...]:
        """Return the findings that were not reported before; write and remember them."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        fresh = tuple(one for one in report.findings if not self._has(one))
        for one in report.findings:
            old = self._written.pop(one.legacy_fingerprint, None)  # of an earlier version
            first = old or {"code": one.code, "title": one.title, "first": now}
            entry = self._written.setdefault(one.fingerprint, first)
            entry["last"] = now
        if self._state is not None:
            with suppress(OSError):  # on a full disk the state is lost, and the program goes on
                write_whole(self._state, json.dumps({"format": FORMAT, "findings": self._written}, indent=1) + "\n")
        if self.path is not None and fresh:
            with suppress(UsageError):
                append(self.path, "".join(line_of(one, report, now) for one in fresh))
        return fresh

    def _has(self, one: Finding) -> bool:
        """Whether it was reported before, perhaps by an earlier version."""
        return one.fingerprint in self._written or one.legacy_fingerprint in self._written


def line_of(finding: Finding, report: HuntReport, now: str) -> str:
    """Format a finding as one line of JSON: time, target and steps, then its fields as in a report."""
    steps = sum(one.steps for one in report.rounds) + report.warmup_steps
    head = {"time": now, "target": report.target, "step": report.stepped_by, "steps": steps}
    line = json.dumps({**head, **encode_finding(finding, no_text)}, ensure_ascii=False, allow_nan=False)
    return visible_json(line) + "\n"


def append(path: str, text: str) -> None:
    """Append text to a file in one write; UsageError if it cannot be written."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {reason(error)}", "a file in a folder that is there") from None


def read_state(path: str) -> dict[str, dict[str, Any]]:
    """Return the findings that earlier runs reported; empty if there is no file. UsageError for another file."""
    try:
        document = parsed(document_text(path))
        if document["format"] != FORMAT:
            raise ValueError("another format")
        found: dict[str, dict[str, Any]] = built(dict[str, dict[str, object]], document["findings"])
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise UsageError(f"cannot read {path}: {reason(error)}", "another file for the state") from None
    except (ValueError, TypeError, KeyError, AttributeError):
        raise UsageError(f"{path} is no state of gradlife", "another file for the state") from None
    return found
