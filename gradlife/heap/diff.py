"""Compare two heap graphs, by type and by place. A place is the path of references that holds an object, with `*` for
numbers.

Two graphs of the same process are compared object by object, others by the number of objects of each type.
"""

from __future__ import annotations

import re
from collections import Counter

from gradlife import _heap
from gradlife.heap.object_lists import describe_object
from gradlife.heap.path_steps import merged_steps
from gradlife.model.heap import HeapDiff, PathChange, TypeChange
from gradlife.model.trace import PathStep

#: Number of new objects of each type that are shown with a path.
MAX_EXAMPLES = 3

#: Number of places that are shown: those that changed most.
MAX_PATHS = 200

#: An index or a key that is a number or a tuple, such as `[3]`, `[-1]` or `[(0, 1)]`.
NUMBERS = re.compile(r"\[[-(\d][^\]]*\]")


def compare(before: _heap.Graph, after: _heap.Graph, *, by_identity: bool) -> HeapDiff:
    """Return the changes by type, and by place if both graphs have labels. ``by_identity``: both are of one process."""
    types = changed_objects(before, after) if by_identity else changed_counts(before, after)
    paths = changed_paths(before, after) if before.has_labels and after.has_labels else []
    types.sort(key=lambda row: (-abs(row.bytes), -row.new, row.type))
    return HeapDiff(by_identity, tuple(types), tuple(paths))


def changed_objects(before: _heap.Graph, after: _heap.Graph) -> list[TypeChange]:
    """Return the changes of each type: its new objects, those that are gone, and those that became larger."""
    # In a row, `new`, `gone` and `grown` are each a number of objects and their bytes.
    rows = _heap.compare_objects(before, after, MAX_EXAMPLES)
    return [
        TypeChange(name, kind, *new, *gone, *grown, tuple(describe_object(after, node) for node in nodes))
        for name, kind, new, gone, grown, nodes in rows
        if kind != "root"
    ]


def changed_counts(before: _heap.Graph, after: _heap.Graph) -> list[TypeChange]:
    """Return the types whose number of objects or bytes differs."""
    counts: Counter[tuple[str, str]] = Counter()
    sizes: Counter[tuple[str, str]] = Counter()
    for graph, sign in ((before, -1), (after, 1)):
        for name, kind, count, nbytes in graph.census():
            counts[name, kind] += sign * count
            sizes[name, kind] += sign * nbytes
    return [
        TypeChange(*key, max(count, 0), max(sizes[key], 0), max(-count, 0), max(-sizes[key], 0), grown=0, grown_bytes=0)
        for key, count in counts.items()
        if (count or sizes[key]) and key[1] != "root"
    ]


#: Count and bytes before; count and bytes after; a node as an example; 1 if that is a node of the later graph.
PathRow = tuple[tuple[int, int], tuple[int, int], int, int]


def changed_paths(before: _heap.Graph, after: _heap.Graph) -> list[PathChange]:
    """Return the places that hold another number of objects or bytes than before, the largest change first."""

    def largest_first(row: PathRow) -> tuple[int, int]:
        (_, old_bytes), (_, new_bytes), node, _ = row
        return -abs(new_bytes - old_bytes), node

    rows = sorted(_heap.compare_paths(before, after), key=largest_first)
    found = []
    for (old_count, old_bytes), (new_count, new_bytes), node, is_in_after in rows[:MAX_PATHS]:
        graph = after if is_in_after else before  # the graph that `node`, an example of the place, is in
        text = path_text(merged_steps(graph.path_references(node)))
        found.append(PathChange(text, graph.type(node), old_count, new_count, old_bytes, new_bytes))
    return found


def path_text(steps: tuple[PathStep, ...]) -> str:
    """Format a path on one line, with `*` for numbers: ``module train: global variable 'losses'[*]``."""
    return f"{steps[0].object} {steps[0].detail}".strip() + ": " + reference_text(steps) if steps else ""


def reference_text(steps: tuple[PathStep, ...]) -> str:
    """Format the references of a path on one line, without the object that it begins with."""
    # `via` is the reference from a step to the next one. No reference leaves the last step: it is the object itself.
    words = [NUMBERS.sub("[*]", step.via) for step in steps[:-1]]
    return "".join(word if word[:1] in ".[" else f" → {word}" for word in words if word).removeprefix(" → ")
