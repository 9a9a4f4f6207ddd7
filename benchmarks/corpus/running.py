"""Run a hunt as a user does: one process for each variant of each case."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.corpus.cases import Case
from benchmarks.corpus.judge import Judgement, judge


@dataclass(frozen=True)
class Hunted:
    """The report and output of a hunt."""

    document: dict[str, Any] | None
    status: int
    said: str
    seconds: float
    cpu_seconds: float
    output: str = ""


def hunt(
    target: str,
    folder: Path,
    limit: float,
    arguments: tuple[str, ...] = (),
    options: tuple[str, ...] = (),
    variables: Mapping[str, str] | None = None,
    python: str = sys.executable,
) -> Hunted:
    """Run `gradlife hunt --json FILE OPTIONS TARGET ARGUMENTS` in a folder; kill it with its children after so many
    seconds.
    """
    report = folder / f"{abs(hash((target, arguments)))}-{time.monotonic_ns()}.json"
    command = [python, "-m", "gradlife", "hunt", "--json", str(report), *options, target, *arguments]
    started = time.perf_counter()
    with open(report.with_suffix(".out"), "wb+") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, **(variables or {})},
        )
        status, cpu = wait(process, started + limit)
        output.seek(0)
        text = output.read().decode(errors="replace")
    seconds = time.perf_counter() - started
    last = text.strip().splitlines()[-1:] or [""]
    return Hunted(read(report), status, last[0], seconds, cpu, text)


def wait(process: subprocess.Popen[bytes], deadline: float) -> tuple[int, float]:
    """Return exit status and CPU seconds of a process and its children; kill it at the deadline."""
    while True:
        found, code, usage = os.wait4(process.pid, os.WNOHANG)
        if found:
            process.returncode = os.waitstatus_to_exitcode(code)
            return process.returncode, usage.ru_utime + usage.ru_stime
        if time.perf_counter() > deadline:
            os.killpg(process.pid, signal.SIGKILL)
            deadline = float("inf")
        time.sleep(0.02)


def read(report: Path) -> dict[str, Any] | None:
    """Return the report, if there is one."""
    try:
        document = json.loads(report.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) else None


def judged(case: Case, copy: Path, variant: str, limit: float) -> Judgement:
    """Hunt one variant and judge it."""
    hunted = hunt(f"{copy}::{variant}", copy.parent, limit)
    found = judge(case, variant, hunted.document, hunted.status, hunted.said)
    return replace(found, seconds=round(hunted.seconds, 2), cpu_seconds=round(hunted.cpu_seconds, 2))
