"""A peak report: who owns the memory at the peak, how much of it is not read again, and how much releasing it saves."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from gradlife.errors import EXIT_CLEAN, EXIT_COULD_NOT_TELL, EXIT_FOUND
from gradlife.model.ranks import RankEnd, Skew, Spread
from gradlife.model.source_text import Lines


class Owner(StrEnum):
    """The role of a storage, by its holder at the peak."""

    PARAMETER = "parameters"
    GRADIENT = "gradients"
    OPTIMIZER = "optimizer state"
    BUFFER = "buffers"
    SAVED = "saved activations"
    INPUT = "inputs"
    NAMED = "outputs held by names"
    TEMPORARY = "temporaries"


class Use(StrEnum):
    """Whether a storage that is alive at the peak is read again."""

    READ_LATER = "read later"
    LAG = "lag"  # first read after the peak
    DRAG = "drag"  # read before, but not again before it is freed
    VOID = "void"  # never read
    REUSED = "reused"  # overwritten before it is read, as a buffer that lasts
    UNREAD = "unread"  # not read during the recording, and still alive after it


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
    """The share of one kind of owner in the peak."""

    owner: Owner
    bytes: int
    storages: int
    unused_bytes: int = 0  # including drag and void


@dataclass(frozen=True)
class LineChange:
    """A replacement of some lines; an insertion replaces none and goes before line `first`."""

    first: int
    last: int  # first - 1: an insertion
    lines: tuple[Lines, ...]  # without line ends


@dataclass(frozen=True)
class Edit:
    """A change to the program."""

    text: str  # "`del logits` after line 44"
    file: str = ""
    line: int = 0
    changes: tuple[LineChange, ...] = ()  # None: not known to be safe
    patch: Lines = ""  # the changes as a unified diff
    is_no_grad: bool = False  # it computes without a graph: one such edit is enough for all that have a part of it


@dataclass(frozen=True)
class Saving:
    """Storages of one origin and one holder that are not read again after the peak, or not read yet."""

    holder: str  # "local 'logits' of step (train.py:40)"
    owner: Owner
    use: Use
    bytes: int  # the most bytes that are unused at one time
    storages: int
    born: Moment
    last_read: Moment | None  # None: never
    freed_before: Moment | None  # the operation that would find it released
    saved_bytes: int  # reduction of the peak by this saving and all before it
    peak_after: int
    steps_held: int = 0  # steps that begin between the last read and the release, or before the first read
    saved_alone_bytes: int = 0  # reduction of the peak by this saving alone
    edits: tuple[Edit, ...] = ()  # edits that release it, all needed together
    first_read: Moment | None = None  # of memory that is held before its first use
    needs_others: bool = False  # its edits are possible only together with those of the savings before it

    @property
    def is_provable(self) -> bool:
        """Whether each of its edits has a diff."""
        return bool(self.edits) and all(edit.changes for edit in self.edits)


@dataclass(frozen=True)
class UnreadMemory:
    """Memory at the peak that nothing reads in some recorded steps, and that outlives them: a later step may read it."""

    holder: str  # "state of trainer.warmup_optimizer"
    owner: Owner
    bytes: int  # the peak is as much lower without them
    storages: int
    steps: int  # the recorded steps in which nothing reads it
    advice: str = ""


@dataclass(frozen=True)
class Proof:
    """A run of the program with the edits that have a diff, compared with a run without them and the same seed."""

    edits: int
    peak_before: int
    peak_after: int
    predicted_bytes: int = 0  # predicted by replay
    losses: int = 0  # inputs of backward passes that both runs have
    losses_equal: bool = False  # bit for bit
    trouble: str = ""  # why nothing is proven


@dataclass(frozen=True)
class Phase:
    """A stretch of the step: forward, backward or optimizer, from one operation until before another."""

    name: str
    first: int
    end: int


@dataclass(frozen=True)
class Band:
    """Storages of one owner that one line makes, over the step."""

    owner: Owner
    place: Place
    module: str
    bytes: tuple[int, ...]  # at each mark of the picture
    storages: int  # at the peak
    born: int  # operations of the step, of the largest one: negative in an earlier step
    first_read: int | None  # None: it is not read
    last_read: int | None
    died: int | None  # None: it outlives the recording

    @property
    def peak_bytes(self) -> int:
        """The most at one mark."""
        return max(self.bytes, default=0)


@dataclass(frozen=True)
class Picture:
    """The live bytes of the step over its operations."""

    marks: tuple[int, ...]  # operations, counted from the step's beginning
    phases: tuple[Phase, ...]
    bands: tuple[Band, ...]  # in the order of `Owner`
    peak: int  # the mark of the peak


@dataclass(frozen=True)
class Checkpoint:
    """The savings and the cost of checkpointing a module's activations."""

    module: str  # a path; `*` stands for the numbers of several
    modules: int
    saved_bytes: int  # that they make, save for the backward pass, and need not keep, at the most
    peak_lower: int  # bytes by which the peak is lower: by replay
    recompute_percent: float  # of the recorded step: the time of their forward pass


@dataclass(frozen=True)
class ProcessMemory:
    """The bytes that malloc handed out from the step's beginning to its peak, and how many of them storages explain."""

    grown_bytes: int
    recorded_bytes: int
    own_bytes: int = 0  # of gradlife's records of these operations

    @property
    def unseen_bytes(self) -> int:
        """Bytes that neither storages nor gradlife's records explain."""
        return self.grown_bytes - self.recorded_bytes - self.own_bytes


@dataclass(frozen=True)
class PeakRank:
    """The peak of one rank, or of ranks that agree."""

    ranks: str  # "3", "0-7,9"
    count: int
    end: RankEnd
    status: int | None  # of the program; None if unknown
    peak: Spread  # bytes; 0: none was recorded
    unused: Spread  # bytes of the peak that are not read again
    unused_percent: Spread
    owner: str = ""  # the largest one, of the lowest rank
    host: str = ""  # of the lowest rank
    trouble: str = ""  # of the lowest rank


@dataclass(frozen=True)
class PeakPart:
    """Storages of the step that one line makes; those that no recorded operation made, by what holds them."""

    holder: str  # of the largest one at the peak: "local 'logits' of step (train.py:40)"; empty if no name is known
    owner: Owner
    born: Moment  # numbers in the module's path are stars; no operation: made before the recording, or by none
    source: str  # the line
    bytes: int  # at the peak
    storages: int  # at the peak
    made_bytes: int  # in the whole step, one after another; at least those at the peak


class Cause(StrEnum):
    """Why a part of the peak is larger or smaller than in an earlier report."""

    NEW = "new"  # the earlier step did not make it
    LONGER = "longer"  # the earlier step made as much, but less of it was alive at the peak
    LARGER = "larger"
    SMALLER = "smaller"
    SHORTER = "shorter"  # as much is made, but less of it is alive at the peak
    GONE = "gone"


@dataclass(frozen=True)
class PartChange:
    """A part of the peak then and now."""

    part: PeakPart  # now; what is gone, as it was
    cause: Cause
    before_bytes: int
    after_bytes: int

    @property
    def more_bytes(self) -> int:
        """The difference; negative if it is smaller now."""
        return self.after_bytes - self.before_bytes


@dataclass(frozen=True)
class PeakComparison:
    """A peak compared with that of an earlier report."""

    file: str  # the earlier report, as it was named
    before_bytes: int = 0
    after_bytes: int = 0
    allowed_bytes: int = 0  # it may be larger by as much
    spread_bytes: int = 0  # the most by which peaks of equal steps of one run differ
    changes: tuple[PartChange, ...] = ()  # the largest increase first
    trouble: str = ""  # why they cannot be compared

    @property
    def more_bytes(self) -> int:
        """The difference of the peaks; negative if it is lower now."""
        return self.after_bytes - self.before_bytes

    @property
    def exit_status(self) -> int:
        """1 if the peak is larger by more than allowed, 3 if the steps of one run differ by as much, else 0."""
        if self.trouble or self.allowed_bytes < self.more_bytes <= self.spread_bytes:
            return EXIT_COULD_NOT_TELL
        return EXIT_FOUND if self.more_bytes > self.allowed_bytes else EXIT_CLEAN


@dataclass(frozen=True)
class PeakReport:
    """The peak of one recorded step. In a run of several processes, that of the rank with the highest peak."""

    target: str
    stepped_by: str
    device: str = "cpu"
    steps: int = 0  # recorded
    warmup_steps: int = 0
    operations: int = 0  # of the judged step
    peak_bytes: int = 0
    peak_at: Moment | None = None
    owners: tuple[OwnerShare, ...] = ()
    uses: dict[str, int] = field(default_factory=dict)  # bytes of the peak by Use
    savings: tuple[Saving, ...] = ()
    lower_bound_bytes: int = 0  # if each storage were freed at its last use
    provable_peak_bytes: int = 0  # after the savings whose edits all have a diff
    picture: Picture | None = None
    checkpoints: tuple[Checkpoint, ...] = ()
    memory: ProcessMemory | None = None
    unread: tuple[UnreadMemory, ...] = ()  # the largest first; no part of the savings
    losses: tuple[str, ...] = ()  # for a proof: the inputs of each backward pass, as hexadecimal numbers
    proof: Proof | None = None
    limits: tuple[str, ...] = ()
    trouble: str = ""
    script_status: int | None = None
    fail_on: float | None = None  # per cent of the peak
    world_size: int = 1  # expected number of ranks
    worst_rank: int | None = None  # in a run of several processes: whose peak this is
    ranks: tuple[PeakRank, ...] = ()  # in a run of several processes
    skew: tuple[Skew, ...] = ()  # ranks that peak higher than the others
    parts: tuple[PeakPart, ...] = ()  # of the peak, to compare with another report; the largest first
    step_peaks: tuple[int, ...] = ()  # bytes: of the recorded steps that ran as many operations as the judged one
    against: PeakComparison | None = None  # then it decides the exit status

    @property
    def unused_bytes(self) -> int:
        """Bytes of the peak that are not read again: drag and void."""
        return self.uses.get(Use.DRAG.value, 0) + self.uses.get(Use.VOID.value, 0)

    @property
    def unused_percent(self) -> float:
        """The unused bytes in per cent of the peak."""
        return 100 * self.unused_bytes / self.peak_bytes if self.peak_bytes else 0.0

    @property
    def saved_bytes(self) -> int:
        """The reduction of the peak by all savings together."""
        return self.peak_bytes - min((one.peak_after for one in self.savings), default=self.peak_bytes)

    def __str__(self) -> str:
        """Return the report as `gradlife peak` prints it."""
        from gradlife import _text_of

        return _text_of(self)

    def _repr_html_(self) -> str:
        """Return the report as a notebook shows it: its page, in a frame."""
        from gradlife import _html_of

        return _html_of(self)

    @property
    def exit_status(self) -> int:
        """1 if more is unused than allowed on any rank, 3 if one recorded nothing, else 0. A comparison decides in its place."""
        is_whole = bool(self.peak_bytes) and all(one.peak.least for one in self.ranks)
        if self.against is not None:
            return self.against.exit_status if is_whole else EXIT_COULD_NOT_TELL
        unused = max((one.unused_percent.most for one in self.ranks), default=self.unused_percent)
        if self.fail_on is not None and unused > self.fail_on:
            return EXIT_FOUND
        return EXIT_CLEAN if is_whole else EXIT_COULD_NOT_TELL
