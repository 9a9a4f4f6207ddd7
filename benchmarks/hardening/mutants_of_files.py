"""Snapshot files with wrong numbers and right checksums. Run with `make file-mutants`, or with `ARGS="--count 100"`.

Each mutant is a random heap with some numbers replaced, and with notes and names of a stranger. It is opened and asked
everything, and shown by the commands, in a child with limits by the size of the file. The file must be refused with one
line, or every answer must come, and no output may have what its reader would act on. Exit status 0 if so.
"""

from __future__ import annotations

import argparse
import json
import random
import struct
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from benchmarks.hardening.mutants import check, command, run, write, wrong
from benchmarks.hardening.mutants_of_json import mutate as mutate_document
from gradlife.cli.open import view_of
from gradlife.cli.pages import snapshot_page
from gradlife.errors import GradlifeError
from gradlife.heap import Snapshot, open_snapshot
from gradlife.model.device.codec import note_of
from gradlife.reports.formats.json.document import heap_text
from gradlife.visible_text import visible_json

sys.path.extend(str(Path(__file__).parents[2] / "tests" / part) for part in ("support", "devices/support"))
import fabricated_devices
import glheap

UNUSUAL = (0, 1, 2, 5, 127, 255, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF)
WIDTHS = {1: "B", 2: "H", 4: "I", 8: "Q", 16: "Q", 24: "I"}
NAMES = [
    "process",
    "list",
    "dict",
    "a.Thing",
    "engine::Tensor",
    "\x1b[31m\u202ered",
    "torch::Storage",
    "type",
    "x" * 300,
]
WORDS = ("now", "\x1b]0;x\x07", "\x9b31m\u202e", "\r::error::x", "##[error]x", "\u2028::warning::x", "x" * 5000)
COUPLED, KEPT_WRAPPERS, TAKEN = 20, 21, 25


def random_heap(rng: random.Random) -> glheap.Sketch:
    """Make a heap of up to forty objects with valid numbers, though no process was ever in this state."""
    nodes = rng.randint(2, 40)
    rows = [[rng.randrange(nodes) for _ in range(rng.choice((0, 1, 2, 2, 3, 5)))] for _ in range(nodes)]
    rows[0] = [1]
    kinds = [5, 0, 0, 0, *(rng.randrange(6) for _ in NAMES[4:])]
    types = [0, *(rng.randrange(1, len(NAMES)) for _ in range(nodes - 1))]
    tracked = sorted(rng.randint(0, nodes) for _ in range(2))
    sketch = glheap.Sketch(nodes=nodes, edges=sum(map(len, rows)), tracked=(tracked[0], tracked[1]), version=2)
    ends = [sum(map(len, rows[:node])) for node in range(nodes + 1)]
    name_ends, names = glheap.texts(NAMES)
    sketch.sections = {
        glheap.ADDRESSES: glheap.numbers("Q", (0x1000 + 16 * node for node in range(nodes))),
        glheap.TYPES: glheap.numbers("H", types),
        glheap.SIZES: glheap.numbers("I", (rng.randrange(1 << 20) for _ in range(nodes))),
        glheap.BIG_SIZES: glheap.pairs("Q"),
        glheap.FIRST: glheap.numbers("I", ends),
        glheap.REFERENCES: glheap.numbers("I", (target for row in rows for target in row)),
        glheap.COUNTS: glheap.pairs("I", *chosen(rng, range(nodes), lambda _: rng.randrange(6))),
        glheap.TYPE_INFO: (
            16,
            b"".join(struct.pack("<QII", i, kind, rng.randrange(9)) for i, kind in enumerate(kinds)),
        ),
        glheap.NAME_ENDS: name_ends,
        glheap.NAMES: names,
        glheap.NOTES: (1, notes(rng)),
    }
    add_rules_of_rows(sketch, rng, rows, [kinds[type_] for type_ in types])
    add_words(sketch, rng)
    return sketch


def notes(rng: random.Random) -> bytes:
    """Return notes with words of a stranger, sometimes with a report of device memory some of whose values are replaced."""
    text = f"taken\t{rng.choice(WORDS)}\nprocess\t{rng.choice(WORDS)}\nlimit\t{rng.choice(WORDS)}\n"
    if rng.random() < 0.3:
        document = json.loads(note_of(fabricated_devices.report())[1])
        mutate_document(document, rng)
        text += f"device memory\t{json.dumps(document)}\n"
    return text.encode("utf-8", "replace")


def chosen(rng: random.Random, nodes: range, number: Callable[[int], int]) -> list[int]:
    """Return some of the nodes, each followed by a number."""
    return [value for node in nodes if rng.random() < 0.4 for value in (node, number(node))]


def add_rules_of_rows(sketch: glheap.Sketch, rng: random.Random, rows: list[list[int]], kinds: list[int]) -> None:
    """Add hidden references, wrappers that their native object keeps, references that the collector ignores, latent
    triples.
    """
    nodes = range(len(rows))
    shown = {node: rng.randint(0, len(rows[node])) if rng.random() < 0.6 else len(rows[node]) for node in nodes}
    kept = {node: len(rows[node]) - (shown[node] if kinds[node] == 0 else 0) for node in nodes if rng.random() < 0.6}
    taken = [node for node in kept if rows[node] and rng.random() < 0.8]
    some_node = len(rows) - 1
    latent = [
        value
        for _ in range(rng.randrange(4))
        for value in (*(rng.randint(0, some_node) for _ in range(3)), rng.choice((0xFFFFFFFF, some_node)), 0, 1)
    ]
    sketch.sections |= {
        glheap.HIDDEN: glheap.pairs("I", *(value for node in nodes for value in (node, shown[node]))),
        KEPT_WRAPPERS: glheap.pairs(
            "I", *(value for node, most in kept.items() for value in (node, rng.randint(0, most)))
        ),
        TAKEN: glheap.pairs("I", *(value for node in taken for value in (node, rng.randrange(len(rows[node]))))),
        COUPLED: glheap.numbers("I", (node for node in nodes if rng.random() < 0.4)),
        glheap.LATENT: (24, glheap.numbers("I", latent)[1]),
    }


def add_words(sketch: glheap.Sketch, rng: random.Random) -> None:
    """Add labels of any kind to every reference."""
    text_ends, words = glheap.texts(
        ["", "...", "len 1", "'key'", "sys.modules", "(1, 2)", "\u2028\u2066\r\x1b]0;x\x07"]
    )

    def label() -> int:
        return rng.randrange(16) << 27 | rng.randrange(7)

    sketch.sections |= {
        glheap.DESCRIPTIONS: glheap.numbers("I", (rng.randrange(7) for _ in range(sketch.nodes))),
        glheap.ARRIVALS: glheap.numbers("I", (label() for _ in range(sketch.nodes))),
        glheap.OTHERS: glheap.numbers("I", (label() for _ in range(sketch.edges))),
        glheap.LABEL_GAPS: glheap.numbers("B", (0 for _ in range(sketch.edges))),
        glheap.LONG_GAPS: glheap.numbers("I", ()),
        glheap.TEXT_ENDS: text_ends,
        glheap.TEXTS: words,
    }


def mutate(sketch: glheap.Sketch, rng: random.Random) -> None:
    """Replace up to three numbers, cut or repeat a section, or move the header's bounds."""
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
        number = rng.choice(list(sketch.sections))
        size, data = sketch.sections[number]
        width = {16: 8, 24: 4}.get(size, size)
        at = rng.randrange(max(len(data) // width, 1)) * width
        value = rng.choice(UNUSUAL) if rng.random() < 0.4 else rng.randrange(sketch.nodes + 2)
        changed = data[:at] + (value % (1 << 8 * width)).to_bytes(width, "little") + data[at + width :]
        sketch.sections[number] = (size, changed if rng.random() < 0.9 else data[: at // size * size])


def ask_everything(heap: Snapshot, folder: Path) -> None:
    """Ask every question about every object, write the heap and read it again."""
    graph = heap._graph
    arguments = argparse.Namespace(file="x", all=True, types=9, largest=9, cycles=9, instances=None, holders=None)
    check(visible_json(heap_text(view_of(heap, arguments))), "json")
    check(snapshot_page(heap, "x"), "html")
    for node in range(graph.node_count):
        for question in (heap.why, heap.neighbourhood, heap.retained_by_device):
            with suppress(GradlifeError):
                question(graph.describe(node)[2])
    for row in heap.types():
        heap.holders(row.type)
        heap.instances(row.type, 3)
    heap.save(folder / "y.glheap")
    again = open_snapshot(folder / "y.glheap")
    if (again.objects, again.bytes, again.types()) != (heap.objects, heap.bytes, heap.types()):
        raise AssertionError("what was saved reads differently")
    heap.diff(again)


def read_one_that_is_whole() -> None:
    """Ask everything once: children that are forked after that have all imports and templates."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "x.glheap")
        file.write_bytes(random_heap(random.Random(0)).data())
        ask_everything(open_snapshot(file), Path(folder))
        for seed in range(12):  # every format
            show(file, Path(folder), random.Random(seed))


def try_mutant(seed: int, folder: Path) -> str:
    """Read one mutant and return the outcome."""
    rng = random.Random(seed)
    sketch = random_heap(rng)
    mutate(sketch, rng)
    file = folder / "x.glheap"
    write(file, sketch.data())
    try:
        heap = open_snapshot(file)
    except GradlifeError:
        return command(["open", str(file)])
    try:
        ask_everything(heap, folder)
    except Exception as error:  # any error is a bug, and this message reports it
        return wrong(error)
    return show(file, folder, rng)


def show(file: Path, folder: Path, rng: random.Random) -> str:
    """Show the file by a command, on the terminal and in a format."""
    name = rng.choice(("json", "html", "svg", "dot", "terminal", "diff"))
    page = folder / f"page.{name}"
    page.unlink(missing_ok=True)
    if name == "terminal":
        return command(["open", str(file), "--all"])
    if name == "diff":
        return command(["diff", str(file), str(file)])
    if name == "dot":
        return command(["why", str(file), rng.choice(NAMES[1:4]), "--dot", str(page)], [page])
    return command(["open", str(file), f"--{name}", str(page)], [page])


if __name__ == "__main__":
    sys.exit(run(__doc__, try_mutant, read_one_that_is_whole))
