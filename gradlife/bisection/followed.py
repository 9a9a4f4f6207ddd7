"""The finding that a bisection follows, and the hunt of one commit or release."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from gradlife.errors import GradlifeError, UsageError, shortened
from gradlife.model import hunt_codec
from gradlife.model.bisection import Candidate, Outcome
from gradlife.model.fix_verification import is_same, is_same_place
from gradlife.model.from_json import document_text
from gradlife.model.hunt import Finding, HuntReport, HuntVerdict
from gradlife.visible_text import visible

#: The fewest digits of a fingerprint that name a finding.
MIN_DIGITS = 6

#: Digits of a fingerprint that are shown.
SHOWN_DIGITS = 8

#: How a line begins that says what went wrong.
ERROR = re.compile(r"gradlife: error: |(\w+\.)*\w*(Error|Exception|Interrupt|Exit)\b(: |$)")

#: The end of a program's output that is searched for the reason why it failed, in bytes.
TAIL = 4096


@dataclass(frozen=True)
class Surroundings:
    """Where a program is hunted in: an interpreter, a folder, environment variables."""

    python: str = field(default_factory=lambda: sys.executable)
    folder: str = field(default_factory=os.getcwd)
    environment: dict[str, str] = field(default_factory=lambda: dict(os.environ))


@dataclass(frozen=True)
class Hunted:
    """The result of a hunt: a report, or why there is none."""

    report: HuntReport | None = None
    trouble: str = ""

    @property
    def why(self) -> str:
        """Why a finding that is not there may be there all the same; empty if it is not there."""
        report = self.report
        if report is None:
            return self.trouble or "the hunt left no report"
        if report.script_status:
            return f"the program ended with status {report.script_status}" + (
                f": {self.trouble}" if self.trouble else ""
            )
        if report.verdict is HuntVerdict.INCONCLUSIVE:
            return self.trouble or report.trouble or "the hunt was inconclusive"
        return ""


def hunt_in(place: Surroundings, words: Sequence[str], timeout: float | None) -> Hunted:
    """Hunt in a program as ``gradlife hunt WORDS`` does, without its output. It is killed after ``timeout`` seconds."""
    with tempfile.TemporaryDirectory(prefix="gradlife-", ignore_cleanup_errors=True) as folder:
        report, log = Path(folder, "report.json"), Path(folder, "output")
        command = [place.python, "-m", "gradlife", "hunt", "--json", str(report), *words]
        with log.open("wb") as output:
            try:
                process = subprocess.Popen(
                    command,
                    cwd=place.folder,
                    env=place.environment,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                )
            except OSError as error:
                return Hunted(trouble=f"{place.python} does not start: {error.strerror}")
            try:
                process.wait(timeout)
            except subprocess.TimeoutExpired:
                return Hunted(trouble=f"it took more than {timeout:g} seconds")
            finally:
                end_session(process)
        said = last_error(log)
        try:
            return Hunted(hunt_codec.loads(document_text(report)), said)
        except (OSError, ValueError, GradlifeError):
            return Hunted(trouble=said or f"the hunt ended with status {process.returncode}")


def end_session(process: subprocess.Popen[bytes]) -> None:
    """Kill a hunt and what it started, if it still runs."""
    if process.poll() is None:
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def last_error(log: Path) -> str:
    """Return the last line that says what went wrong: an error of gradlife, or that of a traceback; empty if there is none."""
    with log.open("rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL))
        lines = [line.strip() for line in file.read().decode("utf-8", "replace").splitlines() if line.strip()]
    errors = [line for line in lines if ERROR.match(line)]
    return shortened(visible(errors[-1].removeprefix("gradlife: error: ")), 160) if errors else ""


@dataclass(frozen=True)
class Followed:
    """The finding to follow, as the bad end has it."""

    finding: Finding

    def outcome(self, hunted: Hunted) -> Outcome:
        """Return whether a hunt has it."""
        if self.found(hunted) is not None:
            return Outcome.BAD
        return Outcome.SKIPPED if hunted.why else Outcome.GOOD

    def found(self, hunted: Hunted) -> Finding | None:
        """Return it as a hunt has it; None if it is not there."""
        return same(self.finding, hunted.report.findings) if hunted.report is not None else None


def same(finding: Finding, findings: Sequence[Finding]) -> Finding | None:
    """Return the same leak: by fingerprint, else by its place."""
    pairs = ((is_one, one) for is_one in (is_same, is_same_place) for one in findings)
    return next((one for is_one, one in pairs if is_one(finding, one)), None)


def follow(good: Candidate, at_good: Hunted, bad: Candidate, at_bad: Hunted, fingerprint: str = "") -> Followed:
    """Choose the finding that the bad end has and the good end has not. Raises UsageError if there is none or a choice, and
    GradlifeError if a hunt could not tell.
    """
    found = named_findings(bad, at_bad, fingerprint)
    if at_good.why:
        raise GradlifeError(f"could not tell at {good.name}, the good end: {at_good.why}", "another good end")
    known = at_good.report.findings if at_good.report is not None else ()
    new = [one for one in found if same(one, known) is None]
    if not new:
        raise UsageError(f"{good.name} is bad already: it has {brief(found[0])}", "an earlier good end")
    if len(new) > 1:
        listed = ", ".join(map(brief, new))
        raise UsageError(
            f"{len(new)} findings are new at {bad.name}: {listed}", f"--fingerprint {new[0].fingerprint[:SHOWN_DIGITS]}"
        )
    return Followed(new[0])


def named_findings(bad: Candidate, hunted: Hunted, fingerprint: str) -> list[Finding]:
    """Return the findings of the bad end that fail a hunt, or the one with a fingerprint."""
    report = hunted.report
    findings = list(report.findings) if report is not None else []
    if fingerprint:
        found = [one for one in findings if one.fingerprint.startswith(fingerprint)]
    else:
        found = [one for one in findings if report is not None and report.is_failure(one)]
    if found:
        return found
    if hunted.why:
        raise GradlifeError(f"could not tell at {bad.name}, the bad end: {hunted.why}", "another bad end")
    what = f"no finding with the fingerprint {fingerprint}" if fingerprint else "no finding that fails a hunt"
    others = f", but {', '.join(map(brief, findings))}" if findings else ""
    raise UsageError(f"{bad.name} is good: it has {what}{others}", "another bad end")


def brief(finding: Finding) -> str:
    """Return a finding in a few words."""
    place = f" at {finding.stored_at.file}:{finding.stored_at.line}" if finding.stored_at is not None else ""
    return f"{finding.code} {finding.title}{place} [{finding.fingerprint[:SHOWN_DIGITS]}]"
