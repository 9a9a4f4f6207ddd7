"""Allocator states as pickles with wrong values. Run with `make pickle-mutants`, or with `ARGS="--count 100"`.

Each mutant is what `torch.cuda.memory._dump_snapshot` writes, with some values replaced, removed, nested or put in two
places, pickled by any protocol; some have wrong bytes. `gradlife open` must refuse the file with one line, or show it,
within memory and time by its size, and no output may have what its reader would act on.
"""

from __future__ import annotations

import pickle
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.hardening.mutants import command, run, write

sys.path.extend(str(Path(__file__).parents[2] / "tests" / part) for part in ("support", "devices/support"))
from allocator_files import NATIVE, block, frame, out_of_memory, segment, snapshot

STATES = ("active_allocated", "active_awaiting_free", "active_pending_free", "inactive")
TEXTS = (
    "train.py", "/a/b/train.py", "??", "\x1b]0;x\x07", "\x9b\u202e\u2066", "x\r\n::error::forged", "##[error]forged", "\ud800",
    "x" * 5000, "cublasLtCreate", "",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, 0, 1, -1, 2**31, 2**53, 2**64 - 1, 2**64, 10**400, 0.5, float("nan"), float("inf"), *TEXTS, [], {}, (), [[]],
    (1, 2, 3), {"": None}, b"x", {1, 2}, frozenset(), {1: 2}, {(): 1},
)  # fmt: skip
FORMATS = ("json", "html", "svg", "terminal", "terminal")

#: Operations whose number or length a mutant makes wrong: memo, texts, bytes, integers, frames, extensions, calls.
OPERATIONS = (
    b"pqrghjTUXBC\x8c\x8d\x8e\x8a\x8b\x94\x95\x96\x97\x82\x83\x84RbcioPQ()]}.012aestul\x85\x86\x87\x90\x91\x93\xff"
)


def random_state(rng: random.Random) -> dict[str, Any]:
    """Make the state of an allocator that no program ever had."""
    stacks = [
        [frame(rng.choice(TEXTS), rng.randrange(99), rng.choice(TEXTS)) for _ in range(rng.randrange(4))]
        for _ in range(3)
    ]
    segments = []
    for number in range(rng.randrange(6)):
        blocks = [
            {**block(rng.randrange(1 << 20), rng.choice(STATES)), "frames": rng.choice((*stacks, NATIVE))}
            for _ in range(rng.randrange(8))
        ]
        pool = rng.choice(((0, 0), (0, 0), (1, 0), (0, 2)))
        fields = {"device": rng.randrange(3), "segment_pool_id": pool, "is_expandable": rng.random() < 0.2}
        segments.append(segment(number << 30, *blocks, **fields))
    requests = [out_of_memory(1 << 30, 5, *stacks[0]), {"action": "alloc", "size": rng.randrange(1 << 31)}]
    return snapshot(*segments, traces=tuple(rng.sample(requests, rng.randrange(3)) for _ in range(rng.randrange(3))))


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every container that can be changed with each key in it; what is in two places, once."""
    seen: set[int] = set()
    waiting = [value]
    while waiting:
        container = waiting.pop()
        if id(container) in seen:
            continue
        seen.add(id(container))
        keys = list(container) if isinstance(container, dict) else list(range(len(container)))
        for key in keys:
            if not isinstance(container, tuple):
                yield container, key
            if isinstance(container[key], (dict, list, tuple)):
                waiting.append(container[key])


def mutate(state: Any, rng: random.Random) -> None:
    """Replace, remove, repeat or exchange up to four values; a value that is put elsewhere is the same object."""
    for _ in range(rng.choice((0, 1, 1, 2, 3, 4))):
        found = list(places(state))
        if not found:
            return
        container, key = rng.choice(found)
        other, of = rng.choice(found)
        chance = rng.random()
        if chance < 0.5:
            alike = [one for one in VALUES if type(one) is type(container[key])]
            container[key] = rng.choice(alike if alike and rng.random() < 0.8 else VALUES)
        elif chance < 0.8:
            container[key] = other[of]  # perhaps in itself
        elif chance < 0.9 or isinstance(container, dict):
            del container[key]
        else:
            container += container[: 1 << 10]


def with_wrong_bytes(data: bytes, rng: random.Random) -> bytes:
    """Replace some bytes: lengths, numbers, operations."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(2, len(changed))
        chance = rng.random()
        if chance < 0.4:
            changed[at] = rng.choice(OPERATIONS)
        elif chance < 0.7:
            changed[at : at + 4] = rng.choice((b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\x00\x00\x00\x00"))
        elif chance < 0.9:
            changed[at:at] = bytes((rng.choice(OPERATIONS),)) + rng.randbytes(rng.randrange(5))
        else:
            del changed[at:]
            break
    return bytes(changed)


def try_mutant(seed: int, folder: Path) -> str:
    """Open one mutant and return the outcome."""
    rng = random.Random(seed)
    state = random_state(rng)
    mutate(state, rng)
    try:
        data = pickle.dumps(state, rng.randrange(2, pickle.HIGHEST_PROTOCOL + 1))
    except RecursionError:
        data = b"\x80\x02N."
    if rng.random() < 0.25:
        data = with_wrong_bytes(data, rng)
    file = folder / "x.pickle"
    write(file, data)
    return show(file, folder, rng.choice(FORMATS))


def show(file: Path, folder: Path, name: str) -> str:
    """Show a file on the terminal or in a format."""
    page = folder / f"page.{name}"
    page.unlink(missing_ok=True)
    words = ["--all"] if name == "terminal" else [f"--{name}", str(page)]
    return command(["open", str(file), *words], [page])


def show_one_that_is_whole() -> None:
    """Show a file in every format once: children that are forked after that have all imports and templates."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "x.pickle")
        file.write_bytes(pickle.dumps(random_state(random.Random(0))))
        for name in FORMATS:
            show(file, Path(folder), name)


if __name__ == "__main__":
    sys.exit(run(__doc__, try_mutant, show_one_that_is_whole))
