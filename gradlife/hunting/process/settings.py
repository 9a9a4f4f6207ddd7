"""The settings of a hunt or a peak, passed from the command to the process in which the program runs."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

#: The methods: the class of each one's child, by module and name.
HUNT = "gradlife.program.hunt.processes:ParentHunt"
TALK = "gradlife.interactive.child:TalkingChild"
PEAK = "gradlife.program.peak.child:PeakChild"

#: File names of reports, by the moment at which they are written.
ANSWER, INTERIM, END = "answer", "interim", "end"

#: The byte that asks for progress; any other asks for an interim report.
PROGRESS = b"p"

#: The file that tells that the program was not run, and that its process has printed why.
REFUSED = "refused"


@dataclass(frozen=True)
class Settings:
    """The options of the command line."""

    target: str
    arguments: tuple[str, ...] = ()
    steps: int | None = None  # counted steps, including the warm-up
    step_on: str = ""  # module:function
    lines: bool = False  # record where objects are created from the first counted step on
    memory_limit: int | None = None  # bytes; None: the system's
    cuts: str = ""  # references to cut after each step, to prove that they are the cause
    trial: str = ""  # a folder: fixed seeds, sources that replace files, and where losses are written
    folder: str = ""  # where reports are written
    channel: int = -1  # file descriptor: a line for each report written
    requests: int = -1  # file descriptor: a byte for each report requested
    in_step: bool = False  # one of several ranks, which take snapshots after the same steps
    tells_progress: bool = False  # after each step that is recorded
    python: tuple[str, ...] = ()  # options of the interpreter besides this one's
    method: str = HUNT  # what is run beside the program

    def for_rank(self, folder: str, memory: int) -> Settings:
        """Return the settings of one rank, with its folder. ``memory``: its share of the machine's, in bytes."""
        return replace(self, folder=folder, in_step=True, memory_limit=self.memory_limit or memory)

    def for_others(self) -> Settings:
        """Return the settings of a process that the program starts: nobody watches it, and it has no prompt."""
        return replace(self, channel=-1, requests=-1, method=HUNT if self.method == TALK else self.method)

    def dump(self) -> str:
        """Encode the settings as text."""
        return json.dumps(asdict(self))


def load_settings(text: str) -> Settings:
    """Decode settings."""
    words = json.loads(text)
    return Settings(**{**words, **{name: tuple(words[name]) for name in ("arguments", "python")}})


def refuse(folder: str) -> None:
    """Record that the program was not run."""
    with suppress(OSError):
        Path(folder, REFUSED).touch()


def was_refused(folder: str) -> bool:
    """Whether the program was not run."""
    return os.path.exists(os.path.join(folder, REFUSED))
