"""A report of device memory as versioned JSON, and as a note of a snapshot file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, replace

from gradlife._version import __version__
from gradlife.model.device.memory import BlockOwner, DeviceMemory, DeviceReport, FailedRequest, Frame, program_frame
from gradlife.model.from_json import built, parsed

FORMAT = "gradlife.device/1"

#: The note of a snapshot that has the report.
NOTE = "device memory"


def dumps(report: DeviceReport) -> str:
    """Return the report as JSON text, `gradlife.device/1`."""
    document = {"format": FORMAT, "gradlife": __version__, **asdict(report)}
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def note_of(report: DeviceReport) -> tuple[str, str]:
    """Return the report as a note of a snapshot: one line, and no path of the machine."""
    devices = tuple(map(without_paths, report.devices))
    return NOTE, json.dumps(asdict(replace(report, devices=devices)), separators=(",", ":"))


def report_in(notes: Iterable[tuple[str, str]]) -> DeviceReport | None:
    """Return the report in a snapshot's notes; None if there is none, or if it is damaged."""
    text = dict(notes).get(NOTE)
    if text is None:
        return None
    try:
        report: DeviceReport = built(DeviceReport, parsed(text))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    return report if all(map(is_consistent, report.devices)) else None


def is_consistent(memory: DeviceMemory) -> bool:
    """Whether every run of the map names an owner of the report, and no segment is empty."""
    runs = (run for segment in memory.map for run in segment.runs)
    return all(segment.bytes > 0 for segment in memory.map) and all(
        -1 <= run.owner < len(memory.owners) for run in runs
    )


def without_paths(memory: DeviceMemory) -> DeviceMemory:
    """Return the memory with short paths of files."""
    failed = memory.failed and with_program_first(memory.failed)
    drag = tuple(replace(one, place=one.place and short_frame(one.place)) for one in memory.drag)
    return replace(memory, owners=tuple(map(short_owner, memory.owners)), failed=failed, drag=drag)


def with_program_first(failed: FailedRequest) -> FailedRequest:
    """Return a failed allocation with short paths, which no longer tell the program's frame: it comes first."""
    own = program_frame(failed.frames)
    frames = [*([own] if own is not None else []), *(frame for frame in failed.frames if frame != own)]
    return replace(failed, frames=tuple(map(short_frame, frames)))


def short_owner(owner: BlockOwner) -> BlockOwner:
    """Return the owner with a short path."""
    if owner.place is None:
        return owner
    place = short_frame(owner.place)
    return replace(owner, place=place, text=str(place) if owner.text == str(owner.place) else owner.text)


def short_frame(frame: Frame) -> Frame:
    """Return the frame with the last two parts of its path, from the working folder on if it is below it."""
    below = os.path.relpath(frame.file) if os.path.isabs(frame.file) else ""
    file = below if below and not below.startswith(os.pardir) else frame.file
    return replace(frame, file="/".join(file.split("/")[-2:]))
