"""The files that one rank left: its report as JSON, how it ended, its peak memory, and the times of its snapshots."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gradlife.errors import UsageError
from gradlife.hunting.process.rank import LOG, MEMBER, RESULT, Member
from gradlife.hunting.workers.merge import with_workers
from gradlife.hunting.workers.worker import FOLDER
from gradlife.model import hunt_codec
from gradlife.model.codec import CodecError
from gradlife.model.from_json import built, checked, document_text, finite, parsed
from gradlife.model.ranks import RankEnd
from gradlife.program.hunt.shared_ledger import LEDGER, with_shared_memory

#: Numbers in file names from here on are no ranks, but dates or job numbers.
MAX_NUMBER = 100_000

#: The reports that a rank may have left, best first.
REPORTS = ("end", "answer", "interim")


@dataclass(frozen=True, slots=True)
class SnapshotTime:
    """The time of one snapshot, by a clock that all processes of a machine share."""

    step: int
    began: float
    ended: float


@dataclass(frozen=True, slots=True)
class RankReport:
    """The report of one rank, and how the rank ended."""

    rank: int
    world_size: int = 0  # 0: unknown
    host: str = ""
    end: RankEnd = RankEnd.FINISHED
    status: int | None = None
    peak: int = 0  # resident bytes
    snapshots: tuple[SnapshotTime, ...] = ()
    document: dict[str, Any] | None = None  # `gradlife.hunt/1`; None: it left no report
    trouble: str = ""


def reports_in(folder: str) -> Iterator[RankReport]:
    """Yield the ranks of a run folder, or the reports in a folder of JSON files."""
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise UsageError(f"cannot read {folder}: {error.strerror}", "gradlife merge FOLDER") from None
    ranks = [name for name in names if is_rank_folder(name)]
    if ranks:
        yield from (left_by(os.path.join(folder, name), int(name.partition("-")[2])) for name in ranks)
        return
    files = [name for name in names if name.endswith(".json")]
    if not files:
        raise UsageError(
            f"{folder} has no report of a rank", "gradlife hunt --run-folder FOLDER TARGET leaves them there"
        )
    numbers = numbers_of(files)
    for name in files:
        yield plain_report(os.path.join(folder, name), numbers[name])


def folders_of_ranks(folder: str) -> list[str]:
    """Return the names of the ranks' folders in a run folder."""
    return sorted(filter(is_rank_folder, os.listdir(folder)))


def is_rank_folder(name: str) -> bool:
    """Whether a name is that of a rank's folder."""
    return re.fullmatch(r"rank-[0-9]{1,6}", name) is not None


def numbers_of(names: list[str]) -> dict[str, int]:
    """Return the rank of each file: the number after "rank", or the last one, if these all differ; else its index."""
    for pattern in (r"rank[-_.]?([0-9]+)", r"([0-9]+)"):
        found = {name: re.findall(pattern, name) for name in names}
        numbers = {name: int(digits[-1]) for name, digits in found.items() if digits}
        if len(set(numbers.values())) == len(names) and max(numbers.values()) < MAX_NUMBER:
            return numbers
    return {name: place for place, name in enumerate(names)}


def plain_report(path: str, rank: int) -> RankReport:
    """Read a report that a rank wrote with `--json FILE`."""
    document = document_at(path)
    if document is None:
        raise UsageError(f"{path} is no report of a hunt", "gradlife hunt --json FILE TARGET makes one")
    status = document.get("script_status")
    return RankReport(rank, end=RankEnd.FAILED if status else RankEnd.FINISHED, status=status, document=document)


def left_by(path: str, rank: int) -> RankReport:
    """Read the folder of a rank."""
    member = member_at(path)
    result = json_at(os.path.join(path, RESULT))
    found = ((one, document_at(os.path.join(path, one))) for one in REPORTS)
    name, document = next(((one, document) for one, document in found if document is not None), ("", None))
    document = with_own_workers(document, path)
    peak, snapshots = log_at(path)
    status = result.get("status", document.get("script_status") if document is not None else None)
    return RankReport(
        rank,
        member.world_size if member is not None else 0,
        member.host if member is not None else "",
        end_of(result, name, status, member),
        status,
        max(peak, int(result.get("peak_bytes", 0))),
        snapshots,
        document,
        str(result.get("trouble", "")),
    )


def with_own_workers(document: dict[str, Any] | None, path: str) -> dict[str, Any] | None:
    """Add the reports of the rank's workers, and the memory that it shared, to its own."""
    if document is None or not any(os.path.exists(os.path.join(path, name)) for name in (FOLDER, LEDGER)):
        return document
    try:
        return hunt_codec.encode(with_shared_memory(with_workers(hunt_codec.decode(document), path), path))
    except CodecError:
        return document


def end_of(result: dict[str, Any], name: str, status: int | None, member: Member | None) -> RankEnd:
    """Return how the rank ended."""
    if "end" in result:
        return RankEnd(result["end"])
    if name == "end":
        return RankEnd.FAILED if status else RankEnd.FINISHED
    return RankEnd.RUNNING if member is not None and member.is_alive else RankEnd.LOST


def has_ended(path: str) -> bool:
    """Whether this rank will write nothing more."""
    if any(os.path.exists(os.path.join(path, name)) for name in (RESULT, "end")):
        return True
    member = member_at(path)
    return member is not None and not member.is_alive


def member_at(path: str) -> Member | None:
    """Read which process the rank is; None if unknown."""
    try:
        found: Member = built(Member, json_at(os.path.join(path, MEMBER)))
    except (TypeError, KeyError, ValueError):
        return None
    return found


def json_at(path: str) -> dict[str, Any]:
    """Read a small JSON object; empty if there is none."""
    try:
        found = parsed(document_text(path))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def document_at(path: str) -> dict[str, Any] | None:
    """Read a hunt's report as JSON; None if the file is not a report."""
    found = json_at(path)
    return found if str(found.get("format", "")).startswith("gradlife.hunt/") else None


def log_at(path: str) -> tuple[int, tuple[SnapshotTime, ...]]:
    """Read peak memory and snapshot times from a rank's log; incomplete lines are skipped."""
    peak, snapshots = 0, []
    try:
        lines = Path(path, LOG).read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return 0, ()
    for kind, *words in map(str.split, filter(None, lines)):
        try:
            if kind == "peak":
                peak = max(peak, checked(int, int(words[0])))
            elif kind == "snapshot":
                times = finite(words[1]), finite(words[2])
                snapshots.append(SnapshotTime(checked(int, int(words[0])), *times))
        except (ValueError, IndexError):
            continue
    return peak, tuple(snapshots)
