"""`gradlife.why` and `gradlife.refs`: why an object is alive, and who refers to it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence, Set

from gradlife import _heap
from gradlife.heap.asking_names import with_holders
from gradlife.heap.graph import Explanation, References, Referrers, UncollectableObject, is_native
from gradlife.heap.ownership_links import short_type
from gradlife.heap.path_steps import is_native_part, last_reference, merged_steps, tail_steps
from gradlife.heap.scan import OWN_FOLDER, holders_of, scan_unknown
from gradlife.heap.step_statuses import with_statuses
from gradlife.heap.tensors import tensor_facts
from gradlife.heap.torch_layout.torch import ensure_calibrated
from gradlife.model.trace import Ledger, Lifetime, Referrer, Trace
from gradlife.safe_access import class_name
from gradlife.visible_text import visible

NO_BUDGET = 0


def why(obj: object, *, scan: bool = False, budget: int | None = None) -> Trace:
    """Explain why ``obj`` is alive: its path from a root, or the cycle that keeps it alive.

    The names that the calling function has for it are left out if anything else holds it, as are `_` and `Out` of an
    interactive session. Up to three holders, each of which keeps it alone, have a path.

    Walks the whole heap once, in C++ with the interpreter stopped, which takes about 0.3 s per million objects. The
    walk changes nothing: it creates no object, runs no code of the program and calls no hook. The trace holds no
    object.

    With ``scan=True``, references that nothing in the heap explains are searched for in memory (see `refs`).

    With a ``budget`` the walk starts at the roots and ends after that many objects. A path that it finds is valid; if
    it finds none, the lifetime is unknown and `limits` says so. A smaller heap is walked completely. Raises ValueError
    for a budget below 1.
    """
    layout_limits = ensure_calibrated()
    asker = sys._getframe(1)
    graph, found = investigate(obj, scan, checked_budget(budget))
    limits = (*graph.limits, *layout_limits)
    if found is None and graph.is_partial:
        return Trace(
            short_type(type_name(obj)), "", Lifetime.UNKNOWN, (), (), Ledger(0, (), is_partial=True), limits=limits
        )
    if found is None:  # not in the graph: only variables of the caller may hold it, or garbage
        ledger = unknown_ledger(obj) if scan else Ledger(0, ())
        return Trace(type_name(obj), "", Lifetime.GC, (), (), ledger, limits=limits)
    trace = trace_of(short_type(type_name(obj)), found, graph, limits, scan)
    return with_holders(trace, [merged_steps(path) for path in found["other_paths"]], asker)


def trace_of(
    name: str,
    found: Explanation,
    graph: _heap.Graph,
    limits: tuple[str, ...],
    is_scanned: bool = False,
    growing: Set[int] = frozenset(),
) -> Trace:
    """Make an object's trace from what the walk found out about it. See `Trace` for the parts of a trace.

    ``growing``: containers that are known to grow.
    """
    steps = merged_steps(found["path"], growing=growing)
    native_steps = with_statuses(merged_steps(found["native_path"]))
    return Trace(
        object=name,
        detail=found["detail"],
        lifetime=Lifetime(found["lifetime"]),
        steps=with_statuses(steps),
        cycle=merged_steps(found["cycle"], is_cycle=True),
        tail=tail_steps(found["tail"], found["cycle"]),
        ledger=ledger_of(found, is_scanned, graph.is_partial, found["half_referrers"]),
        hidden_references=tuple(hidden_reference_texts(found["uncollectable"], graph)),
        limits=limits,
        tensor=tensor_facts(graph, found["node"]),
        lead=native_steps if len(native_steps) > 1 else (),
        keepers=holders_of(found["keepers"]),
    )


def refs(obj: object, *, scan: bool = False) -> Ledger:
    """Return the references to ``obj``, each with its name, and the number that nothing explains.

    Walks the whole heap once, as `why` does, which takes about 0.3 s per million objects.

    With ``scan=True`` unaccounted references are searched for in all writable memory and named by the C++ classes and
    variables that hold them (`Ledger.native`). That takes about 0.1 s per 200 MB, and as much again to find the holders
    of the holders. Pointers on this thread's own C stack may be leftovers and are not reported. Only this search raises
    RuntimeError, on systems other than Linux with glibc on x86-64 or arm64.
    """
    ensure_calibrated()
    _, found = investigate(obj, scan, NO_BUDGET)
    if found is not None:
        return ledger_of(found, scan, behind=found["half_referrers"])
    return unknown_ledger(obj) if scan else Ledger(0, ())


def unknown_ledger(obj: object) -> Ledger:
    """Return the references from native code to an object that is not in the graph."""
    count, holders = scan_unknown(obj)
    return Ledger(max(count, 0), (), native=holders[: max(count, 0)], is_scanned=True)


def type_name(obj: object) -> str:
    """Return the class's printable name."""
    return visible(class_name(obj))


def investigate(obj: object, scan: bool, budget: int) -> tuple[_heap.Graph, Explanation | None]:
    """Walk the heap for one object, without sizes and without references from gradlife's own modules."""
    return _heap.investigate(obj, False, OWN_FOLDER, (), scan, budget)


def checked_budget(budget: int | None) -> int:
    """Return the budget for the extension."""
    if budget is not None and budget < 1:
        raise ValueError(f"a budget is a number of objects, at least 1, not {budget}")
    return budget or NO_BUDGET


def ledger_of(
    found: Referrers, is_scanned: bool = False, is_partial: bool = False, behind: Referrers | None = None
) -> Ledger:
    """Count the references to an object: known ones with their names, and unaccounted ones.

    ``behind``: if the object is a Python wrapper that its C++ object holds, the references to that C++ object.
    """
    chains = [(*owners, referrer) for owners, referrer in zip(found["owners"], found["referrers"], strict=True)]
    unaccounted = max(0, found["references"] - found["referrer_count"])
    return Ledger(
        count=found["references"],
        referrers=tuple(map(referrer_of, chains)),
        more_referrers=found["referrer_count"] - len(chains),
        native=holders_of(found["native"])[:unaccounted],
        is_scanned=is_scanned,
        is_partial=is_partial,
        behind=ledger_of(behind, is_scanned, is_partial) if behind else None,
    )


def referrer_of(chain: References) -> Referrer:
    """Describe the last object of a chain, or, if it is only a part such as a `__dict__`, the object that it is part of."""
    owner, via = last_reference(chain)
    return Referrer(
        short_type(owner.type),
        owner.detail,
        "holds its wrapper" if is_native_part(owner) else via,
        is_native(chain[-1]),
    )


def hidden_reference_texts(objects: Sequence[UncollectableObject], graph: _heap.Graph) -> list[str]:
    """Describe the objects held by references that the collector cannot see; identical lines are merged."""
    counts = Counter(hidden_reference_text(one, graph) for one in objects)
    return [
        f"{text} (and {count - 1} more such object{'s' * (count > 2)})" if count > 1 else text
        for text, count in counts.items()
    ]


def hidden_reference_text(one: UncollectableObject, graph: _heap.Graph) -> str:
    """Describe one uncollectable object: how many of the references to it the collector cannot see, and who holds them."""
    holders = sorted({short_type(graph.type(node)) for node in one.referrers})
    sources = f" from {' and '.join(holders)}" if holders else ""
    count = f"{one.hidden} reference{'s' * (one.hidden != 1)}"
    return f"{short_type(one.type)} {one.detail}".strip() + f" has {count}{sources} that the collector cannot see"


__all__ = ["OWN_FOLDER", "refs", "trace_of", "why"]
