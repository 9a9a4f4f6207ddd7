"""Why an object is alive, as plain values: the steps of a leak trace, the ledger of its references, its fate."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Lifetime(StrEnum):
    """What becomes of an object from now on, if nothing else happens."""

    HELD = "held"  # a root still reaches it
    GC = "gc"  # no root does, and the cyclic collector will free it
    NEVER = "never"  # no root does, and the collector cannot free it
    UNKNOWN = "unknown"  # the search ended before it could tell


class StepStatus(StrEnum):
    """Whether a step of a trace is meant to be alive, after LeakCanary."""

    EXPECTED = "expected"  # it should be alive, and so should all above it
    UNKNOWN = "unknown"
    LEAKING = "leaking"  # it should be gone, and so should all below it


@dataclass(frozen=True, slots=True)
class Hop:
    """One reference as it stands in memory; a step's reference to the next stands for one or several."""

    type: str  # of the object that refers, in full: "collections.OrderedDict"
    relation: (
        str  # attribute, slot, dict_value, dict_key, item, member, local, stack, cell, internal, native, root, unknown
    )
    label: str  # the name or key where it has one
    index: int = -1  # of an item


@dataclass(frozen=True, slots=True)
class Step:
    """One object on the way, and how it refers to the next.

    `via` is what stands between two objects as one would write it: ``.losses``, ``[3]``, ``global variable 'cache'``,
    ``saved tensor 'other'``; empty for the last step.
    """

    object: str  # the type, "Tensor"
    detail: str  # "float32 [64, 32]", "train_step (train.py:12)"
    kind: str  # python, tensor, storage, grad_node, native, root
    via: str
    relation: str
    status: StepStatus = StepStatus.UNKNOWN
    reason: str = ""
    is_suspect: bool = False  # the reference to the next step lies between what is expected and what leaks
    type: str = ""  # in full: "torch.nn.modules.linear.Linear"
    bases: tuple[str, ...] = ()  # of a Python type: its method resolution order between itself and object
    hops: tuple[Hop, ...] = ()  # what `via` stands for
    length: int | None = None  # of a container
    most: int | None = None  # how much it may hold: a deque's maxlen, an lru_cache's maxsize

    def is_a(self, *types: str) -> bool:
        """Is its type one of these, or derived from one? Full names."""
        return self.type in types or any(base in types for base in self.bases)


@dataclass(frozen=True, slots=True)
class TensorFacts:
    """What hangs on the tensor that a trace leads to."""

    grad_fn: str = ""  # the type of its grad node; empty: none
    is_view: bool = False
    storage_bytes: int | None = None  # of the whole storage, where sizes were measured


@dataclass(frozen=True, slots=True)
class Referrer:
    """One known reference to an object."""

    object: str
    detail: str
    via: str
    is_native: bool  # the collector does not see it


class Sureness(StrEnum):
    """How far a holder that was found by searching memory can be believed."""

    SURE = "sure"  # every step is verified by C++ type information, a library's tables or a known object
    LIKELY = "likely"  # on the way is memory of which only its use shows what it is
    UNSURE = "unsure"  # the word may be a copy that owns nothing


@dataclass(frozen=True, slots=True)
class NativeHolder:
    """What holds one reference in C++, found by searching memory for the object's address."""

    description: str  # from the outside in: "SinBackward0 +232 → PyFunctionPostHook +8"; offsets in bytes
    kind: str  # where the way ends: object, static, thread_local, stack; block: at a block that nothing points at
    library: str  # path, of static and thread-local data
    symbol: str  # the variable, where the library's file says it
    sureness: Sureness


@dataclass(frozen=True, slots=True)
class Ledger:
    """An object's reference count, taken apart: `count` = known referrers + `unaccounted`."""

    count: int
    referrers: tuple[Referrer, ...]
    more_referrers: int = 0  # known too, but left out of `referrers`
    native: tuple[NativeHolder, ...] = ()  # of the unaccounted, the surest first; at most as many
    is_scanned: bool = False  # whether memory was searched for them
    is_partial: bool = False  # only a part of the heap was looked at: more referrers may be known than were seen
    behind: Ledger | None = None  # where its C++ object holds it, on behalf of others: who these are

    @property
    def unaccounted(self) -> int:
        """References that nothing in the graph explains: held by native code, or by a frame's value stack.

        Of a part of the heap it can't be told, and is 0.
        """
        return 0 if self.is_partial else max(0, self.count - len(self.referrers) - self.more_referrers)

    @property
    def unexplained(self) -> int:
        """Unaccounted references for which no word of memory was found that surely or likely holds them."""
        return self.unaccounted - sum(holder.sureness is not Sureness.UNSURE for holder in self.native)

    def __str__(self) -> str:
        """The ledger as `print` shows it: a line a reference."""
        from gradlife.model.trace_text import ledger_lines, text_of  # which knows these classes

        return text_of(ledger_lines(self))


#: What a trace is of where memory is in use that no object has.
UNHELD = "memory"


@dataclass(frozen=True, slots=True)
class Trace:
    """Why one object is alive.

    `steps` lead from a root to the object; where none reaches it they are empty and `cycle` has the objects that keep
    one another, the first of them again implied at the end. `limits` tell what could not be seen.
    """

    object: str
    detail: str
    lifetime: Lifetime
    steps: tuple[Step, ...]
    cycle: tuple[Step, ...]
    ledger: Ledger
    tail: tuple[Step, ...] = ()  # from one of the cycle to the object, where that only hangs on it
    legs: tuple[str, ...] = ()  # of `never`: where references stand that the collector does not see
    limits: tuple[str, ...] = ()
    tensor: TensorFacts | None = None  # where the object is a tensor
    lead: tuple[Step, ...] = ()  # from what only native code holds, where no root and no cycle keeps it
    keepers: tuple[NativeHolder, ...] = ()  # what holds the first of `lead`, where memory was searched for it

    def __str__(self) -> str:
        """The trace as `print` shows it: the verdict, the way from the root down, the references."""
        from gradlife.model.trace_text import text_of, trace_lines  # which knows these classes

        return text_of(trace_lines(self))

    def _repr_html_(self) -> str:
        """The trace as a notebook shows it."""
        from gradlife import _html_of

        return _html_of(self)
