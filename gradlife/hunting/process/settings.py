"""The settings of a hunt, passed from the command to the process that it runs in."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace


@dataclass(frozen=True)
class Settings:
    """The words of the command line."""

    target: str
    arguments: tuple[str, ...] = ()
    steps: int | None = None  # counted steps, the warm-up's among them
    step_on: str = ""  # module:function
    lines: bool = False  # where objects are created is recorded from the first counted step on
    is_interactive: bool = False  # a session at the first leak
    memory_limit: int | None = None  # bytes; None: the system's
    cut: str = ""  # a reference that is cut after each step, to prove that it is the cause
    trial: str = ""  # a folder: seeds are fixed, sources in it run in the place of files, losses are written into it
    folder: str = ""  # where reports are left
    channel: int = -1  # a descriptor: a line for each report that was left
    requests: int = -1  # a descriptor: a byte for each report that is asked for
    in_step: bool = False  # one of several ranks, which take snapshots after the same steps

    def for_rank(self, folder: str, memory: int) -> Settings:
        """The settings of one rank, with its folder. ``memory``: its share of this machine's, in bytes."""
        return replace(self, folder=folder, in_step=True, memory_limit=self.memory_limit or memory)

    def dump(self) -> str:
        """Return the settings as text."""
        return json.dumps(asdict(self))


def load_settings(text: str) -> Settings:
    """Read settings from text."""
    words = json.loads(text)
    return Settings(**{**words, "arguments": tuple(words["arguments"])})
