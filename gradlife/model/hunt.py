"""The report of a hunt: the verdict, the leaks with their traces, growth with a known reason, and the reliability of
all this.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from gradlife.errors import EXIT_CLEAN, EXIT_COULD_NOT_TELL, EXIT_FOUND
from gradlife.model.heap import TypeCount
from gradlife.model.ranks import NO_VERDICT, FindingRanks, RankRow, Skew, SnapshotCost, WorkerRow
from gradlife.model.trace import Lifetime, Trace

#: The setting of a report whose program was running before: the command that attached to it.
ATTACHED = "attached"

#: What a step is where none was heard: growth per step is growth per second.
SECOND = "second"

#: The code of a finding that no pattern names.
UNKNOWN_CODE = "GL000"


class HuntVerdict(StrEnum):
    """The result of a hunt."""

    LEAK = "leak"
    NEEDS_GC = "needs-gc"  # only collectable cycles with tensors in them wait for the collector
    CLEAN = "clean"
    INCONCLUSIVE = "inconclusive"  # too few steps, a planted control was misjudged, or growth whose cause was not found


class FindingKind(StrEnum):
    """The kind of a finding."""

    GROWTH = "growth"  # held, and more in every round
    NEVER = "never"  # no root reaches it, and the collector cannot free it
    NATIVE = "native"  # a reference that native code holds, or one that nothing explains; growing
    RETAINED = "retained"  # a finished step's graph, activations or frames are still held, though nothing grows
    NEEDS_GC = "needs-gc"  # a cycle with tensors in it that waits for the collector


class Severity(StrEnum):
    """The severity of a finding, worst first."""

    CRITICAL = "critical"  # would end the job: memory runs out
    MAJOR = "major"
    MINOR = "minor"  # plain Python below 4 kB a step, or tensors without storage of their own
    NOTE = "note"  # retained and not growing, and a small part of the peak

    def is_at_least(self, other: Severity) -> bool:
        """Is this as bad as the other, or worse?"""
        order = list(Severity)
        return order.index(self) <= order.index(other)


@dataclass(frozen=True, slots=True)
class PerStep:
    """The additions of one step, as a median over the rounds; storages shared by several tensors count once."""

    objects: float = 0.0
    tensors: float = 0.0  # Python tensor objects
    storages: float = 0.0
    graph_nodes: float = 0.0
    bytes: float = 0.0  # of storages
    retained_bytes: float = 0.0  # that would be freed if what the step left behind were let go; 0: not known


@dataclass(frozen=True, slots=True)
class Arrivals:
    """The rate of items that arrive less often than once per step, with the bytes of each."""

    times: int
    steps: int  # in which it came so often
    bytes_each: int  # that would be freed with what came at one time


@dataclass(frozen=True, slots=True)
class Advice:
    """Advice on a leak."""

    text: str  # plain words, naming the user's variable and line
    code: str = ""  # the fix, as lines of Python
    links: tuple[str, ...] = ()  # "pytorch/pytorch#25340", or a URL


@dataclass(frozen=True, slots=True)
class Proof:
    """The rate before and after the suspect reference was cut."""

    cut: str  # "item of list .history dropped after each step"
    before: PerStep
    after: PerStep
    is_sufficient: bool
    note: str = ""  # "still held by …"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The name of a leak, why it is one, and its fix: what a pattern makes of a trace."""

    code: str  # "GL401"; UNKNOWN_CODE where no pattern fits
    title: str
    reason: str  # plain words, naming the user's variable and line
    advice: Advice
    library: str = ""  # whose bug it is where that is not the program's: "torch < 2.12, pytorch/pytorch#183211"


class Confidence(StrEnum):
    """The confidence in the line that stores the survivor."""

    SURE = "sure"  # the only statement of the program that fits
    UNSURE = "unsure"  # others fit as well


@dataclass(frozen=True, slots=True)
class StoredAt:
    """The statement that puts the survivor where it stays."""

    file: str
    line: int
    source: str  # of the statement, without its indentation
    function: str = ""  # its qualified name; empty at the top of a module
    confidence: Confidence = Confidence.SURE
    library_line: str = ""  # "torch/optim/adam.py:160", where a library stores what the program's line gave it


@dataclass(frozen=True, slots=True)
class Patch:
    """A change of the source that ends a leak and leaves what the program computes."""

    diff: str  # unified, as `git apply` takes it
    removed: tuple[str, ...]  # lines, without the sign
    added: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """One leak: a group of survivors with the same fingerprint, and the trace of one of them."""

    kind: FindingKind
    lifetime: Lifetime
    diagnosis: Diagnosis
    trace: Trace  # of the representative
    per_step: PerStep
    survivors: int = 1  # in the group
    retained_bytes: int = 0  # what would be freed with the group's holder
    fingerprint: str = ""  # hexadecimal; of the suspect stretch, without indices, addresses and sizes
    created_at: tuple[str, ...] = ()  # "train.py:41 in step", the innermost line of the program first
    proof: Proof | None = None
    also_held_by: tuple[str, ...] = ()  # other containers that keep as much, each by itself: all of them are to be cut
    retained_types: tuple[TypeCount, ...] = ()  # what the retained bytes are of, most first; empty where nobody looked
    severity: Severity = Severity.MAJOR
    steps_to_limit: int | None = None  # steps until memory runs out at this rate, where that is within reach
    stored_at: StoredAt | None = None  # None where no source of the program stores it
    patch: Patch | None = None  # None where no safe change is known
    on_ranks: FindingRanks | None = None  # of a run with several processes: those that have it
    in_workers: FindingRanks | None = None  # of a leak in worker processes: those that have it
    grows_at: int | None = None  # the step of the trace whose container has more items after every round
    arrivals: Arrivals | None = None  # of what grows on a slower clock than the steps
    consequences: int = 0  # other places that grow because of this one, counted here

    @property
    def code(self) -> str:
        """GLnnn."""
        return self.diagnosis.code

    @property
    def title(self) -> str:
        """The leak in a line."""
        return self.diagnosis.title


@dataclass(frozen=True, slots=True)
class Explained:
    """Growth that is meant: a bounded cache that fills, optimizer state made at the first step, a pool."""

    kind: str  # "bounded cache", "optimizer state", "warm-up"
    what: str  # "lru_cache(maxsize=8) of encode (train.py:12)"
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Control:
    """A leak, or a clean twin, that the hunt planted itself and had to judge."""

    name: str
    expected: str  # "growth", "never", "clean"
    observed: str

    @property
    def is_right(self) -> bool:
        """Return whether it was judged as it had to be."""
        return self.expected == self.observed


@dataclass(frozen=True, slots=True)
class Round:
    """The additions of one round of steps, measured at step boundaries: totals of the round, not per step."""

    steps: int
    added: PerStep
    malloc_per_step: float | None = None  # bytes that malloc gave out more, but for the first step; None: unknown


#: What a step adds whole numbers of, and the last rounds that tell that it adds about the same number each time.
COUNTED = ("tensors", "storages", "graph_nodes")
LEAST_ROUNDS = 3
LEAST_COUNT = 0.5

#: Bytes a step that are no accident, and the share by which rounds may differ in them. A batch is larger than the last by
#: chance in three rounds; in four about as much is no accident.
LEAST_BYTES = 1024
EVEN_SHARE = 0.25
BYTES_SHARE = 0.02

#: Bytes of malloc that no tensor of Python's hides in, which are a leak by themselves.
LEAST_MALLOC_BYTES = 8_000

#: How a report names the bytes of malloc among what is not explained.
MALLOC = "malloc_bytes"


def grows_evenly(rates: Sequence[float], least: float, share: float) -> bool:
    """Is it about the same in every round, and much?"""
    return min(rates) >= least and max(rates) - min(rates) <= share * max(rates)


def malloc_rates(rounds: Sequence[Round], count: int = LEAST_ROUNDS) -> Sequence[float]:
    """Bytes that malloc gave out more for each step of the last rounds; nothing of those where it does not tell."""
    last = [one.malloc_per_step for one in rounds[-count:]]
    known = [rate for rate in last if rate is not None]
    return known if len(known) == count else [0.0]


def steady_rates(rounds: Sequence[Round]) -> dict[str, float]:
    """What about the same amount was added of for each step of the last rounds, with the least of these amounts."""
    found: dict[str, float] = {}
    for name in COUNTED:
        rates = [getattr(one.added, name) / one.steps for one in rounds[-LEAST_ROUNDS:]]
        if grows_evenly(rates, LEAST_COUNT, EVEN_SHARE):
            found[name] = min(rates)
    is_long = len(rounds) > LEAST_ROUNDS
    rates = [one.added.bytes / one.steps for one in rounds[-LEAST_ROUNDS - 1 :]]
    if grows_evenly(rates, LEAST_BYTES, EVEN_SHARE if is_long else BYTES_SHARE):
        found["bytes"] = min(rates)
    given = malloc_rates(rounds, LEAST_ROUNDS + 1)
    if not found and grows_evenly(given, LEAST_BYTES, EVEN_SHARE) and min(given) < LEAST_MALLOC_BYTES:
        found[MALLOC] = min(given)
    return found


@dataclass(frozen=True, slots=True)
class HuntReport:
    """A whole hunt."""

    target: str  # as it was given
    stepped_by: str  # what was taken for a step: "AdamW.step (train.py:31)"
    warmup_steps: int
    rounds: tuple[Round, ...]
    findings: tuple[Finding, ...]
    explained: tuple[Explained, ...] = ()
    controls: tuple[Control, ...] = ()
    limits: tuple[str, ...] = ()  # what the evidence cannot support, worst first
    script_status: int | None = None  # how the script itself ended; None where it was no script or still runs
    trouble: str = ""  # why the hunt could not tell, or was cut short: "killed by signal 9 at 7.9 of 8.0 GiB"
    settings: dict[str, str] = field(default_factory=dict)
    fail_on: Severity = Severity.MAJOR  # a leak of this severity or above makes the exit status 1
    world_size: int = 1  # ranks that the run should have
    ranks: tuple[RankRow, ...] = ()  # of a run with several processes; then all else is merged from theirs
    skew: tuple[Skew, ...] = ()  # ranks that grow faster or peak higher than the others
    look_cost: SnapshotCost | None = None  # None where no rank said when it looked
    workers: tuple[WorkerRow, ...] = ()  # worker processes that were hunted in; their findings are among the others

    @property
    def verdict(self) -> HuntVerdict:
        """A leak that was found stays one; a wrong control, too few steps or growth unexplained take back only `clean`.

        Notes alone are no leak. Of several ranks, one that left no report takes back `clean`, too.
        """
        if self.ranks:
            found = {row.verdict for row in self.ranks}
            order = (HuntVerdict.LEAK, HuntVerdict.INCONCLUSIVE, HuntVerdict.NEEDS_GC, HuntVerdict.CLEAN)
            worst = next((one for one in order if one.value in found), HuntVerdict.INCONCLUSIVE)
            is_whole = NO_VERDICT not in found or worst is HuntVerdict.LEAK
            return worst if is_whole else HuntVerdict.INCONCLUSIVE
        kinds = {finding.kind for finding in self.findings if finding.severity is not Severity.NOTE}
        is_sound = all(control.is_right for control in self.controls)
        if kinds - {FindingKind.NEEDS_GC} and is_sound:
            return HuntVerdict.LEAK
        if not is_sound or not (self.rounds or self.works_in_workers):
            return HuntVerdict.INCONCLUSIVE
        if not kinds and self.unexplained:
            return HuntVerdict.INCONCLUSIVE
        if any(row.verdict == HuntVerdict.INCONCLUSIVE.value for row in self.workers) and not kinds:
            return HuntVerdict.INCONCLUSIVE
        return HuntVerdict.NEEDS_GC if kinds else HuntVerdict.CLEAN

    @property
    def step(self) -> str:
        """The word for a step: growth is told per second where seconds were counted, per batch where only workers leak."""
        found = {one.in_workers.step if one.in_workers is not None else "" for one in self.findings}
        if len(found) == 1 and "" not in found:
            return found.pop()
        return SECOND if self.stepped_by == SECOND else "step"

    @property
    def works_in_workers(self) -> bool:
        """Did the program take no step itself, and leave the work to workers that were judged?"""
        is_idle = not self.stepped_by or self.settings.get("steps") == "sampled"
        return is_idle and not self.rounds and any(row.verdict != NO_VERDICT for row in self.workers)

    @property
    def unexplained(self) -> dict[str, float]:
        """The measures that the last rounds increased by about the same amount per step although nothing explains it, with
        these amounts. That is no accident: the program grows, and is not clean.
        """
        rounds = [one for one in self.rounds if one.steps]
        if self.findings or self.explained or self.ranks or len(rounds) < LEAST_ROUNDS:
            return {}
        return steady_rates(rounds)

    @property
    def unheld_rate(self) -> float:
        """Bytes that malloc gave out more for each step of every one of the last rounds, where nothing tells what has them."""
        rounds = [one for one in self.rounds if one.steps]
        if self.findings or self.explained or self.ranks or len(rounds) < LEAST_ROUNDS or self.unexplained:
            return 0.0
        rates = malloc_rates(rounds)
        return min(rates) if grows_evenly(rates, LEAST_MALLOC_BYTES, EVEN_SHARE) else 0.0

    def is_failure(self, finding: Finding, is_strict: bool = False) -> bool:
        """Does this finding make the exit status 1? What waits for the collector does where it `is_strict`."""
        if finding.kind is FindingKind.NEEDS_GC:
            return is_strict
        return finding.severity.is_at_least(self.fail_on)

    @property
    def exit_status(self) -> int:
        """0 clean, 1 a leak was found, 3 could not tell; that of a script that failed is the caller's to keep."""
        if self.verdict is HuntVerdict.INCONCLUSIVE:
            return EXIT_COULD_NOT_TELL
        return EXIT_FOUND if any(map(self.is_failure, self.findings)) else EXIT_CLEAN

    def _repr_html_(self) -> str:
        """The report as a notebook shows it: the verdict, the charts, the first findings."""
        from gradlife import _html_of

        return _html_of(self)
