"""Runs each program bare and under each door, and compares what it printed, wrote, left and saw. Run with `make host`, or with
`ARGS="--programs threads,logging --doors hunt"`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.hardening.host.doors import DOORS, SCRIPT, Door, Ended
from benchmarks.hardening.host.known import is_known
from benchmarks.hardening.host.programs import ENDS, PROGRAMS
from benchmarks.hardening.host.surroundings import FILE, TEXT

#: What differs between two runs of the same program.
CHANGING = (
    (re.compile(r"0x[0-9a-f]+"), "0x"),
    (re.compile(r"/tmp/host-\w+/\w+"), "HERE"),
    (re.compile(r"(?m)^\S*\[\d+\].*$"), ""),
)


#: States of libraries that gradlife may load, where the program does not.
STATES = frozenset({"random", "numpy", "torch"})


@dataclass(frozen=True)
class Run:
    """All that is compared of one run."""

    ended: Ended
    seen: dict[str, Any]
    files: dict[str, tuple[str, str]]


def run(door: Door, program: str, place: Path) -> Run:
    """Run a program through a door in a folder of its own."""
    place.mkdir()
    text = PROGRAMS[program] + TEXT + ENDS.get(program, "")
    (place / SCRIPT).write_text(text, encoding="utf-8")
    ended = door(place)
    written = place / FILE
    seen = json.loads(written.read_text(encoding="utf-8")) if written.exists() else {}
    files = {
        path.relative_to(place).as_posix(): (oct(stat.S_IMODE(path.stat().st_mode)), digest(path))
        for path in sorted(place.rglob("*"))
        if path.is_file() and path.name not in {FILE, SCRIPT}
    }
    return Run(ended, json.loads(plain(json.dumps(seen))), files)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]


def plain(text: str) -> str:
    """Return a text without addresses and names of folders."""
    for pattern, instead in CHANGING:
        text = pattern.sub(instead, text)
    return text


def differences(bare: Run, under: Run, door: str) -> Iterator[tuple[str, str]]:
    """Yield what differs: its name, and both values."""
    has_same_output = is_within if door == "pytest" else begins
    if not has_same_output(plain(bare.ended.output), plain(under.ended.output)):
        yield "output", f"{bare.ended.output!r} -> {under.ended.output[: len(bare.ended.output) + 300]!r}"
    if not is_within(plain(bare.ended.errors), plain(under.ended.errors)):
        yield "errors", f"{bare.ended.errors[-300:]!r} -> {under.ended.errors[-600:]!r}"
    if under.ended.status != bare.ended.status and not (
        bare.ended.status == 0 and is_verdict(under.ended.status, door)
    ):
        yield "status", f"{bare.ended.status} -> {under.ended.status}"
    if under.files != bare.files:
        yield "files", f"{bare.files} -> {under.files}"
    for key in {**bare.seen, **under.seen}:
        before, after = bare.seen.get(key), under.seen.get(key)
        if before != after and (before is not None or key not in STATES):
            yield key, changed(before, after)


def changed(before: Any, after: Any) -> str:
    """Return both values; of tables, only the rows that differ."""
    if isinstance(before, dict) and isinstance(after, dict):
        keys = [key for key in {**before, **after} if before.get(key) != after.get(key)]
        return ", ".join(f"{key}: {before.get(key)} -> {after.get(key)}" for key in keys)
    return f"{before} -> {after}"


def is_verdict(status: int, door: str) -> bool:
    """Whether it is the command's own word about a program that ended well: a leak, or too little seen."""
    return door in {"hunt", "lines", "follow", "peak", "pytest"} and status in {1, 3}


def begins(text: str, other: str) -> bool:
    """Whether another text begins with this one: gradlife prints its report after it."""
    return other.startswith(text.rstrip("\n"))


def is_within(text: str, other: str) -> bool:
    """Whether all lines of a text are among those of another, in their order: gradlife prints its report between them."""
    lines = iter(other.splitlines())
    return all(line in lines for line in text.splitlines())


def main() -> int:
    parser = argparse.ArgumentParser(prog="make host")
    parser.add_argument("--programs", default=",".join(PROGRAMS), help="names, separated by commas")
    parser.add_argument("--doors", default=",".join(DOORS), help="names, separated by commas")
    parser.add_argument("--all", action="store_true", help="print known differences, too")
    options = parser.parse_args()
    compared = unknown = 0
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="host-") as name:
        for program in options.programs.split(","):
            bare: dict[Door, Run] = {}
            for door in options.doors.split(","):
                under, without = DOORS[door]
                if without not in bare:
                    bare[without] = run(without, program, Path(name, f"{program}_bare{len(bare)}"))
                found = [*differences(bare[without], run(under, program, Path(name, f"{program}_{door}")), door)]
                new = [one for one in found if not is_known(program, one[0], door)]
                compared, unknown = compared + 1, unknown + bool(new)
                for key, words in found if options.all else new:
                    print(f"{program} under {door}: {key}: {words}", flush=True)
    print(f"{compared} runs compared, {unknown} with unknown differences, {time.monotonic() - start:.0f} s")
    return bool(unknown)


if __name__ == "__main__":
    sys.exit(main())
