"""A release that is not here: readings that were taken of it elsewhere, from a file.

`recorded:torch-1.1.0` is one of those that come with gradlife, `recorded:FILE` any file that `gradlife record` wrote.
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
from gradlife.model.recording import RecordedStory, Recording
from gradlife.model.recording_codec import RecordingError, loads
from gradlife.model.system import SystemInfo

PREFIX = "recorded:"
SUFFIX = ".json"

#: The releases that the atlas is made of: what changed the lifetime of anything changed between two of them.
ATLAS = (
    "torch-1.1.0",
    "torch-1.2.0",
    "torch-1.9.1",
    "torch-1.10.2",
    "torch-1.13.1",
    "torch-2.9.1",
    "torch-2.10.0",
    "torch-2.13.0",
    "oneflow-0.8.0",
    "oneflow-0.9.0",
)


class RecordedBackend:
    """Readings from a file. It tells the stories that it has, and runs nothing."""

    def __init__(self, source: str) -> None:
        self.name = PREFIX + source
        self.file = file_of(source)
        self.recording: Recording = read(self.file)

    @property
    def profile(self) -> str:
        """The profile that the recorded release answers for."""
        return self.recording.system.profile

    def describe(self) -> SystemInfo:
        """The system that was recorded, where and with what it was."""
        return replace(self.recording.system, name=self.name)

    def worker_spec(self) -> WorkerSpec:
        """Raise an error: a recording cannot run anything."""
        raise UsageError(f"{self.name} is a recording: it runs nothing", "a story that it has, or another backend")

    @cached_property
    def stories(self) -> dict[str, RecordedStory]:
        """The recorded stories, by scenario id."""
        return {story.scenario: story for story in self.recording.stories}

    def renewal(self, stories: Iterable[str] = ()) -> str:
        """The command that records these stories anew, into the same file; all of them, if none is named."""
        words = ["gradlife", "record", *stories, "--backend", self.recording.backend, "-o", shown(self.file)]
        return " ".join(words)


def folder() -> Path:
    """Return the folder of the recordings that come with gradlife."""
    return Path(__file__).resolve().parent.parent / "recordings"


def recording_names() -> tuple[str, ...]:
    """The recordings that come with gradlife: PyTorch's releases, then OneFlow's, then others, each oldest first."""
    return tuple(sorted((file.stem for file in folder().glob("*" + SUFFIX)), key=release_order))


def missing_recordings() -> tuple[str, ...]:
    """The releases of the atlas that gradlife comes without."""
    known = recording_names()
    return tuple(name for name in ATLAS if name not in known)


def command_for(name: str) -> str:
    """The commands that make a recording of a release of the atlas."""
    framework, _, version = name.partition("-")
    made = f"gradlife env add {name} --python PYTHON {framework}=={version}"
    return f"{made} && gradlife record --backend {framework}@{name} -o {shown(folder() / (name + SUFFIX))}"


def release_order(name: str) -> tuple[int, str, tuple[int, ...]]:
    """Sorts systems by framework, PyTorch first, and by the numbers of the release."""
    framework = re.split(r"-(?=\d)", name)[0]
    rank = {"torch": 0, "oneflow": 1}.get(framework, 2)
    return rank, framework, tuple(int(number) for number in re.findall(r"\d+", name))


def file_of(source: str) -> Path:
    """The file that a recording is in: one of a name, or of a path."""
    packaged = folder() / (source + SUFFIX)
    if source in recording_names():
        return packaged
    path = Path(source)
    if path.is_file() or source.endswith(SUFFIX) or os.sep in source:
        return path
    known = recording_names()
    raise UnknownNameError("recording", source, known, "one of " + " ".join(known) if known else "a file")


def read(file: Path) -> Recording:
    """Read a recording; raise UsageError with the file's name and the place of the first fault."""
    try:
        return loads(file.read_text("utf-8"))
    except OSError as error:
        raise UsageError(
            f"cannot read the recording {shown(file)}: {(error.strerror or str(error)).lower()}",
            "gradlife record --backend NAME -o FILE writes one",
        ) from None
    except UnicodeDecodeError as error:
        why = f"byte {error.start} is no UTF-8"
    except RecordingError as error:
        why = error.message
    raise UsageError(f"the recording {shown(file)} cannot be used: {why}", "gradlife record rewrites it")


def shown(file: Path) -> str:
    """A path as short as it can be said from here."""
    path = file.resolve()
    return path.relative_to(Path.cwd()).as_posix() if path.is_relative_to(Path.cwd()) else str(file)
