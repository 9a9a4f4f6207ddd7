"""The report of a hunt: verdict, leaks with their traces, growth with a known reason, and the reliability of the
result.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from gradlife.errors import EXIT_CLEAN, EXIT_COULD_NOT_TELL, EXIT_FOUND
from gradlife.model.heap import Owner, TypeCount, device_of
from gradlife.model.memory_balance import MemoryBalance, ResidentPart
from gradlife.model.ranks import NO_VERDICT, FindingRanks, RankRow, SharedLedger, Skew, SnapshotCost, WorkerRow
from gradlife.model.source_text import Lines
from gradlife.model.trace import Lifetime, Trace
from gradlife.model.unread_layout import UnreadLayout

#: The setting that holds how many arguments the program was given.
ARGUMENTS = "arguments"

#: The setting of a hunt that fails also if cycles wait for the collector.
STRICT = "fail_on_needs_gc"

#: The setting that holds the command which attached to a running process.
ATTACHED = "attached"

#: Rows of the table of expectations: a container that fills up to a declared bound, and what a metric keeps.
BOUNDED, METRIC_STATE = "bounded container", "state of a metric"

#: The setting that holds the function of gradlife that a program called: `hunt` or `watch`.
CALLED = "called"

#: The setting that holds the milliseconds that a look stopped a running process at most.
LONGEST_STOP = "longest_stop_ms"

#: In the trouble of a hunt whose program left no report.
LEFT_NONE = "left no report"

#: The beginnings of a proof's note if there is no rate after it.
NO_RATE, NOT_TRIED = "the second run has no rate", "the change could not be tried"

#: The step of a hunt that saw no steps: growth is reported per second.
SECOND = "second"

#: The code of a finding that no pattern matches.
UNKNOWN_CODE = "GL000"


class HuntVerdict(StrEnum):
    """The result of a hunt."""

    LEAK = "leak"
    NEEDS_GC = "needs-gc"  # cycles with tensors wait for the collector, which can free them
    CLEAN = "clean"
    INCONCLUSIVE = "inconclusive"  # too few steps, a planted control was misjudged, or growth whose cause was not found


class FindingKind(StrEnum):
    """The kind of finding."""

    GROWTH = "growth"  # still reachable, and more in every round
    NEVER = "never"  # unreachable, and the collector cannot free it
    NATIVE = "native"  # held by native code or by an unaccounted reference; growing
    RETAINED = "retained"  # a finished step's graph, activations or frames are still held, though nothing grows
    NEEDS_GC = "needs-gc"  # a cycle with tensors in it that waits for the collector


class Severity(StrEnum):
    """The severity of a finding, worst first."""

    CRITICAL = "critical"  # the job will run out of memory
    MAJOR = "major"
    MINOR = "minor"  # plain Python below 4 kB per step, or tensors without their own storage
    NOTE = "note"  # retained and not growing, and a small part of the peak; or the state of a metric

    def is_at_least(self, other: Severity) -> bool:
        """Whether this is as bad as the other, or worse."""
        order = list(Severity)
        return order.index(self) <= order.index(other)


#: Graph nodes per tensor up to which growth counts as growth without graphs.
FEW_NODES = 0.2


@dataclass(frozen=True, slots=True)
class Amounts:
    """Objects and bytes: of a finding those added per step, the median over the rounds; of a round those added in all.

    Storages shared by tensors count once.
    """

    objects: float = 0.0
    tensors: float = 0.0  # Python tensor objects
    storages: float = 0.0
    graph_nodes: float = 0.0
    bytes: float = 0.0  # of storages
    retained_bytes: float = 0.0  # freed if the objects left by the step were released; 0: unknown

    @property
    def keeps_graphs(self) -> bool:
        """Whether grad nodes are a real part of it. Variables that get their first graph after the warm-up add a few."""
        return self.graph_nodes > FEW_NODES * self.tensors


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Items that arrive less often than once per step, and the bytes of each."""

    times: int
    steps: int  # steps in which they arrived; 0: after the last step
    bytes_each: int  # retained bytes per arrival

    @property
    def is_after_steps(self) -> bool:
        """Whether they came after the last step: no rate is known."""
        return self.steps == 0


@dataclass(frozen=True, slots=True)
class Advice:
    """How to fix a leak."""

    text: str  # plain words with the user's variable and line
    code: Lines = ""  # the fix as Python lines
    links: tuple[str, ...] = ()  # "pytorch/pytorch#25340", or a URL
    is_example: bool = False  # the code has names that are not the program's


@dataclass(frozen=True, slots=True)
class Proof:
    """The rate before and after the suspect reference was cut."""

    cut: str  # "item of list .history dropped after each step"
    before: Amounts
    after: Amounts
    is_sufficient: bool
    note: str = ""  # "still held by …"

    @property
    def has_rate(self) -> bool:
        """Whether the rate after it was measured; if not, the note says why."""
        return not self.note.startswith((NO_RATE, NOT_TRIED))


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The name of a leak, its reason and its fix, as given by a pattern."""

    code: str  # "GL401"; UNKNOWN_CODE where no pattern fits
    title: str
    reason: str  # plain words with the user's variable and line
    advice: Advice
    library: str = ""  # the library at fault, if not the program: "torch < 2.12, pytorch/pytorch#183211"


class Confidence(StrEnum):
    """The confidence in the statement that stores the survivor."""

    SURE = "sure"  # the only matching statement of the program
    UNSURE = "unsure"  # other statements match too


@dataclass(frozen=True, slots=True)
class StoredAt:
    """The statement that stores the survivor."""

    file: str
    line: int
    source: str  # the statement without indentation
    function: str = ""  # qualified name of its function; empty at module level
    confidence: Confidence = Confidence.SURE
    library_line: str = ""  # "torch/optim/adam.py:160", where a library stores the value that the program's line passed


@dataclass(frozen=True, slots=True)
class Patch:
    """A source change that ends a leak and does not change what the program computes."""

    diff: Lines  # unified diff, as `git apply` accepts
    removed: tuple[Lines, ...]  # lines without the sign
    added: tuple[Lines, ...]
    remains: str = ""  # what is kept after the change: "this keeps the numbers and frees the graphs"

    @property
    def file(self) -> str:
        """The file that it changes, relative to the folder where the diff is applied."""
        return self.diff.partition("--- a/")[2].partition("\n")[0]


@dataclass(frozen=True, slots=True)
class CollectorWait:
    """How long garbage waits for the collector at the program's own thresholds, and how much of it there is by then."""

    threshold: int  # of the youngest generation: objects more than at its last collection
    objects: float  # per step
    bytes: int

    @property
    def steps(self) -> int:
        """Return the steps between two collections."""
        return round(self.threshold / self.objects)


@dataclass(frozen=True, slots=True)
class Finding:
    """Survivors with the same fingerprint that leak, are retained or wait for the collector, and the trace of one of them."""

    kind: FindingKind
    lifetime: Lifetime
    diagnosis: Diagnosis
    trace: Trace  # of one survivor
    per_step: Amounts
    survivors: int = 1  # in the group
    retained_bytes: int = 0  # retained by the group's holder
    fingerprint: str = (
        ""  # hexadecimal; of the code, the root, the names on the suspect stretch, the function that stores
    )
    created_at: tuple[str, ...] = ()  # "train.py:41 in step", the innermost line of the program first
    proof: Proof | None = None
    also_held_by: tuple[str, ...] = ()  # other containers that keep as much: each must be cut too
    retained_types: tuple[TypeCount, ...] = ()  # types of the retained bytes, largest first; empty if not measured
    severity: Severity = Severity.MAJOR
    steps_to_limit: int | None = None  # steps until memory runs out at this rate, if that is near
    fills: str = ""  # the device whose memory runs out then; empty: the host's
    stored_at: StoredAt | None = None  # None if no source line of the program stores it
    patch: Patch | None = None  # None if no safe change is known
    on_ranks: FindingRanks | None = None  # in a run of several processes: the ranks with this finding
    in_workers: FindingRanks | None = None  # the workers that leak, if it is a leak in worker processes
    grows_at: int | None = None  # index of the trace step whose container grows after every round
    arrivals: Arrivals | None = None  # for growth that is slower than once per step
    consequences: int = 0  # other places that grow because of this one; counted here
    also_grows: tuple[
        Trace, ...
    ] = ()  # those of them that the same line fills: `rows[key].append(row)`; each must be cut too
    emptied_at: str = ""  # "train.py:18": a statement that may empty later what grows; empty if there is none
    is_running: bool = False  # about running threads, each of which has a stack
    waits: CollectorWait | None = None  # of garbage; None if it was not measured, or nothing runs the collector
    expectation: str = ""  # the row of the table of expectations because of which it is a note; empty if there is none
    legacy_fingerprint: str = ""  # as earlier versions made it; other leaks may share it

    @property
    def code(self) -> str:
        """The code, such as GL401."""
        return self.diagnosis.code

    @property
    def is_collectable(self) -> bool:
        """Whether the collector frees it, or would if the program had not disabled it."""
        is_uncollected = self.kind is FindingKind.NEVER and self.lifetime is Lifetime.GC
        return self.kind is FindingKind.NEEDS_GC or is_uncollected

    @property
    def is_after_steps(self) -> bool:
        """Whether it came after the last step."""
        return self.arrivals is not None and self.arrivals.is_after_steps

    @property
    def title(self) -> str:
        """The leak in one line."""
        return self.diagnosis.title

    def __repr__(self) -> str:
        """The same as `str` gives, in angle brackets."""
        return f"<Finding {self}>"

    def __str__(self) -> str:
        """The code, the title, and the statement that stores the survivor, in one line."""
        stored = self.stored_at
        place = f": {stored.file}:{stored.line}: {stored.source}" if stored is not None else ""
        return f"{self.code} {self.title}{place}"

    @property
    def rates(self) -> dict[str, float]:
        """Bytes per step on each device; "" is the host. Storages of what is retained show the shares."""
        rate = max(self.per_step.bytes, self.per_step.retained_bytes)
        whole = max(1, self.retained_bytes, sum(self.device_bytes.values()))
        shares = {device: nbytes / whole for device, nbytes in self.device_bytes.items()}
        return {"": rate * (1 - sum(shares.values())), **{device: rate * share for device, share in shares.items()}}

    @property
    def device_bytes(self) -> dict[str, int]:
        """Retained bytes of storages on devices other than the CPU, by device."""
        found: dict[str, int] = {}
        for row in self.retained_types:
            if row.kind == "storage" and (device := device_of(row.type)) != "cpu":
                found[device] = found.get(device, 0) + row.bytes
        return found


class ChangeKind(StrEnum):
    """What became of a finding since an earlier hunt."""

    NEW = "new"
    LARGER = "larger"
    SAME = "as before"
    SMALLER = "smaller"
    GONE = "gone"


#: The changes that make a regression.
WORSE = frozenset({ChangeKind.NEW, ChangeKind.LARGER})


@dataclass(frozen=True, slots=True)
class FindingChange:
    """A finding of an earlier hunt, of this one, or of both."""

    kind: ChangeKind
    code: str
    title: str
    fingerprint: str
    stored_at: str  # "train.py:41"; empty if no line of the program stores it
    before: Amounts  # per step
    after: Amounts
    is_failure: bool = False  # whether it makes the exit status 1: it is worse, and as severe as that takes

    def is_about(self, finding: Finding) -> bool:
        """Whether this is what became of a finding of this hunt."""
        return (self.fingerprint, self.code, self.after) == (finding.fingerprint, finding.code, finding.per_step)


@dataclass(frozen=True, slots=True)
class HuntComparison:
    """A hunt compared with an earlier one."""

    file: str  # the earlier report, as it was named
    changes: tuple[FindingChange, ...] = ()  # the worst first
    trouble: str = ""  # why they cannot be compared

    @property
    def exit_status(self) -> int:
        """1 if something is new or grows faster, 3 if they cannot be compared, else 0."""
        if self.trouble:
            return EXIT_COULD_NOT_TELL
        return EXIT_FOUND if any(one.is_failure for one in self.changes) else EXIT_CLEAN

    def is_failure(self, finding: Finding) -> bool:
        """Whether this finding is a regression."""
        return any(one.is_failure and one.is_about(finding) for one in self.changes)


#: The kinds of `Explained` that are no growth, but what a program held when it failed or memory ran out.
DEVICE_MEMORY, DEVICE_OWNER, UNUSED, ADVICE = (
    "device memory",
    "owner of device memory",
    "held longer than used",
    "advice",
)
LIVE_OWNER, HELD = "owner of live memory", "held by the failed step"
AT_FAILURE = frozenset({DEVICE_MEMORY, DEVICE_OWNER, UNUSED, ADVICE, LIVE_OWNER, HELD})


@dataclass(frozen=True, slots=True)
class Explained:
    """Intended growth: a bounded cache that fills, optimizer state made at the first step, a pool.

    Or, with a kind of `AT_FAILURE`, what a program held when it failed.
    """

    kind: str  # a row of the table of expectations: "bounded container", "optimizer state"
    what: str  # "lru_cache(maxsize=8) of encode (train.py:12)"
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class SmallGrowth:
    """A container that got longer in every round by less than counts as a leak, and that nothing explains."""

    what: str  # "losses", as the program writes it
    type: str
    items: float  # per step
    bytes: float  # per step


@dataclass(frozen=True, slots=True)
class Control:
    """A leak, or its clean twin, that the hunt planted to check itself."""

    name: str
    expected: str  # "growth", "never", "clean", "whole"
    observed: str

    @property
    def is_right(self) -> bool:
        """Whether it was judged correctly."""
        return self.expected == self.observed


@dataclass(frozen=True, slots=True)
class Round:
    """Objects and bytes added in one round of steps, measured at step boundaries: totals, not per step."""

    steps: int
    added: Amounts
    malloc_per_step: float | None = None  # growth of malloc's bytes in use, without the first step; None: unknown
    is_collected: bool = False  # whether a full collection ended it, so that malloc's bytes hold no garbage
    new_workers: int = 0  # threads that did new work in it: each may take memory for that, once
    threads: int = 0  # threads that the program had when its rounds began
    memory: MemoryBalance | None = None  # None if the system or an allocator does not tell


#: Countable additions, the last rounds that must agree, and the least number per step that is growth.
COUNTED = ("tensors", "storages", "graph_nodes")
MIN_ROUNDS = 3
MIN_COUNT = 0.5

#: Steps of the rounds that make a verdict sure, and how many fewer do as well.
SURE_STEPS = 23
FEWER_STEPS = 3

#: The least bytes per step that are growth, and how far rounds may differ. Batches may increase in size by chance over
#: three rounds; over four rounds, equal growth is no coincidence.
MIN_BYTES = 1024
EVEN_SHARE = 0.25
BYTES_SHARE = 0.02

#: Bytes of malloc per step that are a leak by themselves; a Python tensor would have shown.
MIN_MALLOC_BYTES = 8_000

#: How many times as many threads may do new work per step of one round as of another, if memory grows evenly because of it.
NEW_WORK_SPREAD = 3

#: The name of malloc's bytes among unexplained growth.
MALLOC = "malloc_bytes"

#: The least bytes per step of a part of resident memory that are said, four pages, and that are growth by themselves.
MIN_RESIDENT_BYTES = 16_384
MIN_MAPPED_BYTES = 65_536

#: The name of resident memory that nothing accounts for among unexplained growth.
MAPPED = "mapped_bytes"

#: How many times as much as intended growth malloc's bytes must be to need another explanation: the C++ memory behind
#: an object is not always counted as its own.
MORE_THAN_EXPLAINED = 2

#: The code of what is made longer, and how many times its size the native buffers may be that libraries keep to compute with
#: it: MKL kept 4 times a growing operand on 2 threads (measured).
LONGER_CODE, BUFFERS = "GL704", 32


def grows_evenly(rates: Sequence[float], least: float, share: float) -> bool:
    """Whether the rates are about equal in every round and at least `least`."""
    return min(rates) >= least and max(rates) - min(rates) <= share * max(rates)


def malloc_rates(rounds: Sequence[Round], count: int = MIN_ROUNDS) -> Sequence[float]:
    """Return malloc's growth per step in the last rounds; [0.0] if a round does not know it."""
    last = [one.malloc_per_step for one in rounds[-count:]]
    known = [rate for rate in last if rate is not None]
    return known if len(known) == count else [0.0]


def has_new_work(rounds: Sequence[Round]) -> bool:
    """Whether about as many threads per step did new work in each of the last rounds."""
    rates = [one.new_workers / one.steps for one in rounds if one.steps][-MIN_ROUNDS:]
    return bool(rates) and min(rates) > 0 and max(rates) <= NEW_WORK_SPREAD * min(rates)


def steady_rates(rounds: Sequence[Round]) -> dict[str, float]:
    """Return the measures that grew by about the same amount per step in the last rounds, with the least of these
    amounts.
    """
    found: dict[str, float] = {}
    for name in COUNTED:
        rates = [getattr(one.added, name) / one.steps for one in rounds[-MIN_ROUNDS:]]
        if grows_evenly(rates, MIN_COUNT, EVEN_SHARE):
            found[name] = min(rates)
    is_long = len(rounds) > MIN_ROUNDS
    rates = [one.added.bytes / one.steps for one in rounds[-MIN_ROUNDS - 1 :]]
    if grows_evenly(rates, MIN_BYTES, EVEN_SHARE if is_long else BYTES_SHARE):
        found["bytes"] = min(rates)
    given = malloc_rates(rounds, MIN_ROUNDS + 1)
    if not found and grows_evenly(given, MIN_BYTES, EVEN_SHARE) and min(given) < MIN_MALLOC_BYTES:
        found[MALLOC] = min(given)
    if not found and (mapped := mapped_rate(rounds)):
        found[MAPPED] = mapped
    return found


def resident_growth(rounds: Sequence[Round]) -> dict[ResidentPart, float]:
    """Return the parts of resident memory that grew in each of the last rounds, with their bytes per step."""
    last = [one for one in rounds if one.steps][-MIN_ROUNDS - 1 :]
    known = [(one.steps, one.memory) for one in last if one.memory is not None]
    found = {}
    for part in ResidentPart if len(known) > MIN_ROUNDS else ():
        added = [memory.of(part) for _, memory in known]
        rate = sum(added) / sum(steps for steps, _ in known)
        if min(added) > 0 and rate >= MIN_RESIDENT_BYTES:
            found[part] = rate
    return found


def mapped_rate(rounds: Sequence[Round]) -> float:
    """Return the bytes per step of new mappings that nothing accounts for, if they grew evenly in the last rounds."""
    last = [one for one in rounds if one.steps][-MIN_ROUNDS - 1 :]
    rates = [one.memory.newly_mapped / one.steps for one in last if one.memory is not None]
    is_even = len(rates) > MIN_ROUNDS and grows_evenly(rates, MIN_MAPPED_BYTES, EVEN_SHARE)
    return min(rates) if is_even else 0.0


@dataclass(frozen=True, slots=True)
class HuntReport:
    """The report of a whole hunt."""

    target: str  # as given
    stepped_by: str  # what counts as a step: "AdamW.step (train.py:31)"
    warmup_steps: int
    rounds: tuple[Round, ...]
    findings: tuple[Finding, ...]
    explained: tuple[Explained, ...] = ()
    small_growth: tuple[SmallGrowth, ...] = ()  # largest first
    controls: tuple[Control, ...] = ()
    limits: tuple[str, ...] = ()  # what the evidence cannot support, worst first
    script_status: int | None = None  # exit status of the script; None if there was no script or it still runs
    trouble: str = ""  # why the hunt is inconclusive or was cut short: "killed by signal 9 at 7.9 of 8.0 GiB"
    settings: dict[str, str] = field(default_factory=dict)
    fail_on: Severity = Severity.MAJOR  # a leak of at least this severity makes the exit status 1
    world_size: int = 1  # expected number of ranks
    ranks: tuple[RankRow, ...] = ()  # in a run of several processes; the other fields are then merged from the ranks
    skew: tuple[Skew, ...] = ()  # ranks that grow faster or peak higher than the others
    snapshot_cost: SnapshotCost | None = None  # None if no rank reported when it took snapshots
    workers: tuple[WorkerRow, ...] = ()  # hunted worker processes; their findings are in `findings`
    shared_memory: SharedLedger = field(default_factory=SharedLedger)  # of the program and its children
    unread: UnreadLayout | None = None  # what could not be read of this PyTorch
    mapped_file: str = ""  # the file with the most resident pages, where these grow
    owners: tuple[Owner, ...] = ()  # of one rank: what retains most at its last snapshot, to compare with other ranks
    against: HuntComparison | None = None  # then only what is new or larger makes the exit status 1

    @property
    def verdict(self) -> HuntVerdict:
        """The verdict. A wrong control makes every verdict `inconclusive`; too few steps, unexplained growth, or findings
        that were withheld because a part of PyTorch could not be read, turn `clean` and `needs-gc` into it.

        Findings of severity `note` are no leak. A rank without a report also turns `clean` into `inconclusive`.
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
        if self.unexplained or self.new_work_rate or self.rests_on_unread:
            return HuntVerdict.INCONCLUSIVE
        if any(row.verdict == HuntVerdict.INCONCLUSIVE.value for row in self.workers) and not kinds:
            return HuntVerdict.INCONCLUSIVE
        return HuntVerdict.NEEDS_GC if kinds else HuntVerdict.CLEAN

    @property
    def rests_on_unread(self) -> bool:
        """Whether there is no verdict because a part of PyTorch could not be read."""
        is_sound = all(control.is_right for control in self.controls)
        return self.unread is not None and (not is_sound or bool(self.unread.withheld))

    @property
    def typed_target(self) -> str:
        """The target for a command to type. Dots stand for its arguments: they may be secret, and are not in the report."""
        target = self.target if self.target.startswith("-m ") else shlex.quote(self.target)
        has_more = ARGUMENTS in self.settings or self.target.isidentifier()  # a command, such as torchrun, or a program
        return f"{target} ..." if has_more else target

    @property
    def more_steps(self) -> int:
        """Steps that are missing to a sure verdict; 0 where it is sure. With fewer, what grows may be a cache that fills."""
        steps = [one.steps for one in self.rounds if one.steps]
        is_sure = len(steps) >= MIN_ROUNDS and sum(steps) >= SURE_STEPS - FEWER_STEPS
        return 0 if is_sure or not steps else max(1, SURE_STEPS - sum(steps))

    @property
    def step(self) -> str:
        """The unit of growth: second if no steps were seen, batch if only workers leak, else step."""
        leaks = [one for one in self.findings if one.severity is not Severity.NOTE]
        found = {one.in_workers.step if one.in_workers is not None else "" for one in leaks}
        if len(found) == 1 and "" not in found:
            return found.pop()
        return SECOND if self.stepped_by == SECOND else "step"

    @property
    def works_in_workers(self) -> bool:
        """Whether the program took no steps itself and judged workers did the work."""
        is_idle = not self.stepped_by or self.settings.get("steps") == "sampled"
        return is_idle and not self.rounds and any(row.verdict != NO_VERDICT for row in self.workers)

    @property
    def meant(self) -> tuple[Explained, ...]:
        """Return the growth that is intended."""
        return tuple(one for one in self.explained if one.kind not in AT_FAILURE)

    @property
    def at_failure(self) -> tuple[Explained, ...]:
        """Return what the program held when it failed or memory ran out."""
        return tuple(one for one in self.explained if one.kind in AT_FAILURE)

    @property
    def leaks(self) -> tuple[Finding, ...]:
        """Return the findings that grow with the steps and that the collector does not free; also the states of metrics."""
        others = {FindingKind.RETAINED, FindingKind.NEEDS_GC}
        return tuple(one for one in self.findings if one.kind not in others and not one.is_after_steps)

    @property
    def unexplained(self) -> dict[str, float]:
        """The measures that grew steadily in the last rounds without an explanation, with their amounts per step.

        Steady growth is no coincidence: the program grows, and is not clean. A leak of at least severity `major` explains
        everything but memory from malloc.
        """
        rounds = [one for one in self.rounds if one.steps]
        if self.ranks or len(rounds) < MIN_ROUNDS:
            return {}
        if not self.leaks and not self.may_be_meant:
            return steady_rates(rounds)
        found = self._counted_excess(rounds)
        is_unknown = self.may_be_meant and not has_new_work(rounds)
        excess = self._malloc_excess(rounds) if is_unknown else 0.0
        return {**found, MALLOC: excess} if excess else found

    @property
    def resident_growth(self) -> dict[ResidentPart, float]:
        """The parts of resident memory that grow beside all objects, with their bytes per step."""
        return {} if self.ranks else resident_growth(self.rounds)

    @property
    def may_be_meant(self) -> bool:
        """Whether intended growth, or garbage, may be a part of what grows."""
        return bool(self.meant) or any(one.kind is FindingKind.NEEDS_GC for one in self.findings)

    def _may_be_garbage(self, rounds: Sequence[Round]) -> bool:
        """Whether garbage may be a part of what grows. A full collection at the end of one of the last rounds would free the
        garbage of all of them: if that round grows as much as the others, what grows is no garbage.
        """
        is_any = any(one.kind is FindingKind.NEEDS_GC for one in self.findings)
        return is_any and not any(one.is_collected for one in rounds[-MIN_ROUNDS:])

    def _counted_excess(self, rounds: Sequence[Round]) -> dict[str, float]:
        """Growth of what is counted, beyond minor leaks and the states of metrics. Their objects are known exactly."""
        is_major = any(one.severity.is_at_least(Severity.MAJOR) for one in self.leaks)
        if self.meant or is_major or self._may_be_garbage(rounds):
            return {}
        known = {name: sum(getattr(one.per_step, name) for one in self.leaks) for name in (*COUNTED, "bytes")}
        rates = {name: rate for name, rate in steady_rates(rounds).items() if name in known}
        return {name: rate - known[name] for name, rate in rates.items() if rate > MORE_THAN_EXPLAINED * known[name]}

    def _malloc_excess(self, rounds: Sequence[Round]) -> float:
        """Growth of malloc's bytes per step that findings and intended growth do not explain; 0 if there may be none.

        Intended growth has its bytes from the program's beginning on, so their share of one step is rather too large. The
        C++ memory of graphs and of native code is not known exactly.
        """
        rates = malloc_rates(rounds)
        is_known = all(one.bytes for one in self.meant) and not any(
            one.per_step.keeps_graphs or one.kind is FindingKind.NATIVE for one in self.leaks
        )
        if not is_known or self._may_be_garbage(rounds) or not grows_evenly(rates, MIN_MALLOC_BYTES, EVEN_SHARE):
            return 0.0
        explained = sum(one.bytes for one in self.meant) / sum(one.steps for one in rounds)
        explained += sum(max(one.per_step.bytes, one.per_step.retained_bytes) for one in self.leaks)
        explained += BUFFERS * sum(one.per_step.bytes for one in self.leaks if one.code == LONGER_CODE)
        excess = min(rates) - explained
        return excess if min(rates) > MORE_THAN_EXPLAINED * explained and excess >= MIN_MALLOC_BYTES else 0.0

    @property
    def unheld_rate(self) -> float:
        """Growth of malloc's bytes per step in every one of the last rounds, if its holder is unknown."""
        return 0.0 if has_new_work(self.rounds) else self._malloc_rate

    @property
    def new_work_rate(self) -> float:
        """The same, if threads did new work in those rounds: it may end when all have."""
        return self._malloc_rate if has_new_work(self.rounds) else 0.0

    @property
    def _malloc_rate(self) -> float:
        rounds = [one for one in self.rounds if one.steps]
        if self.may_be_meant or self.ranks or len(rounds) < MIN_ROUNDS or self.unexplained:
            return 0.0
        return self._malloc_excess(rounds)

    @property
    def is_strict(self) -> bool:
        """Whether cycles that wait for the collector make the exit status 1."""
        return STRICT in self.settings

    def is_failure(self, finding: Finding, is_strict: bool = False) -> bool:
        """Whether this finding makes the exit status 1. Garbage that waits for the collector counts only if that is asked
        for: `is_strict`, or the report's own setting. In a comparison only what is new or larger counts.
        """
        if self.against is not None:
            return self.against.is_failure(finding)
        if finding.kind is FindingKind.NEEDS_GC:
            return is_strict or self.is_strict
        return finding.severity.is_at_least(self.fail_on)

    @property
    def tolerated(self) -> Severity | None:
        """The worst severity, if leaks were found but none of them makes the exit status 1; else None."""
        if self.verdict is not HuntVerdict.LEAK or self.ranks or any(map(self.is_failure, self.findings)):
            return None
        return min((one.severity for one in self.findings), key=list(Severity).index, default=None)

    @property
    def exit_status(self) -> int:
        """0 if clean, 1 if a leak was found, 3 if inconclusive. The caller keeps the status of a script that failed.

        Growth whose cause was not found is no leak, but beside leaks that are not worth a failure it makes the status 3.
        """
        if self.verdict is HuntVerdict.INCONCLUSIVE:
            return EXIT_COULD_NOT_TELL
        if self.against is not None and self.against.exit_status != EXIT_CLEAN:
            return self.against.exit_status
        is_skewed = bool(self.skew) and self.fail_on is Severity.NOTE
        if is_skewed or any(map(self.is_failure, self.findings)):
            return EXIT_FOUND
        return EXIT_COULD_NOT_TELL if self.unexplained or self.new_work_rate else EXIT_CLEAN

    def __str__(self) -> str:
        """Return the report as `gradlife hunt` prints it: the verdict, and of each finding the line, what to do, and the path."""
        from gradlife import _text_of

        return _text_of(self)

    def __repr__(self) -> str:
        """The verdict, the target and the findings in a line."""
        codes = ", ".join(one.code for one in self.findings) or "no finding"
        return f"<HuntReport of {self.target}: {self.verdict.value}, {codes}>"

    def full(self) -> str:
        """Return the report as `gradlife hunt --full` prints it, with the first findings in full."""
        from gradlife import _text_of

        return _text_of(self, is_full=True)

    def _repr_html_(self) -> str:
        """Return the report as a notebook shows it: the verdict, the charts, the first findings."""
        from gradlife import _html_of

        return _html_of(self)
