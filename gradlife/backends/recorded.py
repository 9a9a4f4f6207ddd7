"""Recorded readings of a release that need not be installed, from a file.

`recorded:torch-1.1.0` is one that comes with gradlife; `recorded:FILE` is any file that `gradlife record` wrote.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from gradlife.backends.base import WorkerSpec
from gradlife.errors import UnknownNameError, UsageError
from gradlife.model.from_json import document_text
from gradlife.model.recording import RecordedStory, Recording
from gradlife.model.recording_codec import RecordingError, loads
from gradlife.model.system import SystemInfo

PREFIX = "recorded:"
SUFFIX = ".json"

#: The releases of the atlas: every known lifetime change lies between two of them.
ATLAS = (
    "torch-1.1.0",
    "torch-1.2.0",
    "torch-1.9.1",
    "torch-1.10.2",
    "torch-1.13.1",
    "torch-2.9.1",
    "torch-2.10.0",
    "torch-2.12.1",
    "torch-2.13.0",
    "torch-2.14.1",
    "torch-2.15.0",
    "oneflow-0.8.0",
    "oneflow-0.9.0",
)


class RecordedBackend:
    """Readings from a file. Has recorded stories and runs nothing."""

    def __init__(self, source: str) -> None:
        self.name = PREFIX + source
        self.file = file_of(source)
        self.recording: Recording = read(self.file)

    @property
    def profile(self) -> str:
        """The profile of the recorded release."""
        return self.recording.system.profile

    def describe(self) -> SystemInfo:
        """Return the recorded system and its platform."""
        return replace(self.recording.system, name=self.name)

    def worker_spec(self) -> WorkerSpec:
        """Raise: a recording cannot run anything."""
        raise UsageError(f"{self.name} is a recording: it runs nothing", "a story that it has, or another backend")

    @cached_property
    def stories(self) -> dict[str, RecordedStory]:
        """The recorded stories, by scenario id."""
        return {story.scenario: story for story in self.recording.stories}

    def renewal(self, stories: Iterable[str] = ()) -> str:
        """Return the command that renews these stories in the same file; all of them if none is named."""
        words = ["gradlife", "record", *stories, "--backend", self.recording.backend, "-o", shown(self.file)]
        return " ".join(words)


def folder() -> Path:
    """Return the folder of the recordings that come with gradlife."""
    return Path(__file__).resolve().parent.parent / "recordings"


def recording_names() -> tuple[str, ...]:
    """Return the recordings that come with gradlife: PyTorch's, then OneFlow's, then others, each oldest first."""
    return tuple(sorted((file.stem for file in folder().glob("*" + SUFFIX)), key=release_order))


def missing_recordings() -> tuple[str, ...]:
    """Return the releases of the atlas without a recording in gradlife."""
    known = recording_names()
    return tuple(name for name in ATLAS if name not in known)


def release_order(name: str) -> tuple[int, str, tuple[int, ...]]:
    """Return a sort key: framework, PyTorch first, then the numbers of the release."""
    framework = re.split(r"-(?=\d)", name)[0]
    rank = {"torch": 0, "oneflow": 1}.get(framework, 2)
    return rank, framework, tuple(int(number) for number in re.findall(r"\d+", name))


def file_of(source: str) -> Path:
    """Return a recording's file, given a name or a path."""
    packaged = folder() / (source + SUFFIX)
    if source in recording_names():
        return packaged
    path = Path(source)
    if path.is_file() or source.endswith(SUFFIX) or os.sep in source:
        return path
    known = recording_names()
    raise UnknownNameError("recording", source, known, "one of " + " ".join(known) if known else "a file")


def read(file: Path) -> Recording:
    """Read a recording. Raises UsageError with the file's name and the first error's place."""
    try:
        return loads(document_text(file))
    except OSError as error:
        raise UsageError(
            f"cannot read the recording {shown(file)}: {(error.strerror or str(error)).lower()}",
            "gradlife record --backend NAME -o FILE writes one",
        ) from None
    except UnicodeDecodeError as error:
        why = f"byte {error.start} is not UTF-8"
    except RecordingError as error:
        why = error.message
    except ValueError as error:
        why = str(error)
    raise UsageError(f"the recording {shown(file)} cannot be used: {why}", "gradlife record rewrites it")


def shown(file: Path) -> str:
    """Shorten a path as seen from the current folder."""
    path = file.resolve()
    return path.relative_to(Path.cwd()).as_posix() if path.is_relative_to(Path.cwd()) else str(file)
