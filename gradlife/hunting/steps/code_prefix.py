"""Inserts a call at the start of a function's bytecode, for Python 3.11, which cannot monitor single functions.

A profile function would run at every call in the program, and would replace the program's own profiler. Changed code
costs nothing where the function is not called. Signature, flags, lines and handlers stay as they are.
"""

from __future__ import annotations

import dis
import opcode
from collections.abc import Callable, Iterator
from types import CodeType

#: Bytes of an instruction, or of an inline cache entry after one.
UNIT = 2

#: Most units that an entry of the location table covers, and the bit that marks the first byte of an entry.
MAX_UNITS = 8
FIRST_BYTE = 0x80

#: Kinds of entries of the location table (Objects/locations.md in CPython): one line and columns, the line, all, none.
ONE_LINE, NO_COLUMNS, LONG, NONE = 10, 13, 14, 15

#: The exception table has six bits of a number per byte. MORE marks that a byte follows, BEGINS the start of an entry.
MORE, BEGINS = 0x40, 0x80


def with_call(code: CodeType, call: Callable[[], object]) -> CodeType:
    """Return the code with a call of ``call`` before its first statement; ValueError if it has no RESUME."""
    at = after_resume(code.co_code)
    prefix = call_of_constant(len(code.co_consts))
    return code.replace(
        co_code=code.co_code[: at * UNIT] + prefix + code.co_code[at * UNIT :],
        co_consts=(*code.co_consts, call),
        co_stacksize=max(code.co_stacksize, 3),
        co_linetable=longer_locations(code.co_linetable, at, len(prefix) // UNIT),
        co_exceptiontable=moved_handlers(code.co_exceptiontable, at, len(prefix) // UNIT),
    )


def after_resume(instructions: bytes) -> int:
    """Return the unit after the first RESUME: by then cells exist, and a generator has started."""
    for at in range(0, len(instructions), UNIT):
        if instructions[at] == dis.opmap["RESUME"]:
            return at // UNIT + 1
    raise ValueError("the code has no RESUME")


def call_of_constant(number: int) -> bytes:
    """Return instructions that call a constant and drop the result."""
    parts = instruction("PUSH_NULL") + instruction("LOAD_CONST", number)
    return parts + instruction("PRECALL") + instruction("CALL") + instruction("POP_TOP")


def instruction(name: str, argument: int = 0) -> bytes:
    """Return one instruction with its extended arguments and its inline cache."""
    number = dis.opmap[name]
    extended = [argument >> shift & 0xFF for shift in (24, 16, 8) if argument >> shift]
    words = [(dis.opmap["EXTENDED_ARG"], one) for one in extended] + [(number, argument & 0xFF)]
    caches: int = opcode._inline_cache_entries[number]  # type: ignore[attr-defined]
    return b"".join(map(bytes, words)) + bytes(UNIT * caches)


def longer_locations(table: bytes, at: int, count: int) -> bytes:
    """Insert ``count`` units without a line into the location table, before unit ``at``."""
    parts: list[bytes] = []
    position = 0
    for entry in location_entries(table):
        length = (entry[0] & 7) + 1
        before = at - position
        if before == 0:
            parts.append(unlocated(count))
        if 0 < before < length:
            parts += [resized(entry, before), unlocated(count), resized(at_same_line(entry), length - before)]
        else:
            parts.append(entry)
        position += length
    if position <= at:
        parts.append(unlocated(count))
    return b"".join(parts)


def location_entries(table: bytes) -> Iterator[bytes]:
    """Yield the entries, each from a byte with the high bit to the next."""
    starts = [number for number, byte in enumerate(table) if byte & FIRST_BYTE]
    for start, end in zip(starts, [*starts[1:], len(table)], strict=True):
        yield table[start:end]


def unlocated(count: int) -> bytes:
    """Return entries without a line for this many units."""
    whole, rest = divmod(count, MAX_UNITS)
    lengths = [MAX_UNITS] * whole + ([rest] if rest else [])
    return bytes(FIRST_BYTE | NONE << 3 | length - 1 for length in lengths)


def resized(entry: bytes, length: int) -> bytes:
    """Return the entry for another number of units."""
    return bytes([entry[0] & ~7 | length - 1]) + entry[1:]


def at_same_line(entry: bytes) -> bytes:
    """Return the entry for use after one of the same line: it does not advance the line again."""
    kind = entry[0] >> 3 & 15
    if ONE_LINE <= kind < NO_COLUMNS:
        return bytes([FIRST_BYTE | ONE_LINE << 3 | entry[0] & 7]) + entry[1:]
    if kind in (NO_COLUMNS, LONG):
        end = next(number for number, byte in enumerate(entry[1:], 1) if not byte & MORE)
        return entry[:1] + b"\0" + entry[end + 1 :]
    return entry


def moved_handlers(table: bytes, at: int, count: int) -> bytes:
    """Move starts, ends and targets in the exception table by ``count`` units, if they are after unit ``at``."""
    moved = bytearray()
    for start, length, target, depth in handlers(table):
        end = start + length
        first = start + count if start >= at else start
        last = end + count if end > at else end
        numbers = (first, last - first, target + count if target >= at else target, depth)
        parts = [packed(number) for number in numbers]
        parts[0] = bytes([parts[0][0] | BEGINS]) + parts[0][1:]
        moved += b"".join(parts)
    return bytes(moved)


def handlers(table: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Yield the entries: start, length and target in units, and the depth with the last-instruction flag."""
    numbers: list[int] = []
    value = 0
    for byte in table:
        value = value << 6 | byte & (MORE - 1)
        if not byte & MORE:
            numbers.append(value)
            value = 0
    for first in range(0, len(numbers), 4):
        start, length, target, depth = numbers[first : first + 4]
        yield start, length, target, depth


def packed(number: int) -> bytes:
    """Encode a number with six bits per byte, highest first."""
    parts = [number & MORE - 1]
    while number := number >> 6:
        parts.append(number & MORE - 1 | MORE)
    return bytes(reversed(parts))
