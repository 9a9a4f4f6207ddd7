"""The reason why an object is alive, as values: the leak trace, the ledger of references, the lifetime."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Lifetime(StrEnum):
    """The fate of an object from now on, if nothing else happens."""

    HELD = "held"  # a root still reaches it
    GC = "gc"  # no root does, and the cyclic collector will free it
    NEVER = "never"  # no root does, and the collector cannot free it
    UNKNOWN = "unknown"  # the search ended before it could tell


class StepStatus(StrEnum):
    """The verdict on the object of a step, as in LeakCanary: should it be alive?"""

    EXPECTED = "expected"  # it should be alive, and so should all above it
    UNKNOWN = "unknown"
    LEAKING = "leaking"  # it should be gone, and so should all below it


@dataclass(frozen=True, slots=True)
class Hop:
    """One reference in memory. The reference between two steps may consist of several."""

    type: str  # of the object that refers, in full: "collections.OrderedDict"
    relation: (
        str  # attribute, slot, dict_value, dict_key, item, member, local, stack, cell, internal, native, root, unknown
    )
    label: str  # the name or key, if it has one
    index: int = -1  # of an item


@dataclass(frozen=True, slots=True)
class Step:
    """One object on the path, and how it refers to the next.

    `via` is the reference as code or words: ``.losses``, ``[3]``, ``global variable 'cache'``,
    ``saved tensor 'other'``; empty for the last step.
    """

    object: str  # the type, "Tensor"
    detail: str  # "float32 [64, 32]", "train_step (train.py:12)"
    kind: str  # python, tensor, storage, grad_node, native, root
    via: str
    relation: str
    status: StepStatus = StepStatus.UNKNOWN
    reason: str = ""
    is_suspect: bool = False  # the reference to the next step is between an expected object and a leaking one
    type: str = ""  # in full: "torch.nn.modules.linear.Linear"
    bases: tuple[str, ...] = ()  # of a Python type: its method resolution order between itself and object
    hops: tuple[Hop, ...] = ()  # the references that `via` consists of
    length: int | None = None  # of a container
    most: int | None = None  # the limit of its length: a deque's maxlen, an lru_cache's maxsize

    def is_a(self, *types: str) -> bool:
        """Is its type one of these, or derived from one? Full names."""
        return self.type in types or any(base in types for base in self.bases)


@dataclass(frozen=True, slots=True)
class TensorFacts:
    """The facts about the tensor at the end of a trace."""

    grad_fn: str = ""  # the type of its grad node; empty: none
    is_view: bool = False
    storage_bytes: int | None = None  # of the whole storage, where sizes were measured
    is_alias: bool = False  # the storage belongs to something that lives anyway: live weights, a buffer


@dataclass(frozen=True, slots=True)
class Referrer:
    """One known reference to an object."""

    object: str
    detail: str
    via: str
    is_native: bool  # the collector does not see it


class Confidence(StrEnum):
    """The confidence in a holder that the memory scan found."""

    SURE = "sure"  # every step is verified by C++ type information, a library's tables or a known object
    LIKELY = "likely"  # a block on the path is known only by its use
    UNSURE = "unsure"  # the word may be a copy that owns nothing


@dataclass(frozen=True, slots=True)
class NativeHolder:
    """A holder of one reference in C++, found by searching memory for the object's address."""

    description: str  # from the outside in: "SinBackward0 +232 → PyFunctionPostHook +8"; offsets in bytes
    kind: str  # where the path ends: object, static, thread_local, stack; block: at a block that nothing points at
    library: str  # path, of static and thread-local data
    symbol: str  # the variable, where the library's file says it
    sureness: Confidence


@dataclass(frozen=True, slots=True)
class Ledger:
    """An object's reference count, taken apart: `count` = known referrers + `unaccounted`."""

    count: int
    referrers: tuple[Referrer, ...]
    more_referrers: int = 0  # also known, but not in `referrers`
    native: tuple[NativeHolder, ...] = ()  # of the unaccounted, the surest first; at most as many
    is_scanned: bool = False  # whether memory was searched for them
    is_partial: bool = False  # only a part of the heap was looked at: more referrers may be known than were seen
    behind: Ledger | None = None  # if its C++ object holds it: the owners of that object

    @property
    def unaccounted(self) -> int:
        """References that nothing in the graph explains: held by native code, or by a frame's value stack.

        Of a part of the heap it is unknown, and is 0.
        """
        return 0 if self.is_partial else max(0, self.count - len(self.referrers) - self.more_referrers)

    @property
    def unexplained(self) -> int:
        """Unaccounted references for which no word of memory was found that surely or likely holds them."""
        return self.unaccounted - sum(holder.sureness is not Confidence.UNSURE for holder in self.native)

    def __str__(self) -> str:
        """The ledger as `print` shows it: a line a reference."""
        return text_of(ledger_lines(self))


#: The type of a trace about memory that belongs to no object.
UNHELD = "memory"


@dataclass(frozen=True, slots=True)
class Trace:
    """The reason why one object is alive.

    `steps` lead from a root to the object. If no root reaches it, they are empty and `cycle` has the objects that
    keep one another; the first is implied again at the end. `limits` say what could not be seen.
    """

    object: str
    detail: str
    lifetime: Lifetime
    steps: tuple[Step, ...]
    cycle: tuple[Step, ...]
    ledger: Ledger
    tail: tuple[Step, ...] = ()  # from one of the cycle to the object, where that only hangs on it
    legs: tuple[str, ...] = ()  # of `never`: the references that the collector does not see
    limits: tuple[str, ...] = ()
    tensor: TensorFacts | None = None  # where the object is a tensor
    lead: tuple[Step, ...] = ()  # from an object that only native code holds, if no root and no cycle keeps it
    keepers: tuple[NativeHolder, ...] = ()  # the holders of the first of `lead`, if memory was searched

    def __str__(self) -> str:
        """The trace as `print` shows it: the verdict, the path from the root down, the references."""
        return text_of(trace_lines(self))

    def _repr_html_(self) -> str:
        """The trace as a notebook shows it."""
        from gradlife import _html_of

        return _html_of(self)


# --- as text: from the root down, one line an object, one line the reference to the next --------------------------------
# A line is a row of spans: words, and their part in the line. Reports decide how a part looks.


class Part(StrEnum):
    """The part of words in a line."""

    PLAIN = "plain"
    TITLE = "title"  # an object's type
    HELD = "held"  # the verdicts
    GC = "gc"
    NEVER = "never"
    UNKNOWN = "unknown"
    SUSPECT = "suspect"  # a reference to look at
    NOTE = "note"
    WARNING = "warning"


#: Native holders that are shown at most.
MOST_KEEPERS = 5
#: Objects of a path, and references in its sentence, that are shown. The middle of a longer path is left out.
MOST_STEPS, MOST_WORDS = 60, 16

Line = tuple[tuple[str, Part], ...]

HEADS = {
    Lifetime.HELD: "is held: a root reaches it",
    Lifetime.GC: "waits for the collector: no root reaches it, it is part of a cycle",
    Lifetime.NEVER: "is never freed: no root reaches it, and the collector cannot break what keeps it",
    Lifetime.UNKNOWN: "was not found in the part of the heap that was looked at",
}
#: For objects that are never freed and in no cycle: the holder may let go of them.
HELD_UNSEEN = "is held by native code: no root that can be seen reaches it"
NO_KEEPER = "  no word of memory was found that surely or likely holds it"
NOT_SEARCHED = "  memory was not searched for what holds it: gradlife.why(obj, scan=True)"
CONFIDENCE = {
    Confidence.SURE: "",
    Confidence.LIKELY: "   likely",
    Confidence.UNSURE: "   perhaps: it may be a stale copy",
}
MARKS = {StepStatus.EXPECTED: "expected", StepStatus.LEAKING: "this object", StepStatus.UNKNOWN: ""}


def plain(text: str) -> Line:
    """Return a line of plain words."""
    return ((text, Part.PLAIN),)


def text_of(lines: Iterator[Line]) -> str:
    """Return lines as text."""
    return "\n".join("".join(words for words, _ in line).rstrip() for line in lines)


def trace_lines(trace: Trace) -> Iterator[Line]:
    """Yield the lines of a trace: the verdict, the path, the cycle, the references."""
    name = f"{trace.object} {trace.detail}".strip()
    yield ((name, Part.TITLE), (" ", Part.PLAIN), (head(trace), Part(trace.lifetime.value)))
    yield plain(sentence(trace))
    yield plain("")
    yield from step_lines(trace.steps)
    yield from cycle_lines(trace.cycle)
    if trace.tail:
        yield plain("The cycle leads to this object:")
        yield from step_lines(trace.tail)
    yield from lead_lines(trace)
    yield plain("")
    yield from ledger_lines(trace.ledger)
    for leg in trace.legs:
        yield plain(f"  {leg}")
    for limit in trace.limits:
        yield ((f"  not seen: {limit}", Part.NOTE),)


def step_lines(steps: tuple[Step, ...]) -> Iterator[Line]:
    """Yield the path from the root down."""
    left_out = len(steps) - MOST_STEPS
    for number, step in enumerate(steps):
        if left_out > 0 and MOST_STEPS // 2 <= number < MOST_STEPS // 2 + left_out:
            if number == MOST_STEPS // 2:
                yield (("│  ", Part.PLAIN), (f"... {left_out:,} more objects ...", Part.NOTE))
            continue
        is_last = number + 1 == len(steps)
        lead = "╰→ " if is_last else "├─ " if number else "┌─ "
        mark = MARKS[step.status]
        yield (
            (lead, Part.PLAIN),
            (step.object, Part.TITLE),
            (f" {step.detail}".rstrip(), Part.PLAIN),
            (f"   {mark}" if mark else "", Part.NOTE),
        )
        if not is_last:
            yield (("│    ", Part.PLAIN), (step.via, Part.SUSPECT if step.is_suspect else Part.PLAIN))


def cycle_lines(cycle: tuple[Step, ...]) -> Iterator[Line]:
    """Yield the objects of a cycle."""
    if not cycle:
        return
    yield plain("A cycle:")
    for number, step in enumerate(cycle):
        lead = "┌→ " if number == 0 else "│  "
        yield ((lead, Part.PLAIN), (step.object, Part.TITLE), (f" {step.detail}".rstrip(), Part.PLAIN))
        yield plain(("│    " if number + 1 < len(cycle) else "╰─── ") + step.via)


def lead_lines(trace: Trace) -> Iterator[Line]:
    """Yield the path from an object that only native code holds, and its holders."""
    if trace.lead:
        yield plain("Native code holds the first of these:")
        yield from step_lines(trace.lead)
    yield from holder_lines("  it is held by ", trace.keepers)
    if is_held_unseen(trace) and not trace.keepers:
        yield ((NO_KEEPER if trace.ledger.is_scanned else NOT_SEARCHED, Part.NOTE),)


def holder_lines(lead: str, holders: Sequence[NativeHolder]) -> Iterator[Line]:
    """Yield lines about the C++ holders of references."""
    for holder in holders[:MOST_KEEPERS]:
        yield (lead, Part.PLAIN), (holder.description, Part.PLAIN), (CONFIDENCE[holder.sureness], Part.NOTE)
    if len(holders) > MOST_KEEPERS:
        yield plain(f"  and {len(holders) - MOST_KEEPERS} more words of memory")


def ledger_lines(ledger: Ledger, what: str = "reference") -> Iterator[Line]:
    """Yield lines about the referrers of the object, and its unexplained references."""
    known = len(ledger.referrers) + ledger.more_referrers
    yield plain(f"{counted(ledger.count, what)}, {min(known, ledger.count)} of them known:")
    for referrer in ledger.referrers[:10]:
        yield plain(f"  {referrer.object} {referrer.detail}".rstrip() + f": {referrer.via}")
    if known > 10:
        yield plain(f"  and {known - 10} more")
    yield from native_lines(ledger)
    if ledger.behind is not None:
        yield from ledger_lines(ledger.behind, "owner of its C++ object")


def counted(number: int, what: str) -> str:
    """``2 owners of its C++ object``: a plural has its s on the first word."""
    first, space, rest = what.partition(" ")
    return f"{number} {first}{'s' * (number != 1)}{space}{rest}"


def native_lines(ledger: Ledger) -> Iterator[Line]:
    """Yield lines about the holders of references that no known object explains."""
    if ledger.unaccounted and not ledger.is_scanned:
        yield ((f"  {ledger.unaccounted} that nothing here explains: native code holds it", Part.WARNING),)
        return
    yield from holder_lines("  native code: ", ledger.native)
    if ledger.unexplained:
        count = f"{ledger.unexplained} reference{'s' * (ledger.unexplained != 1)}"
        yield ((f"  {count} that no memory word explains", Part.WARNING),)


def sentence(trace: Trace) -> str:
    """Return the trace as one sentence."""
    if trace.steps:
        return f"{title(trace.steps[0])} keeps it:{path_words(trace.steps)}"
    if trace.cycle:
        ring = " → ".join(step.object for step in (*trace.cycle, trace.cycle[0]))
        return f"Nothing but its own cycle keeps it: {ring}"
    if trace.lead:
        return f"Native code holds {title(trace.lead[0])}, which keeps it:{path_words(trace.lead)}"
    if is_held_unseen(trace):
        return "Native code holds it, and nothing that can be seen leads to it."
    return "Nothing that can be seen refers to it."


def head(trace: Trace) -> str:
    """Return the verdict in words."""
    return HELD_UNSEEN if is_held_unseen(trace) else HEADS[trace.lifetime]


def is_held_unseen(trace: Trace) -> bool:
    """Is it held by native code, not by a cycle?"""
    return trace.lifetime is Lifetime.NEVER and not trace.cycle and not trace.steps


def title(step: Step) -> str:
    """Return an object as its type and detail."""
    return f"{step.object} {step.detail}".strip()


def path_words(steps: tuple[Step, ...]) -> str:
    """Return the references of a path in a row, after a space."""
    names = [f" → {step.via}" if step.via[:1] not in ".[" else step.via for step in steps[:-1]]
    if len(names) > MOST_WORDS:
        names[MOST_WORDS // 2 : -MOST_WORDS // 2] = [" ... "]
    path = "".join(names)
    return path if path.startswith(" ") else f" {path}"
