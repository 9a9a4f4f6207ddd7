"""Ask why an object is alive in deep and wide heaps, beside a bare walk of the same heap. Run with `make bench-depth`.

Each case is a process: it builds the heap, then asks the bare walk of benchmarks/heap (a graph of what the collector tracks,
and the path to the object) and gradlife, in turns. Times are CPU seconds, the least of three rounds. The exit status is 1 if a
question takes more than a second longer than the bare walk. `ARGS="-k chain --size 100000"` chooses cases and their size.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

#: CPU seconds above the bare walk.
MORE = 1.0
ROUNDS = 3


class Link:
    """One object of a chain."""

    def __init__(self, following: object = None) -> None:
        self.following = following


class Target:
    """The object that is asked about."""


#: What the built heap is held by.
HELD: list[object] = []


def chain(size: int) -> object:
    """A linked list: the last of a million links holds the target."""
    target = Target()
    HELD.append(linked(target, size))
    return target


def referrers(size: int) -> object:
    """A million objects refer to the target."""
    target = Target()
    HELD.extend(Link(target) for _ in range(size))
    return target


def cycle(size: int) -> object:
    """A ring of a million objects that no root reaches."""
    target: Any = Target()
    target.following = linked(target, size)
    return target


def autograd(size: int) -> object:
    """A graph of a million nodes, whose leaf is the target."""
    import torch

    leaf = torch.ones(1, requires_grad=True)
    value = leaf
    for _ in range(size):
        value = value + 1
    HELD.append(value)
    return leaf


def tensors(size: int) -> object:
    """A list of a hundred thousand tensors."""
    import torch

    found = [torch.zeros(1) for _ in range(size // 10)]
    HELD.append(found)
    return found[len(found) // 2]


def entries(size: int) -> object:
    """A dict of five million keys."""
    target = Target()
    table: dict[int, object] = dict.fromkeys(range(5 * size))
    table[3 * size] = target
    HELD.append(table)
    return target


def modules(size: int) -> object:
    """A model of a hundred thousand modules."""
    import torch

    layers = torch.nn.ModuleList(torch.nn.Identity() for _ in range(size // 10))
    HELD.append(layers)
    return layers[len(layers) // 2]


CASES: dict[str, Callable[[int], object]] = {
    one.__name__: one for one in (chain, referrers, cycle, autograd, tensors, entries, modules)
}


def linked(end: object, count: int) -> object:
    """Return the first of this many links that lead to an object."""
    for _ in range(count):
        end = Link(end)
    return end


def questions(target: weakref.ref[Any]) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield each question with its name. The first is the bare walk's."""
    import gradlife
    from benchmarks.heap.limit import load_limit

    limit = load_limit()
    yield "bare walk", lambda: limit.path_length(target())
    yield "why", lambda: str(gradlife.why(target()))
    yield "refs", lambda: str(gradlife.refs(target()))
    taken = gradlife.snapshot()
    address = id(target())
    yield "why, of a snapshot", lambda: str(taken.why(address))
    yield "cycles", lambda: taken.cycles()


def ask(name: str, size: int) -> None:
    """Build one heap, ask about it, and print the seconds of each question as a line of JSON."""
    gc.disable()
    target = weakref.ref(CASES[name](size))
    seconds: dict[str, float] = {}
    for question, answer in list(questions(target)) * ROUNDS:
        start = time.process_time()
        answer()
        seconds[question] = min(seconds.get(question, 1e9), time.process_time() - start)
    print(json.dumps(seconds))


def main() -> int:
    """Print a table: the rows are the cases, the columns the questions."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("-k", default="", help="cases whose name has this text")
    parser.add_argument("--size", type=int, default=1_000_000, help="objects of a chain; other cases in proportion")
    parser.add_argument("--case", choices=CASES, help="build and ask in this process")
    options = parser.parse_args()
    if options.case:
        ask(options.case, options.size)
        return 0
    is_slow = False
    for name in CASES:
        if options.k not in name:
            continue
        command = [sys.executable, "-m", "benchmarks.depth", "--case", name, "--size", str(options.size)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        seconds: dict[str, float] = json.loads(done.stdout)
        limit = seconds["bare walk"]
        over = [question for question, taken in seconds.items() if taken > limit + MORE]
        row = "  ".join(f"{question} {taken:5.2f}" for question, taken in seconds.items())
        print(f"{name:<10} {row}  (limit {limit + MORE:.2f}){''.join(f'  {one} is slow' for one in over)}", flush=True)
        is_slow = is_slow or bool(over)
    return int(is_slow)


if __name__ == "__main__":
    sys.exit(main())
