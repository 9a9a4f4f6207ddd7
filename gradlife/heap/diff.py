"""Compare two heap graphs, by type and by place. A place is the path of references that holds an object, with `*` for
numbers.

Two graphs of the same process are compared object by object, others by the number of objects of each type.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from gradlife import _heap
from gradlife.heap.object_lists import describe_object
from gradlife.heap.path_steps import merged_steps
from gradlife.heap.program_paths import ProgramPaths
from gradlife.model.heap import HeapDiff, PathChange, TypeChange
from gradlife.model.trace import PathStep

#: Number of new objects of each type that are shown with a path.
MAX_EXAMPLES = 3

#: Number of places that are shown, of the program and of all others: those that changed most.
MAX_PATHS = 200

#: Number of places among which those of the program are looked for.
MAX_LOOKED = 5_000

#: An index or a key that is a number or a tuple, such as `[3]`, `[-1]` or `[(0, 1)]`.
NUMBERS = re.compile(r"\[[-(\d][^\]]*\]")


def compare(before: ProgramPaths, after: ProgramPaths, *, by_identity: bool) -> HeapDiff:
    """Return the changes by type, and by place if both graphs have labels. ``by_identity``: both are of one process."""
    graphs = before.graph, after.graph
    types = changed_objects(*graphs) if by_identity else changed_counts(*graphs)
    paths = changed_paths(before, after) if all(graph.has_labels for graph in graphs) else []
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


def changed_paths(before: ProgramPaths, after: ProgramPaths) -> list[PathChange]:
    """Return the places that hold another number of objects or bytes than before, the largest change first: at most
    `MAX_PATHS` of the program, and as many others.
    """

    def largest_first(row: PathRow) -> tuple[int, int]:
        (_, old_bytes), (_, new_bytes), node, _ = row
        return -abs(new_bytes - old_bytes), node

    rows = sorted(_heap.compare_paths(before.graph, after.graph), key=largest_first)
    found: list[PathChange] = []
    left = {True: MAX_PATHS, False: MAX_PATHS}
    for (old_count, old_bytes), (new_count, new_bytes), node, is_in_after in rows[:MAX_LOOKED]:
        paths = after if is_in_after else before  # of the graph that `node`, an example of the place, is in
        is_program = paths.is_held_by_program(node)
        if left[is_program]:
            left[is_program] -= 1
            text, name = path_text(merged_steps(paths.graph.path_references(node))), paths.graph.type(node)
            found.append(PathChange(text, name, old_count, new_count, old_bytes, new_bytes, is_program))
        if not any(left.values()):
            break
    return found


def path_text(steps: Sequence[PathStep]) -> str:
    """Format a path on one line, with `*` for numbers: ``module train: global variable 'losses'[*]``."""
    return f"{steps[0].object} {steps[0].detail}".strip() + ": " + reference_text(steps) if steps else ""


def reference_text(steps: Sequence[PathStep]) -> str:
    """Format the references of a path on one line, without the object that it begins with."""
    # `via` is the reference from a step to the next one. No reference leaves the last step: it is the object itself.
    words = [NUMBERS.sub("[*]", step.via) for step in steps[:-1]]
    return "".join(word if word[:1] in ".[" else f" → {word}" for word in words if word).removeprefix(" → ")
