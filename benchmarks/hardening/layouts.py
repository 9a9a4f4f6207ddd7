"""Hunts on a PyTorch that can be read only in part: each field of the layout is missing, or elsewhere, one at a time.

Run with `make layouts`, or `make layouts ARGS="-k edges"`. There must be no wrong finding: a leak is found by its own
code, or the hunt could not tell; a clean program has no leak; and a report that does not know a field says so. Exit status
0 if so.
"""

from __future__ import annotations

import argparse
import collections
import importlib.metadata
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

from gradlife.heap.torch_layout import fields, torch as layouts
from gradlife.model.hunt import HuntVerdict, Severity

#: What happens to a field: it is not found, or found a word further on, as by chance.
GONE, MOVED = "gone", "moved"
STEPS = 60
WORD = 8


@dataclass(frozen=True)
class Row:
    """The result of one hunt."""

    program: str
    verdict: str
    codes: tuple[str, ...]  # of findings worth a failure
    unread: tuple[str, ...]  # the kinds that the report says were not found


# --- the programs: each makes a step ---


def losses(torch: Any) -> Callable[[], None]:
    """Keep each loss with its graph."""
    kept: list[Any] = []
    weights = torch.ones(64, requires_grad=True)
    return lambda: kept.append((weights * torch.rand(64)).sin().sum())


def contexts(torch: Any) -> Callable[[], None]:
    """Close a cycle through C++ in each step, which the collector cannot free."""

    class Kept(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    def step() -> None:
        result = Kept.apply(torch.ones(64, requires_grad=True))
        result.grad_fn.kept = result.sin()

    return step


def hidden_state(torch: Any) -> Callable[[], None]:
    """Go on from the last result without detaching it: the graph gets longer."""
    state = [torch.ones(64)]
    weights = torch.ones(64, requires_grad=True)

    def step() -> None:
        state[0] = (state[0] * weights).tanh()

    return step


def hooks(torch: Any) -> Callable[[], None]:
    """Add a hook to the same leaf in each step."""
    weights = torch.ones(64, requires_grad=True)

    def step() -> None:
        factor = torch.ones(64)
        weights.register_hook(lambda grad: grad * factor)

    return step


def training(torch: Any) -> Callable[[], None]:
    """Train with an optimizer, a bounded buffer of results, and tensors over borrowed memory. Nothing leaks."""
    model = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters())
    recent: collections.deque[Any] = collections.deque(maxlen=8)

    def step() -> None:
        optimizer.zero_grad()
        batch = torch.frombuffer(bytearray(16 * 4 * 4), dtype=torch.float32).view(4, 16)
        loss = torch.utils.checkpoint.checkpoint(model, batch, use_reentrant=False).square().mean()
        loss.backward()
        optimizer.step()
        recent.append(loss.detach())

    return step


def bounded_graphs(torch: Any) -> Callable[[], None]:
    """Keep the graphs of the last results, one with a hook and one with packed tensors. Nothing leaks."""
    weights = torch.ones(64, requires_grad=True)
    recent: collections.deque[Any] = collections.deque(maxlen=4)

    def step() -> None:
        with torch.autograd.graph.saved_tensors_hooks(lambda one: one.detach().clone(), lambda one: one):
            packed = (weights * 3).sin()
        hooked = (weights + 1).exp()
        hooked.register_hook(lambda grad: grad + packed.detach())
        hooked.grad_fn.register_prehook(lambda grads: grads)
        recent.append((packed, hooked.sum()))

    return step


PROGRAMS = (losses, contexts, hidden_state, hooks, training, bounded_graphs)
NAMES = tuple(one.__name__ for one in PROGRAMS)


# --- one layout, in a process of its own ---


def mutate(field: str, how: str) -> None:
    """Make the search for the layout lose a field, or find it elsewhere."""
    find = fields.find_layout

    def found(toys: Any) -> dict[str, Any]:
        layout = find(toys)
        value = layout.pop(field, None)
        if how == MOVED and type(value) is int:
            layout[field] = value + WORD
        return layout

    vars(layouts)["find_layout"] = found


def hunts(names: Sequence[str]) -> Iterator[Row]:
    """Hunt each of these programs."""
    import torch
    import torch.utils.checkpoint

    import gradlife

    for make in (one for one in PROGRAMS if one.__name__ in names):
        step = make(torch)
        report = gradlife.hunt(step, steps=STEPS)
        codes = sorted({one.code for one in report.findings if one.severity.is_at_least(Severity.MAJOR)})
        unread = report.unread.kinds if report.unread is not None else ()
        yield Row(make.__name__, report.verdict.value, tuple(codes), unread)


def version() -> str:
    """Return the version of the PyTorch that is installed."""
    return importlib.metadata.version("torch")


def rows_of(field: str, how: str, names: Sequence[str] = NAMES) -> list[Row]:
    """Hunt some of the programs in a process of its own, with a field gone or moved. Raises RuntimeError if it fails."""
    command = [sys.executable, "-m", "benchmarks.hardening.layouts", "--one", field, how, *names]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode:
        raise RuntimeError(f"{field} {how}: {done.stderr[-2000:]}")
    return [
        Row(one["program"], one["verdict"], tuple(one["codes"]), tuple(one["unread"]))
        for one in json.loads(done.stdout)
    ]


# --- the judgement ---


def wrong(field: str, rows: list[Row], known: list[Row]) -> Iterator[str]:
    """Yield what is wrong with the hunts of a layout without a field; ``known``: those of the whole layout."""
    by_name = {one.program: one for one in known}
    for row in rows:
        right = by_name[row.program]
        if row.verdict == HuntVerdict.LEAK.value and not set(row.codes) <= set(right.codes):
            yield f"{row.program}: accused of {', '.join(row.codes)}, it is {', '.join(right.codes) or right.verdict}"
        if row.verdict not in (right.verdict, HuntVerdict.INCONCLUSIVE.value):
            yield f"{row.program}: {row.verdict}, it is {right.verdict}"
        if layouts.MEANINGS[field] not in row.unread:
            yield f"{row.program}: its report does not say that {layouts.MEANINGS[field]!r} was not found"


def main(args: list[str] | None = None) -> int:
    """Hunt with every mutated layout."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-k", default="", help="only fields whose names contain this")
    parser.add_argument("--how", choices=(GONE, MOVED), help="only this mutation")
    parser.add_argument("--programs", nargs="+", choices=NAMES, default=NAMES, help="only these programs")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--one", nargs="+", metavar=("FIELD", "HOW PROGRAM"), help="hunt in this process, and print JSON"
    )
    given = parser.parse_args(args)
    if given.one:
        field, how, *names = given.one
        mutate(field, how)
        print(json.dumps([asdict(one) for one in hunts(names)]))
        return 0
    known = rows_of("", GONE, given.programs)
    for row in known:
        print(f"{row.program}: {row.verdict} {' '.join(row.codes)}")
    cases = [
        (one, how) for how in (GONE, MOVED) if given.how in (None, how) for one in layouts.MEANINGS if given.k in one
    ]
    failures = undecided = 0
    with ThreadPoolExecutor(given.jobs) as pool:
        results = pool.map(lambda one: rows_of(one[0], one[1], given.programs), cases)
        for (field, how), rows in zip(cases, results, strict=True):
            found = [*wrong(field, rows, known)]
            failures += bool(found)
            undecided += sum(one.verdict == HuntVerdict.INCONCLUSIVE.value for one in rows)
            print(f"{field} {how}: {'; '.join(found) or 'right'}", flush=True)
    print(
        f"{len(cases)} layouts, {len(cases) * len(known)} hunts, {undecided} could not tell, {failures} layouts wrong"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
