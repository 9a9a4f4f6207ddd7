"""Files that are damaged, foreign, newer or made to do harm get one line; none crashes, hangs or fills the memory."""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st

import glheap
from gradlife.errors import GradlifeError
from gradlife.heap import Snapshot, open_snapshot, snapshot
from gradlife.heap.files import SnapshotFileError
from gradlife.model.trace import Lifetime

fuzzed = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def opened(data: bytes, folder: Path) -> Snapshot:
    file = folder / "x.glheap"
    file.write_bytes(data)
    return open_snapshot(file)


def ask_everything(snapshot: Snapshot) -> None:
    """Every question, about every object."""
    graph = snapshot._graph
    snapshot.largest(5)
    snapshot.cycles(5)
    snapshot.devices()
    snapshot.diff(snapshot)
    for row in snapshot.types():
        snapshot.holders(row.type)
        snapshot.instances(row.type, 3)
    for node in range(graph.node_count):
        snapshot.why(graph.describe(node)[2])
        graph.dominator(node)


@pytest.mark.parametrize("made", [glheap.small_heap, glheap.narrow_heap])
def test_file_made_by_hand_is_read(made: Callable[[], glheap.Sketch], tmp_path: Path) -> None:
    snapshot = opened(made().data(), tmp_path)
    assert (snapshot.objects, snapshot.references, snapshot.bytes) == (4, 7, 5_000_000_168)
    assert snapshot.devices() == {"cpu": 5_000_000_000}
    assert (snapshot.retained(0x7020), snapshot.retained(0x7030)) == (5_000_000_104, 5_000_000_048)
    trace = snapshot.why("Thing")
    assert [(step.object, step.via) for step in trace.steps] == [
        ("interpreter", "sys.modules"),
        ("dict", "['key']"),
        ("list", "[0]"),
        ("Thing", ""),
    ]
    assert (trace.lifetime, trace.ledger.count, trace.ledger.unaccounted) == (Lifetime.HELD, 3, 1)
    assert snapshot.cycles()[0].objects == 2
    ask_everything(snapshot)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"magic": b"PK\3\4abcd"}, "is no snapshot of gradlife"),
        ({"version": 3}, r"was written by a newer gradlife \(format 3, known here: 2\) \(try: a newer gradlife\)"),
        ({"byte_order": 0x04030201}, "is damaged: its byte order is unknown"),
        ({"nodes": 0}, "is damaged: it has too many objects"),
        ({"nodes": 1 << 60}, "is damaged: it has too many objects"),
        ({"nodes": 1 << 30}, "is damaged: a section has the wrong size"),
        ({"edges": 8}, "is damaged: a section has the wrong size"),
        ({"tracked": (5, 2)}, "is damaged: the collector's objects lie outside of it"),
    ],
)
def test_wrong_header(change: dict[str, object], message: str, tmp_path: Path) -> None:
    sketch = glheap.small_heap()
    vars(sketch).update(change)
    with pytest.raises(SnapshotFileError, match=message):
        opened(sketch.data(), tmp_path)


@pytest.mark.parametrize(
    ("section", "values", "message"),
    [
        (glheap.TYPES, ("H", [0, 1, 2, 3, 4, 6]), "an object is of no known type"),
        (glheap.FIRST, ("I", [0, 1, 2, 8, 5, 7, 7]), "its rows of references overlap"),
        (glheap.FIRST, ("I", [0, 1, 2, 3, 5, 7, 8]), "its rows of references overlap"),
        (glheap.REFERENCES, ("I", [1, 2, 3, 4, 4, 3, 6]), "a reference leads nowhere"),
        (glheap.HIDDEN, ("I", [4, 3]), "a reference lies outside of its object"),
        (glheap.HIDDEN, ("I", [6, 0]), "a number belongs to no object"),
        (glheap.HIDDEN, ("I", [1, 0, 1, 0]), "its numbers are in no order"),
        (glheap.HIDDEN, ("I", [2, 0, 1, 0]), "its numbers are in no order"),
        (glheap.BIG_SIZES, ("Q", []), "the size of an object is missing"),
        (glheap.TYPE_INFO, ("Q", [0, 9] * 6), "a type is of no known kind"),
        (glheap.NAME_ENDS, ("I", [0, 7, 3, 22, 26, 36, 51]), "its texts overlap"),
        (glheap.TEXT_ENDS, ("I", [0, 0, 3, 8, 13, 24, 4_000_000]), "its texts overlap"),
        (glheap.DESCRIPTIONS, ("I", [0, 0, 2, 2, 0, 6]), "an object has no text"),
        (glheap.ARRIVALS, ("I", [0, 0, 0, 0, 0, 3 << 27 | 6]), "a reference has no text"),
        (glheap.ARRIVALS, ("I", [0, 0, 0, 0, 0, 31 << 27]), "a reference is of no known kind"),
        (glheap.OTHERS, ("I", [7, 0]), "a label belongs to no reference"),
        (glheap.OTHERS, ("I", [4, 0, 4, 0]), "its labels are in no order"),
        (glheap.BORROWED, ("Q", [6, 1]), "a number belongs to no object"),
        (glheap.BORROWED, ("Q", [4, 1, 4, 1]), "its numbers are in no order"),
        (glheap.SEQUENCE_NUMBERS, ("Q", [6, 1]), "a number belongs to no object"),
        (glheap.SEQUENCE_NUMBERS, ("Q", [4, 1, 3, 1]), "its numbers are in no order"),
        (glheap.NOTES, ("B", [65] * 4_200_000), "a section has the wrong size"),
    ],
)
def test_number_that_is_no_place(section: int, values: tuple[str, list[int]], message: str, tmp_path: Path) -> None:
    sketch = glheap.small_heap()
    sketch.sections[section] = (sketch.sections.get(section, (16,))[0], glheap.numbers(*values)[1])
    with pytest.raises(SnapshotFileError, match=f"x.glheap is damaged: {message}"):
        opened(sketch.data(), tmp_path)


def test_memory_that_belongs_to_another_object_is_no_part_of_a_size(tmp_path: Path) -> None:
    sketch = glheap.small_heap()
    sketch.sections[glheap.BORROWED] = glheap.pairs("Q", 4, 700, 5, 3_000_000_000)
    graph = opened(sketch.data(), tmp_path)._graph
    assert (graph.describe(4).bytes, graph.borrowed(4), graph.borrowed(3)) == (48, 700, 0)
    assert graph.borrowed_bytes == 3_000_000_700


def test_grad_nodes_have_the_numbers_that_torch_gave_them(tmp_path: Path) -> None:
    sketch = glheap.small_heap()
    sketch.sections[glheap.SEQUENCE_NUMBERS] = glheap.pairs("Q", 4, 0, 5, 1 << 40)
    graph = opened(sketch.data(), tmp_path)._graph
    assert [graph.sequence_number(node) for node in (3, 4, 5)] == [None, 0, 1 << 40]


@pytest.mark.parametrize(
    ("section", "values", "message"),
    [
        (glheap.FIRST, ("B", [1, 1, 1, 255, 2, 1]), "it has more references than it says"),
        (glheap.FIRST, ("B", [1, 1, 1, 255, 1, 0]), "its rows of references overlap"),
        (glheap.FIRST, ("B", [1, 1, 1, 255, 255, 0]), "a number of references is missing"),
        (glheap.FIRST, ("B", [1, 1, 1, 255, 2]), "a section has the wrong size"),
        (glheap.LONG_ROWS, ("I", []), "a number of references is missing"),
        (glheap.LONG_ROWS, ("I", [2, 2]), "a number of references is missing"),
        (glheap.LONG_ROWS, ("I", [3, 0xFFFFFFFF]), "it has more references than it says"),
        (glheap.SIZES, ("H", [0xFFFF, 0, 64, 56, 48, 0xFFFF]), "the size of an object is missing"),
        (glheap.SIZES, ("B", [0] * 6), "a section has the wrong size"),
        (glheap.LABEL_GAPS, ("B", []), "a section has the wrong size"),
        (glheap.LABEL_GAPS, ("B", [7]), "a label belongs to no reference"),
        (glheap.LONG_GAPS, ("I", []), "the place of a label is missing"),
        (glheap.LONG_GAPS, ("I", [0xFFFFFFFF]), "a label belongs to no reference"),
        (glheap.LATENT, ("I", [6, 3, 5, 0xFFFFFFFF, 1, 0]), "a reference that may be shown leads nowhere"),
        (glheap.LATENT, ("I", [4, 3, 5, 6, 1, 0]), "a reference that may be shown leads nowhere"),
        (glheap.LATENT, ("I", [4, 3, 0xFFFFFFFF, 5, 1, 0]), "a reference that may be shown leads nowhere"),
        (glheap.LATENT, ("I", [4, 3, 5]), "a section has the wrong size"),
    ],
)
def test_narrow_number_that_is_wrong(section: int, values: tuple[str, list[int]], message: str, tmp_path: Path) -> None:
    sketch = glheap.narrow_heap()
    width = {glheap.LONG_ROWS: 8, glheap.LATENT: 24}.get(section, glheap.numbers(*values)[0])
    sketch.sections[section] = (width, glheap.numbers(*values)[1])
    with pytest.raises(SnapshotFileError, match=f"x.glheap is damaged: {message}"):
        opened(sketch.data(), tmp_path)


def test_rows_and_sizes_of_any_length_come_back_as_they_were(tmp_path: Path) -> None:
    held = [[object() for _ in range(length)] for length in (0, 1, 254, 255, 256, 70_000)]
    before = snapshot()
    before.save(tmp_path / "x.glheap")
    after = open_snapshot(tmp_path / "x.glheap")
    for each in held:
        node = before._graph.find(id(each))
        assert node is not None
        assert after._graph.describe(node) == before._graph.describe(node)
        assert after._graph.referents(node) == before._graph.referents(node)
        assert len(after._graph.referents(node)) == len(each)


@pytest.mark.parametrize("section", range(1, 18))
def test_missing_section(section: int, tmp_path: Path) -> None:
    sketch = glheap.small_heap()
    del sketch.sections[section]
    if section == glheap.ARRIVALS:  # those are what says that there are labels
        assert not opened(sketch.data(), tmp_path)._graph.has_labels
        return
    with pytest.raises(SnapshotFileError, match="is damaged: a section is missing"):
        opened(sketch.data(), tmp_path)


def test_every_shorter_file_ends_too_early_or_is_none(tmp_path: Path) -> None:
    data = glheap.small_heap().data()
    for length in range(0, len(data), 3):
        with pytest.raises(SnapshotFileError, match=r"ends too early|is no snapshot of gradlife"):
            opened(data[:length], tmp_path)


def test_every_flipped_bit_is_noticed_or_harmless(tmp_path: Path) -> None:
    data = glheap.small_heap().data()
    for bit in range(0, 8 * len(data), 5):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        refusal = ""
        try:
            ask_everything(opened(bytes(changed), tmp_path))
        except GradlifeError as error:
            refusal = str(error)
        assert "\n" not in refusal


VALUES = st.sampled_from([0, 1, 2, 5, 6, 7, 255, 65_535, 1 << 27, 5 << 27, (1 << 31) - 1, (1 << 32) - 1])


@st.composite
def changes(draw: st.DrawFn) -> bytes:
    """A file with wrong numbers and right checksums."""
    sketch = glheap.small_heap()
    for section in draw(st.lists(st.integers(1, 17), max_size=3)):
        size, data = sketch.sections[section]
        changed = bytearray(data)
        for _ in range(draw(st.integers(0, 3))):
            if len(changed) >= 4:
                at = draw(st.integers(0, len(changed) // 4 - 1)) * 4
                changed[at : at + 4] = struct.pack("<I", draw(VALUES))
        cut = draw(st.sampled_from([0, 0, 0, 1, 4, 8]))
        sketch.sections[section] = (
            draw(st.sampled_from([size, size, size, 1, 8])),
            bytes(changed[: len(changed) - cut]),
        )
    if draw(st.booleans()):
        sketch.tracked = (draw(st.integers(0, 7)), draw(st.integers(0, 7)))
        sketch.nodes = draw(st.sampled_from([6, 6, 1, 5, 7]))
    whole: bytes = sketch.data()
    return whole


@given(changes())
@fuzzed
def test_wrong_numbers_with_right_checksums_are_refused_or_harmless(tmp_path: Path, data: bytes) -> None:
    refusal = ""
    try:
        ask_everything(opened(data, tmp_path))
    except GradlifeError as error:
        refusal = str(error)
    assert "\n" not in refusal


@given(st.binary(max_size=400))
@example(b"")
@example(b"GLHEAP\r\n")
@fuzzed
def test_any_bytes_are_refused(tmp_path: Path, data: bytes) -> None:
    for content in (data, glheap.small_heap().data()[:80] + data):
        with pytest.raises(SnapshotFileError):
            opened(content, tmp_path)


@given(st.data())
@fuzzed
def test_sections_at_any_place_and_of_any_length_are_refused_or_harmless(tmp_path: Path, data: st.DataObject) -> None:
    """The table of sections is wrong; its checksum, and the header's, are right."""
    whole = glheap.small_heap().data()
    count = struct.unpack_from("<Q", whole, 40)[0]
    table = bytearray(whole[80 : 80 + 32 * count])
    for _ in range(data.draw(st.integers(1, 3))):
        row = data.draw(st.integers(0, count - 1)) * 32
        field, code = data.draw(st.sampled_from([(0, "<I"), (4, "<I"), (8, "<Q"), (16, "<Q")]))
        value = data.draw(st.integers(0, len(whole) + 64) | st.integers(0, (1 << 8 * struct.calcsize(code)) - 1))
        struct.pack_into(code, table, row + field, value)
    head = bytearray(whole[:72])
    struct.pack_into("<Q", head, 64, glheap.checksum(bytes(table)))
    changed = bytes(head) + struct.pack("<Q", glheap.checksum(bytes(head))) + bytes(table) + whole[80 + 32 * count :]
    refusal = ""
    try:
        ask_everything(opened(changed, tmp_path))
    except GradlifeError as error:
        refusal = str(error)
    assert "\n" not in refusal
    assert "its header" not in refusal
    assert "its table" not in refusal


# --- files that are none ---


def test_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SnapshotFileError, match=r"cannot read .*x: no such file or directory \(try: "):
        open_snapshot(tmp_path / "x")


def test_folder_and_pipe_are_no_snapshots(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(SnapshotFileError, match=re.escape(f"{path} is no ordinary file (try: ")):
            open_snapshot(path)


def test_name_with_a_zero_in_it() -> None:
    with pytest.raises(SnapshotFileError, match="cannot read"):
        open_snapshot("x\0y")
