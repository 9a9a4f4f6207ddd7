"""A peak report: what takes the memory at the peak, what of it nobody reads again, and what letting go saves."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from gradlife.errors import EXIT_CLEAN, EXIT_COULD_NOT_TELL, EXIT_FOUND


class Owner(StrEnum):
    """What a storage is for, by who holds it at the peak."""

    PARAMETER = "parameters"
    GRADIENT = "gradients"
    OPTIMIZER = "optimizer state"
    BUFFER = "buffers"
    SAVED = "saved activations"
    INPUT = "inputs"
    NAMED = "outputs held by names"
    TEMPORARY = "temporaries"


class Use(StrEnum):
    """Whether what is alive at the peak is read again."""

    READ_LATER = "read later"
    LAG = "lag"  # it is read for the first time later
    DRAG = "drag"  # it was read, and is not read again before it is freed
    VOID = "void"  # it is never read
    UNREAD = "unread"  # it is not read while it is recorded, and outlives the recording


@dataclass(frozen=True)
class Place:
    """A line of the program."""

    file: str = ""
    line: int = 0
    function: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.file else ""


@dataclass(frozen=True)
class Moment:
    """One operation of a step."""

    operation: str  # "aten.mm"
    place: Place
    phase: str  # forward, backward, optimizer
    module: str = ""  # the path of the module that ran it


@dataclass(frozen=True)
class OwnerShare:
    """What one kind of owner has of the peak."""

    owner: Owner
    bytes: int
    storages: int
    unused_bytes: int = 0  # drag and void among them


@dataclass(frozen=True)
class LineChange:
    """Other lines in the place of some; an insertion has none of these, and stands before `first`."""

    first: int
    last: int  # first - 1: an insertion
    lines: tuple[str, ...]  # without their ends


@dataclass(frozen=True)
class Edit:
    """What to change in the program."""

    text: str  # "`del logits` after line 44"
    file: str = ""
    line: int = 0
    changes: tuple[LineChange, ...] = ()  # none: it is not known to be safe
    patch: str = ""  # the changes as a unified diff


@dataclass(frozen=True)
class Saving:
    """Storages of one origin and one holder that nobody reads again at the peak."""

    holder: str  # "local 'logits' of step (train.py:40)"
    owner: Owner
    use: Use
    bytes: int  # the most that are unused at one time
    storages: int
    born: Moment
    last_read: Moment | None  # None: never
    freed_before: Moment | None  # the operation that finds it gone
    saved_bytes: int  # by which the peak is lower once this and the savings before it are let go
    peak_after: int
    steps_held: int = 0  # that begin between the last read and the end of it
    saved_alone_bytes: int = 0  # by which the peak is lower if this alone is let go
    edits: tuple[Edit, ...] = ()  # that let go of it, all of them together

    @property
    def is_provable(self) -> bool:
        """Has each of its edits a diff?"""
        return bool(self.edits) and all(edit.changes for edit in self.edits)


@dataclass(frozen=True)
class Proof:
    """The program run with the edits that have a diff, and without them, with the same seed."""

    edits: int
    peak_before: int
    peak_after: int
    predicted_bytes: int = 0  # the peak after these edits, by replay
    losses: int = 0  # values from which backward passes begin, that both runs have
    losses_equal: bool = False  # to the last bit
    trouble: str = ""  # why nothing is proven


@dataclass(frozen=True)
class PeakReport:
    """The peak of one recorded step."""

    target: str
    stepped_by: str
    device: str = "cpu"
    steps: int = 0  # that were recorded
    warmup_steps: int = 0
    operations: int = 0  # of the judged step
    peak_bytes: int = 0
    peak_at: Moment | None = None
    owners: tuple[OwnerShare, ...] = ()
    uses: dict[str, int] = field(default_factory=dict)  # bytes of the peak by Use
    savings: tuple[Saving, ...] = ()
    lower_bound_bytes: int = 0  # if each storage were freed at its last use
    provable_peak_bytes: int = 0  # after the savings of which every edit has a diff
    losses: tuple[str, ...] = ()  # for a proof: what each backward pass begins with, as hexadecimal numbers
    proof: Proof | None = None
    limits: tuple[str, ...] = ()
    trouble: str = ""
    script_status: int | None = None
    fail_on: float | None = None  # per cent of the peak

    @property
    def unused_bytes(self) -> int:
        """Bytes of the peak that nobody reads again: drag and void."""
        return self.uses.get(Use.DRAG.value, 0) + self.uses.get(Use.VOID.value, 0)

    @property
    def unused_percent(self) -> float:
        """The same as per cent of the peak."""
        return 100 * self.unused_bytes / self.peak_bytes if self.peak_bytes else 0.0

    @property
    def saved_bytes(self) -> int:
        """What all savings together take off the peak."""
        return self.peak_bytes - min((one.peak_after for one in self.savings), default=self.peak_bytes)

    @property
    def exit_status(self) -> int:
        """3 where nothing was recorded, 1 where more is unused than allowed, else 0."""
        if not self.peak_bytes:
            return EXIT_COULD_NOT_TELL
        return EXIT_FOUND if self.fail_on is not None and self.unused_percent > self.fail_on else EXIT_CLEAN
