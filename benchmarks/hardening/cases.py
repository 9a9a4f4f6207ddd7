"""The cases of one entry point: working calls of it, and follow-up calls on their results (their nodes, their
backward).
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import gradlife.engine as torch
from benchmarks.hardening.entries import Entry
from benchmarks.hardening.given import GIVEN, KEEPING, PREPARED, Action, Prepare
from benchmarks.hardening.material import POOL, Make
from benchmarks.hardening.modes import Modes

MAX_ARGUMENTS = 3


@dataclass(frozen=True)
class Case:
    """`prepare` makes the operands and returns the call; only the call meets the fault."""

    name: str
    prepare: Prepare
    is_refused: bool = False
    keeps: bool = False  # whether the call keeps its arguments on purpose


def cases_of(entry: Entry) -> Iterator[Case]:
    """Return working calls, one for each number of arguments; if none works, the shortest, which is refused."""
    found = list(given(entry))
    if entry.name not in PREPARED:
        found += attributes(entry) if entry.is_attribute else calls(entry)
    for name, prepare in found:
        yield Case(name, prepare, keeps=entry.name in KEEPING)
        yield from consequences(name, prepare)
    if not found:
        yield Case(f"{entry.name}, refused", refused(entry), is_refused=True)


def given(entry: Entry) -> Iterator[tuple[str, Prepare]]:
    """Return the written calls. A row for a function does not apply to the method of that name."""
    if entry.name in PREPARED:
        yield f"{entry.name} as prepared", PREPARED[entry.name]
    makes = GIVEN.get(entry.name, GIVEN.get(entry.name.rpartition(".")[2]))
    if makes is not None and (entry.name in GIVEN or works(partial(prepare_call, entry.function, makes))):
        yield f"{entry.name} as given", partial(prepare_call, entry.function, makes)


def refused(entry: Entry) -> Prepare:
    if entry.is_attribute:
        return partial(prepare_reading, entry.owners[0], entry.name.partition(".")[2])
    return partial(prepare_call, entry.function, entry.owners[:1])


def calls(entry: Entry) -> Iterator[tuple[str, Prepare]]:
    found = 0
    for count in range(MAX_ARGUMENTS + 1):
        owners = [entry.owners] if entry.owners else []
        tried = (partial(prepare_call, entry.function, makes) for makes in itertools.product(*owners, *[POOL] * count))
        working = next(filter(works, tried), None)
        if working is not None:
            yield f"{entry.name} of {count}", working
        found += working is not None
        if found and working is None:  # optional arguments are added one at a time
            return


def attributes(entry: Entry) -> Iterator[tuple[str, Prepare]]:
    """Return calls that read and that set the attribute."""
    name = entry.name.partition(".")[2]
    for owner in entry.owners:
        if works(read := partial(prepare_reading, owner, name)):
            yield f"{entry.name}, read", read
            break
    for owner, value in itertools.product(entry.owners, POOL):
        if works(write := partial(prepare_writing, owner, name, value)):
            yield f"{entry.name}, written", write
            break


def prepare_call(function: Any, makes: Sequence[Make]) -> Action:
    return partial(function, *[make() for make in makes])


def prepare_reading(owner: Make, name: str) -> Action:
    return partial(getattr, owner(), name)


def prepare_writing(owner: Make, name: str, value: Make) -> Action:
    return partial(setattr, owner(), name, value())


def works(prepare: Prepare) -> bool:
    """Whether the call succeeds. Restores the modes it sets."""
    before = modes_at_first()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return prepare()() is not NotImplemented
        except Exception:
            return False
        finally:
            before.put_back()


@cache
def modes_at_first() -> Modes:
    """Return the initial modes, read once: a search tries thousands of calls."""
    return Modes.now()


def consequences(name: str, prepare: Prepare) -> Iterator[Case]:
    """Return follow-up calls on a result with a graph: read its node, run it backward, also with a graph of the
    gradients.
    """
    if not works(partial(prepare_backward, prepare, False)):
        return
    yield Case(f"{name}: its node", partial(prepare_node, prepare))
    yield Case(f"{name}: backward", partial(prepare_backward, prepare, False))
    if works(partial(prepare_backward, prepare, True)):
        yield Case(f"{name}: backward of backward", partial(prepare_backward, prepare, True))


def tensor_of(result: Any) -> Any:
    """Return a result that backward can start from. Raises TypeError if there is none."""
    candidates = result if isinstance(result, tuple | list) else [result]
    for each in candidates:
        if isinstance(each, torch.Tensor) and each.grad_fn is not None:
            return each
    raise TypeError("nothing in a graph")


def prepare_node(prepare: Prepare) -> Action:
    result = prepare()()
    return partial(read_node, tensor_of(result).grad_fn)


def read_node(node: Any) -> list[Any]:
    names = [name for name in dir(type(node)) if name.startswith(("_saved", "_raw_saved"))]
    return [node.next_functions, node._input_metadata, *[getattr(node, name) for name in names]]


def prepare_backward(prepare: Prepare, create_graph: bool) -> Action:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        total = tensor_of(prepare()()).sum()
    leaves = leaves_behind(total.grad_fn)
    if not create_graph:
        return partial(torch.autograd.grad, total, leaves, allow_unused=True)
    first = torch.autograd.grad(total, leaves, create_graph=True, allow_unused=True)
    again = tensor_of(first).sum()
    return partial(torch.autograd.grad, again, leaves, allow_unused=True)


def leaves_behind(node: Any) -> list[Any]:
    """Return the leaves of a graph."""
    seen, waiting, leaves = set(), [node], []
    while waiting:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        leaves += [current.variable] if hasattr(current, "variable") else []
        waiting += [following for following, _ in current.next_functions if following is not None]
    return leaves
