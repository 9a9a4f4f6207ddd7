"""Why an object is alive, as values: the leak trace, the ledger of references, the lifetime."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from gradlife.visible_text import visible, visible_lines

#: A variable at the beginning of a path that goes on with an attribute or an item.
VARIABLE = re.compile(r"^(?:global|local|closure) variable '(\w+)'(?=[.\[])")

#: The text that describes a tensor or an array: its item type, its sizes, and a device other than the CPU.
TENSOR_DETAIL = re.compile(r"(?:(?P<dtype>[a-z]\w*) )?\[(?P<sizes>[\d, ]*)\]")

#: Item types with their bits in the name, and the bytes of others.
BITS_IN_NAME = re.compile(r"(?:u?int|b?float|complex|bits)(\d+)(?:_\w+)?")
ITEM_BYTES = {"bool": 1, "object": 8, "qint8": 1, "quint8": 1, "qint32": 4}


#: ``handle (train.py:12)``, as a frame or a function is described.
IN_FILE = re.compile(r"(?P<name>.+) \((?P<file>[^()]+):(?P<line>[0-9]+)\)")

#: Tables of variables, and tables of attributes, by the labels of the references to them.
NAMESPACES = frozenset({"__globals__", "f_locals", "__kwdefaults__"})
MEMBER_TABLES = frozenset({"__dict__", "_parameters", "_buffers", "_modules"})

#: Modules of modules: ModuleDict, Sequential and the like.
MODULE_CONTAINERS = ("torch.nn.modules.container.", "gradlife.engine.nn.modules.container.")


class Lifetime(StrEnum):
    """The future of an object if nothing else happens."""

    HELD = "held"  # reachable from a root
    GC = "gc"  # unreachable; the cyclic collector will free it
    NEVER = "never"  # unreachable; the collector cannot free it
    UNKNOWN = "unknown"  # the search ended without an answer


class StepStatus(StrEnum):
    """Whether the object of a step should be alive, as in LeakCanary."""

    EXPECTED = "expected"  # it and all steps above it should be alive
    UNKNOWN = "unknown"
    LEAKING = "leaking"  # it and all steps below it should be gone


@dataclass(frozen=True, slots=True)
class CodePlace:
    """The function of a frame, a generator or a function object, and where it stands."""

    name: str  # qualified
    file: str  # without folders
    line: int


def code_in(detail: str) -> CodePlace | None:
    """Return the function that an object's detail names; None if it names none."""
    found = IN_FILE.match(detail)
    return CodePlace(found["name"], found["file"], int(found["line"])) if found is not None else None


@dataclass(frozen=True, slots=True)
class Hop:
    """One reference in memory. A reference between two steps may consist of several."""

    type: str  # full type name of the source: "collections.OrderedDict"
    relation: (
        str  # attribute, slot, dict_value, dict_key, item, member, local, stack, cell, internal, native, root, unknown
    )
    label: str  # the name or key, if any
    index: int = -1  # index of an item


@dataclass(frozen=True, slots=True)
class PathStep:
    """One object on the path and its reference to the next.

    `via` is the reference as code or words: ``.losses``, ``[3]``, ``global variable 'cache'``,
    ``saved tensor 'other'``; empty for the last step.
    """

    object: str  # the type, "Tensor"
    detail: str  # "float32 [64, 32]", "train_step (train.py:12)"
    kind: str  # python, tensor, storage, grad_node, native, root; gap: objects left out of a long path
    via: str
    relation: str
    status: StepStatus = StepStatus.UNKNOWN
    reason: str = ""
    is_suspect: bool = False  # the next reference lies between an expected and a leaked object
    type: str = ""  # full name: "torch.nn.modules.linear.Linear"
    bases: tuple[str, ...] = ()  # method resolution order of a Python type, without itself and object
    hops: tuple[Hop, ...] = ()  # the references that `via` stands for
    length: int | None = None  # of a container; of a gap the number of objects
    most: int | None = None  # the limit of its length: a deque's maxlen, an lru_cache's maxsize
    argument: str = ""  # the parameter to which a waiting call passes the next object

    @property
    def count(self) -> int:
        """The number of objects that it stands for: one, or those left out of a long path."""
        return self.length or 0 if self.kind == "gap" else 1

    def is_a(self, *types: str) -> bool:
        """Whether its type is, or derives from, one of these full names."""
        return self.type in types or any(base in types for base in self.bases)

    @property
    def reference(self) -> tuple[tuple[str, str, int], ...]:
        """The reference to the next object as facts, to compare it with others: relation, name and index of each part."""
        return tuple((hop.relation, hop.label, hop.index) for hop in self.hops)

    @property
    def numberless_reference(self) -> tuple[tuple[str, str], ...]:
        """The same without the numbers of items, by which the items of one container differ."""
        return tuple((hop.relation, "" if hop.label.strip("'").isdigit() else hop.label) for hop in self.hops)

    @property
    def variable(self) -> str:
        """The variable or the parameter that refers to the next object; empty if none does."""
        if self.argument or not self.hops:
            return self.argument
        first = self.hops[0]
        if first.relation == "local":
            return "" if first.label.startswith(".") else first.label
        if len(self.hops) < 2:
            return ""
        table, _, names = first.label.partition(":")
        if table in {"__closure__", "__defaults__"}:
            return dict(enumerate(names.split(","))).get(self.hops[1].index, "")
        is_namespace = table in NAMESPACES or (table == "__dict__" and self.type == "module")
        return self.hops[1].label.strip("'") if is_namespace or self.kind == "root" else ""

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes by which it refers to the next object, also those of modules and hook tables on the way."""
        if self.variable:
            return ()
        found = []
        for before, hop in zip((None, *self.hops), self.hops, strict=False):
            name, table = hop.label.strip("'"), before.label.strip("'") if before is not None else ""
            is_named = hop.relation in {"attribute", "slot", "internal"}
            if is_named or (hop.relation == "dict_value" and table in MEMBER_TABLES):
                found.append(name)
        return tuple(name for name in found if name.isidentifier() and name not in MEMBER_TABLES)

    @property
    def module(self) -> str:
        """The name of a module; empty for anything else."""
        return self.detail if self.type == "module" else ""

    @property
    def code(self) -> CodePlace | None:
        """The function of a frame, a generator or a function object; None for anything else."""
        return code_in(self.detail)


@dataclass(frozen=True, slots=True)
class TensorFacts:
    """The facts about the tensor at the end of a trace."""

    grad_fn: str = ""  # the type of its grad node; empty if none
    is_view: bool = False
    storage_bytes: int | None = None  # of the whole storage, if sizes were measured
    is_alias: bool = False  # the storage belongs to something that lives anyway: live weights, a buffer


@dataclass(frozen=True, slots=True)
class Referrer:
    """One known reference to an object."""

    object: str
    detail: str
    via: str
    is_native: bool  # invisible to the collector


class Confidence(StrEnum):
    """The confidence in a holder that the native scan found."""

    SURE = "sure"  # each step is verified by C++ type information, a library's symbols or a known object
    LIKELY = "likely"  # one block on the path is known only by its contents
    UNSURE = "unsure"  # may be a copied address that owns nothing


@dataclass(frozen=True, slots=True)
class NativeHolder:
    """A C++ holder of one reference, found by searching memory for the object's address."""

    description: str  # outermost first: "SinBackward0 +232 → PyFunctionPostHook +8"; offsets in bytes
    kind: str  # end of the path: object, static, thread_local, stack; block: a block that nothing points at
    library: str  # path of the library that owns static or thread-local data
    symbol: str  # the variable, if the library has its symbol
    sureness: Confidence


@dataclass(frozen=True, slots=True)
class Ledger:
    """An object's reference count by source: `count` = known referrers + `unaccounted`."""

    count: int
    referrers: tuple[Referrer, ...]
    more_referrers: int = 0  # known referrers that are not in `referrers`
    native: tuple[NativeHolder, ...] = ()  # holders of unaccounted references, most certain first; at most as many
    is_scanned: bool = False  # whether memory was searched for them
    is_partial: bool = False  # only a part of the heap was read: known referrers may be missing
    behind: Ledger | None = None  # the owners of the C++ object, if that holds this one

    @property
    def unaccounted(self) -> int:
        """References that nothing in the graph explains: held by native code or a frame's value stack.

        0 if only a part of the heap was read.
        """
        return 0 if self.is_partial else max(0, self.count - len(self.referrers) - self.more_referrers)

    @property
    def unexplained(self) -> int:
        """Unaccounted references without a sure or likely native holder."""
        return self.unaccounted - sum(holder.sureness is not Confidence.UNSURE for holder in self.native)

    def __str__(self) -> str:
        """Return the ledger as `print` shows it, a line per reference."""
        return text_of(ledger_lines(self))


#: The object type of a trace about memory that belongs to no object.
UNHELD = "memory"

#: What such a trace says if a profiler of torch records.
PROFILED = "of malloc, while a profiler of torch records"


@dataclass(frozen=True, slots=True)
class Trace:
    """Why one object is alive.

    `steps` lead from a root to the object. If it is unreachable, `steps` is empty and `cycle` has the objects that keep
    one another alive; the last one refers to the first. `limits` say what could not be read.
    """

    object: str
    detail: str
    lifetime: Lifetime
    steps: tuple[PathStep, ...]
    cycle: tuple[PathStep, ...]
    ledger: Ledger
    tail: tuple[PathStep, ...] = ()  # from the cycle to the object, if it is not on the cycle
    # If the lifetime is `never`: objects with references that the collector cannot see.
    hidden_references: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    tensor: TensorFacts | None = None  # if the object is a tensor
    # From an object that only native code holds, if no root and no cycle keeps the target.
    lead: tuple[PathStep, ...] = ()
    keepers: tuple[NativeHolder, ...] = ()  # the holders of the first object of `lead`, if memory was searched
    others: tuple[tuple[PathStep, ...], ...] = ()  # paths by other holders, each of which keeps it alone
    asked_by: str = ""  # the name that whoever asks has for it; it is on no path if anything else holds the object

    @property
    def code(self) -> CodePlace | None:
        """The function of the object, if it is a frame, a generator or a function object."""
        return code_in(self.detail)

    def __repr__(self) -> str:
        """The object and its fate in a line."""
        return f"<Trace of {f'{self.object} {self.detail}'.strip()}: {self.lifetime.value}>"

    def __str__(self) -> str:
        """Return the trace as `print` shows it: the verdict, the path from the root, the references."""
        return text_of(trace_lines(self))

    def _repr_html_(self) -> str:
        """Return the trace as a notebook shows it."""
        from gradlife import _html_of

        return _html_of(self)


# --- as text: from the root down, a line per object and a line per reference -----------------------------------------
# A line is a row of spans: words and their role in the line. Reports style them by role.


class Part(StrEnum):
    """The role of words in a line."""

    PLAIN = "plain"
    TITLE = "title"  # an object's type
    HELD = "held"  # the verdicts
    GC = "gc"
    NEVER = "never"
    UNKNOWN = "unknown"
    SUSPECT = "suspect"  # a suspect reference
    NOTE = "note"
    WARNING = "warning"


#: Native holders shown at most.
MAX_KEEPERS = 5
#: Objects of a path, and references in its sentence, that are shown. Longer paths lose their middle.
MAX_STEPS, MAX_WORDS = 60, 16

Line = tuple[tuple[str, Part], ...]

HEADS = {
    Lifetime.HELD: "is held: a root reaches it",
    Lifetime.GC: "waits for the collector: no root reaches it, it is part of a cycle",
    Lifetime.NEVER: "is never freed: no root reaches it, and the collector cannot break what keeps it",
    Lifetime.UNKNOWN: "was not found in the part of the heap that was read",
}
#: For objects that are never freed and in no cycle: the holder may release them.
HELD_UNSEEN = "is held by native code: no visible root reaches it"
#: For objects that nothing in the heap refers to, such as the argument of `gradlife.why(object())`.
TEMPORARY = "is held by nothing but this call: it is freed when the call returns"
#: For objects that only the name of whoever asks keeps.
ONLY_ASKER = "nothing else holds it: it is freed when this name goes"
NO_KEEPER = "  no sure or likely holder was found in memory"
NOT_SEARCHED = "  memory was not searched for its holders: gradlife.why(obj, scan=True)"
CONFIDENCE = {
    Confidence.SURE: "",
    Confidence.LIKELY: "   likely",
    Confidence.UNSURE: "   perhaps: it may be a stale copy",
}
MARKS = {StepStatus.EXPECTED: "expected", StepStatus.LEAKING: "this object", StepStatus.UNKNOWN: ""}


def plain(text: str) -> Line:
    """Return a line of unstyled words."""
    return ((text, Part.PLAIN),)


def text_of(lines: Iterator[Line]) -> str:
    """Return lines as text."""
    return visible_lines("\n".join("".join(visible(words) for words, _ in line).rstrip() for line in lines))


def trace_lines(trace: Trace) -> Iterator[Line]:
    """Yield the lines of a trace: the verdict, the path, the cycle, the references."""
    name = f"{trace.object} {trace.detail}".strip()
    yield ((name, Part.TITLE), (" ", Part.PLAIN), (head(trace), Part(trace.lifetime.value)))
    yield plain(sentence(trace))
    yield plain("")
    yield from step_lines(trace.steps)
    yield from other_lines(trace)
    yield from cycle_lines(trace.cycle)
    if trace.tail:
        yield plain("The cycle leads to this object:")
        yield from step_lines(trace.tail)
    yield from lead_lines(trace)
    yield plain("")
    yield from ledger_lines(trace.ledger)
    for line in trace.hidden_references:
        yield plain(f"  {line}")
    for limit in trace.limits:
        yield ((f"  not seen: {limit}", Part.NOTE),)


def step_lines(steps: tuple[PathStep, ...]) -> Iterator[Line]:
    """Yield the path from the root down."""
    for number, step in enumerate(without_middle(steps)):
        is_last = step is steps[-1]
        if step.kind == "gap":
            yield (("│  ", Part.PLAIN), (f"... {step.detail} ...", Part.NOTE))
            continue
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


def other_lines(trace: Trace) -> Iterator[Line]:
    """Yield the paths by other holders, and the name that whoever asks has for the object."""
    for number, steps in enumerate(trace.others, 2):
        yield plain("")
        yield plain(f"Holder {number}, on its own:")
        yield from step_lines(steps)
    if trace.asked_by:
        is_alone = bool(trace.steps) and trace.asked_by == asking_words(trace.steps)
        yield (("  ", Part.PLAIN), (ONLY_ASKER if is_alone else f"left out: {trace.asked_by}, which asks", Part.NOTE))


def asking_words(steps: tuple[PathStep, ...]) -> str:
    """Name the reference that a path begins with."""
    return f"{title(steps[0])}: {steps[0].via}"


def without_middle(steps: tuple[PathStep, ...]) -> tuple[PathStep, ...]:
    """Return the steps that are shown: all of a short path, else both ends and one step for all objects between."""
    left_out = steps[MAX_STEPS // 2 : -MAX_STEPS // 2] if len(steps) > MAX_STEPS else ()
    count = sum(step.count for step in left_out)
    return (*steps[: MAX_STEPS // 2], gap_of(count), *steps[-MAX_STEPS // 2 :]) if left_out else steps


def gap_of(count: int) -> PathStep:
    """Return the step that stands for this many objects left out of a path."""
    return PathStep("", f"{count:,} more objects", "gap", "...", "internal", length=count)


def cycle_lines(cycle: tuple[PathStep, ...]) -> Iterator[Line]:
    """Yield the objects of a cycle."""
    if not cycle:
        return
    yield plain("A cycle:")
    for number, step in enumerate(without_middle(cycle)):
        if step.kind == "gap":
            yield (("│  ", Part.PLAIN), (f"... {step.detail} ...", Part.NOTE))
            continue
        lead = "┌→ " if number == 0 else "│  "
        yield ((lead, Part.PLAIN), (step.object, Part.TITLE), (f" {step.detail}".rstrip(), Part.PLAIN))
        yield plain(("╰─── " if step is cycle[-1] else "│    ") + step.via)


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
    for holder in holders[:MAX_KEEPERS]:
        yield (lead, Part.PLAIN), (holder.description, Part.PLAIN), (CONFIDENCE[holder.sureness], Part.NOTE)
    if len(holders) > MAX_KEEPERS:
        yield plain(f"  and {len(holders) - MAX_KEEPERS} more words of memory")


def ledger_lines(ledger: Ledger, what: str = "reference") -> Iterator[Line]:
    """Yield lines about the referrers of the object, and its unaccounted references."""
    known = len(ledger.referrers) + ledger.more_referrers
    yield plain(f"{counted(ledger.count, what)}, {known_words(min(known, ledger.count), ledger.count)}:")
    for referrer in ledger.referrers[:10]:
        yield plain(f"  {referrer.object} {referrer.detail}".rstrip() + f": {referrer.via}")
    if known > 10:
        yield plain(f"  and {known - 10} more")
    yield from native_lines(ledger)
    if ledger.behind is not None:
        yield from ledger_lines(ledger.behind, "owner of its C++ object")


def known_words(known: int, count: int) -> str:
    """Format how many of the references are known: ``all known``, ``2 of them known``; of a single one ``known``."""
    if count == 1:
        return "known" if known else "not known"
    return f"{'all' if known == count else f'{known} of them' if known else 'none'} known"


def counted(number: int, what: str) -> str:
    """Format a count with its noun, ``2 owners of its C++ object``: the first word takes the plural s."""
    first, space, rest = what.partition(" ")
    return f"{number} {first}{'s' * (number != 1)}{space}{rest}"


def native_lines(ledger: Ledger) -> Iterator[Line]:
    """Yield lines about the holders of unaccounted references."""
    if ledger.unaccounted and not ledger.is_scanned:
        yield ((f"  {ledger.unaccounted} that nothing here explains: native code holds it", Part.WARNING),)
        return
    yield from holder_lines("  native code: ", ledger.native)
    if ledger.unexplained:
        count = f"{ledger.unexplained} reference{'s' * (ledger.unexplained != 1)}"
        yield ((f"  {count} without a holder in memory", Part.WARNING),)


def sentence(trace: Trace) -> str:
    """Return the trace as one sentence."""
    if trace.steps:
        return f"{title(trace.steps[0])} keeps it:{path_words(trace.steps)}"
    if trace.cycle:
        names = [step.object for step in (*trace.cycle, trace.cycle[0])]
        if len(names) > MAX_WORDS:
            names[MAX_WORDS // 2 : -MAX_WORDS // 2] = ["..."]
        return f"Nothing but its own cycle keeps it: {' → '.join(names)}"
    if trace.lead:
        return f"Native code holds {title(trace.lead[0])}, which keeps it:{path_words(trace.lead)}"
    if is_held_unseen(trace):
        return "Native code holds it, and no visible object leads to it."
    return "No visible object refers to it."


def head(trace: Trace) -> str:
    """Return the verdict in words."""
    if trace.lifetime is Lifetime.GC and not trace.cycle and not trace.ledger.count:
        return TEMPORARY
    return HELD_UNSEEN if is_held_unseen(trace) else HEADS[trace.lifetime]


def is_held_unseen(trace: Trace) -> bool:
    """Whether native code holds it, not a cycle."""
    return trace.lifetime is Lifetime.NEVER and not trace.cycle and not trace.steps


def title(step: PathStep) -> str:
    """Return an object's type and detail."""
    return f"{step.object} {step.detail}".strip()


def path_words(steps: tuple[PathStep, ...]) -> str:
    """Return the references of a path, joined by arrows, after a space."""
    names = [f" → {step.via}" if step.via[:1] not in ".[" else step.via for step in steps[:-1]]
    if len(names) > MAX_WORDS:
        names[MAX_WORDS // 2 : -MAX_WORDS // 2] = [" ... "]
    return f" {as_written(''.join(names).removeprefix(' → '))}"


def as_written(path: str) -> str:
    """Return a path whose variable is written as in code if an attribute or an item follows: ``state.losses[0] → grad_fn``."""
    return VARIABLE.sub(r"\1", path, count=1)


def is_scalar_detail(detail: str) -> bool:
    """Whether a detail describes a tensor without dimensions, on any device."""
    found = TENSOR_DETAIL.match(detail)
    return found is not None and not found["sizes"]


def bytes_of_detail(detail: str) -> int | None:
    """Return the bytes of the elements of a tensor or an array with this detail; None if they are unknown."""
    found = TENSOR_DETAIL.match(detail)
    each = item_bytes(found["dtype"] or "") if found is not None else None
    if found is None or each is None:
        return None
    return each * math.prod(map(int, re.findall(r"\d+", found["sizes"])))


def item_bytes(dtype: str) -> int | None:
    """Return the bytes of one item; None if the type is unknown. An item of a few bits takes a whole byte."""
    numbered = BITS_IN_NAME.fullmatch(dtype)
    return max(1, int(numbered[1]) // 8) if numbered is not None else ITEM_BYTES.get(dtype)
