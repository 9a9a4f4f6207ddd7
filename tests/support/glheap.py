"""Snapshot files put together by hand, right and wrong ones: a second writer, from the description of the format alone."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass, field

WORD = (1 << 64) - 1
PRIME = 0x9E3779B97F4A7C15

ADDRESSES, TYPES, SIZES, BIG_SIZES, FIRST, REFERENCES, HIDDEN, COUNTS = range(1, 9)
TYPE_INFO, NAME_ENDS, NAMES, DESCRIPTIONS, ARRIVALS, OTHERS, TEXT_ENDS, TEXTS, NOTES = range(9, 18)
LONG_ROWS = 19
LATENT, LABEL_GAPS, LONG_GAPS = range(22, 25)
BORROWED, SEQUENCE_NUMBERS = 26, 27


def mix(value: int, word: int) -> int:
    value = ((value ^ word) * PRIME) & WORD
    return value ^ (value >> 29)


def checksum(data: bytes) -> int:
    lanes = [1, 2, 3, len(data)]
    whole = len(data) // 32 * 32
    for at in range(0, whole, 32):
        lanes = [mix(lane, word) for lane, word in zip(lanes, struct.unpack_from("<4Q", data, at), strict=True)]
    for byte in data[whole:]:
        lanes[0] = mix(lanes[0], byte)
    return mix(mix(lanes[0], lanes[1]), mix(lanes[2], lanes[3]))


def numbers(code: str, values: Iterable[int]) -> tuple[int, bytes]:
    """An array as a section: the size of an element, and the bytes."""
    items = list(values)
    return struct.calcsize("<" + code), struct.pack(f"<{len(items)}{code}", *items)


def pairs(code: str, *values: int) -> tuple[int, bytes]:
    """An array of pairs."""
    size, data = numbers(code, values)
    return 2 * size, data


def texts(values: list[str]) -> tuple[tuple[int, bytes], tuple[int, bytes]]:
    """Return where texts end, and the texts."""
    ends = [0]
    for value in values:
        ends.append(ends[-1] + len(value.encode()))
    return numbers("I", ends), (1, "".join(values).encode())


@dataclass
class Sketch:
    """A file whose every number can be changed before it is put together with checksums that are right."""

    nodes: int = 6
    edges: int = 7
    tracked: tuple[int, int] = (2, 5)
    version: int = 1
    byte_order: int = 0x01020304
    magic: bytes = b"GLHEAP\r\n"
    sections: dict[int, tuple[int, bytes]] = field(default_factory=dict)

    def data(self) -> bytes:
        offset = 80 + 32 * len(self.sections)
        table, contents = b"", b""
        for number, (size, data) in self.sections.items():
            table += struct.pack("<IIQQQ", number, size, offset + len(contents), len(data), checksum(data))
            contents += data + b"\0" * (-len(data) % 8)
        head = self.magic + struct.pack(
            "<IIQQQQQQQ",
            self.version,
            self.byte_order,
            self.nodes,
            self.edges,
            offset + len(contents),
            len(self.sections),
            *self.tracked,
            checksum(table),
        )
        return head + struct.pack("<Q", checksum(head)) + table + contents


def small_heap() -> Sketch:
    """Six objects: the process, the interpreter, a dict, a list in a cycle with a thing, and a storage below that."""
    name_ends, names = texts(["process", "interpreter", "dict", "list", "shop.Thing", "engine::Storage"])
    text_ends, words = texts(["", "...", "len 1", "'key'", "sys.modules", "storage"])
    kinds = [5, 5, 0, 0, 0, 2]
    dict_value, item, native, root = (relation << 27 for relation in (3, 5, 14, 15))
    sections = {
        ADDRESSES: numbers("Q", [8, 0x7000, 0x7010, 0x7020, 0x7030, 0x5000]),
        TYPES: numbers("H", range(6)),
        SIZES: numbers("I", [0, 0, 64, 56, 48, 0xFFFFFFFF]),
        BIG_SIZES: pairs("Q", 5, 5_000_000_000),
        FIRST: numbers("I", [0, 1, 2, 3, 5, 7, 7]),
        REFERENCES: numbers("I", [1, 2, 3, 4, 4, 3, 5]),
        HIDDEN: pairs("I", 4, 1),
        COUNTS: pairs("I", 4, 3),
        TYPE_INFO: (16, b"".join(struct.pack("<QII", 0x100 + i, kinds[i], 2) for i in range(6))),
        NAME_ENDS: name_ends,
        NAMES: names,
        DESCRIPTIONS: numbers("I", [0, 0, 2, 2, 0, 0]),
        ARRIVALS: numbers("I", [0, 0, root | 4, dict_value | 3, item | 0, native | 5]),
        OTHERS: pairs("I", 4, item | 1),
        TEXT_ENDS: text_ends,
        TEXTS: words,
        NOTES: (1, b"taken\tnow\nprocess\tone\n"),
    }
    return Sketch(sections=sections)


def narrow_heap() -> Sketch:
    """The same heap with fewer bytes a number; one row and one gap pretend to be long, one reference waits."""
    sketch = small_heap()
    sketch.version = 2
    sketch.sections[OTHERS] = numbers("I", [sketch.sections[OTHERS][1][4] | 5 << 27])
    sketch.sections[LABEL_GAPS] = numbers("B", [0xFF])
    sketch.sections[LONG_GAPS] = numbers("I", [4])
    sketch.sections[SIZES] = numbers("H", [0, 0, 64, 56, 48, 0xFFFF])
    sketch.sections[FIRST] = numbers("B", [1, 1, 1, 255, 2, 0])
    sketch.sections[LONG_ROWS] = pairs("I", 3, 2)
    sketch.sections[LATENT] = (24, numbers("I", [4, 3, 5, 0xFFFFFFFF, 1, 0])[1])
    return sketch


def chain(length: int, name: str = "list", text: str = "key") -> Sketch:
    """A chain of objects of one type, from the interpreter on; one text is the key to each and the words on it."""
    name_ends, names = texts(["process", "interpreter", "dict", name])
    text_ends, words = texts(["", "...", text])
    dict_value, root = 3 << 27, 15 << 27
    sections = {
        ADDRESSES: numbers("Q", [8, 0x7000, *(0x10000 + 16 * n for n in range(length))]),
        TYPES: numbers("H", [0, 1, 2] + [3] * (length - 1)),
        SIZES: numbers("I", [0, 0] + [64] * length),
        BIG_SIZES: pairs("Q"),
        FIRST: numbers("I", [*range(length + 2), length + 1]),
        REFERENCES: numbers("I", range(1, length + 2)),
        HIDDEN: pairs("I"),
        COUNTS: pairs("I"),
        TYPE_INFO: (16, b"".join(struct.pack("<QII", 0x100 + n, kind, 2) for n, kind in enumerate((5, 5, 0, 0)))),
        NAME_ENDS: name_ends,
        NAMES: names,
        DESCRIPTIONS: numbers("I", [0, 0] + [2] * length),
        ARRIVALS: numbers("I", [0, 0, root | 2] + [dict_value | 2] * (length - 1)),
        OTHERS: pairs("I"),
        TEXT_ENDS: text_ends,
        TEXTS: words,
        NOTES: (1, b"taken\tnow\nprocess\tone\n"),
    }
    return Sketch(sections=sections, nodes=length + 2, edges=length + 1)
