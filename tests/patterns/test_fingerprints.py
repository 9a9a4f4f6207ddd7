"""Fingerprints over all cases: no two leaks share one, and a leak keeps its own wherever its lines and its objects stand."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

pytest.importorskip("torch")

from gradlife.model.hunt import FindingKind
from gradlife.model.trace import Hop, Ledger, Lifetime, PathStep, Trace
from gradlife.patterns import diagnose, fingerprint
from patterns.conftest import Traces
from patterns.rare_cases import CASES
from stored_traces import attributes, cell, owned, ring, step as step_of, trace, variable

pytestmark = pytest.mark.torch

LEAKS = {leak: kind for _, kind, leak, _ in CASES}
IDS = [leak.__name__ for leak in LEAKS]


def printed(one: Trace, kind: FindingKind, function: str = "") -> str:
    return fingerprint(one, code=diagnose(one, kind).code, function=function)


def changed(one: Trace, change: Callable[[PathStep], PathStep]) -> Trace:
    """The trace with each object changed."""

    def each(steps: tuple[PathStep, ...]) -> tuple[PathStep, ...]:
        return tuple(map(change, steps))

    return replace(one, steps=each(one.steps), cycle=each(one.cycle), tail=each(one.tail), lead=each(one.lead))


def elsewhere(step: PathStep) -> PathStep:
    """The object at another time: other lines, lengths, shapes, indexes, keys and hook numbers."""
    detail = re.sub(r"(?<=:)\d+(?=\))", lambda line: str(int(line[0]) + 40), step.detail)
    detail = re.sub(r"(?<=len )\d+", lambda length: str(int(length[0]) + 4_000), detail)
    detail = re.sub(r"^float32 \[.*\]$", "float32 [7, 7, 7]", detail)
    hops = (Hop(hop.type, hop.relation, another_label(hop), another_index(step, hop)) for hop in step.hops)
    length = None if step.length is None else step.length + 4_000
    return replace(step, detail=detail, hops=tuple(hops), length=length)


def another_label(hop: Hop) -> str:
    return re.sub(r"^\d+$|(?<=\[)\d+(?=\])", lambda number: str(int(number[0]) + 30), hop.label)


def another_index(step: PathStep, hop: Hop) -> int:
    is_captured = step.type == "function"  # the index of a captured variable says which
    return hop.index + 30 if hop.index >= 0 and not is_captured else hop.index


def in_another_module(step: PathStep) -> PathStep:
    """The same object of a copy of its module."""
    detail = "copy_of_it" if step.type == "module" else re.sub(r"\b(rare_)?cases(?=\.py:|\.)", "copy", step.detail)
    return replace(step, detail=detail, type=step.type.replace("patterns.cases.", "patterns.copy."))


def test_no_two_leaks_share_one(traces: Traces) -> None:
    found = Counter(printed(traces[leak], kind, leak.__name__) for leak, kind in LEAKS.items())
    assert [mark for mark, count in found.items() if count > 1] == []


@pytest.mark.parametrize("leak", LEAKS, ids=IDS)
def test_other_lines_lengths_and_indexes_are_the_same_leak(leak: Callable[..., object], traces: Traces) -> None:
    one = traces[leak]
    code = diagnose(one, LEAKS[leak]).code
    assert fingerprint(changed(one, elsewhere), code=code) == fingerprint(one, code=code)


def test_a_copy_in_another_module_is_another_leak(traces: Traces) -> None:
    same = []
    for leak in LEAKS:
        one = traces[leak]
        other = changed(one, in_another_module)
        assert fingerprint(one, function="a f") != fingerprint(other, function="b f")
        if fingerprint(one) == fingerprint(other):
            same.append(leak)
    # Only the function tells these apart: their path has nothing of the program, or they have none.
    assert [leak.__name__ for leak in same if traces[leak].steps] == ["finalizers", "callbacks_at_exit"]


def test_another_function_that_stores_is_another_leak(traces: Traces) -> None:
    one = traces[next(iter(LEAKS))]
    assert fingerprint(one, function="train f") != fingerprint(one, function="train g")


def in_dict(table: str, key: str) -> Trace:
    return trace(variable(table), step_of("dict", "dict_value", repr(key), "len 2", 2))


def test_a_key_that_the_statement_writes_is_a_name_and_any_other_is_data() -> None:
    last, first = in_dict("state", "last"), in_dict("state", "first")
    assert fingerprint(last) == fingerprint(first)
    written = fingerprint(last, statement="state['last'] = loss")
    assert written != fingerprint(first, statement="state['first'] = loss")
    assert written == fingerprint(last, statement='state["last"] = loss')
    assert fingerprint(last, statement="state[key] = loss") == fingerprint(first, statement="state[key] = loss")


def test_classes_of_two_modules_are_two_roots() -> None:
    def cycle(module: str) -> Trace:
        return ring(owned("child", f"{module}.Parent"), owned("parent", f"{module}.Child"))

    assert fingerprint(cycle("a")) != fingerprint(cycle("b"))
    assert fingerprint(cycle("__mp_main__")) == fingerprint(cycle("__main__"))


def test_captured_variables_of_a_function_are_told_apart() -> None:
    def captured(names: str, index: int) -> Trace:
        step = cell(names)
        hops = (step.hops[0], replace(step.hops[1], index=index), step.hops[2])
        return trace(variable("hook"), replace(step, detail="make.<locals>.hook (train.py:3)", hops=hops))

    assert fingerprint(captured("a,b", 0)) != fingerprint(captured("a,b", 1))
    assert fingerprint(captured("a,b", 1)) == fingerprint(captured("a,added,b", 2))


def test_versions_of_python_that_keep_attributes_elsewhere_agree() -> None:
    """From 3.13 on, most objects have no dict, and the tables of a module are attributes."""
    old, new = attributes("train.Net", "__dict__", "kept"), owned("kept", "train.Net")
    assert fingerprint(trace(variable("net"), old)) == fingerprint(trace(variable("net"), new))
    hops = (Hop("train.Net", "attribute", "_buffers"), Hop("dict", "dict_value", "'ema'"))
    table = attributes("train.Net", "__dict__", "_buffers", "ema")
    assert fingerprint(trace(variable("net"), table)) == fingerprint(trace(variable("net"), replace(table, hops=hops)))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("step (train.py:3)", "step (train.py:30)"),
        ("step (<ipython-input-3-ab>:1)", "step (<ipython-input-12-ab>:5)"),
        ("step (4711.py:3)", "step (4712.py:3)"),
        ("torch_dynamo_resume_in_step_at_3 (train.py:3)", "torch_dynamo_resume_in_step_at_9 (train.py:9)"),
        ("forward (<eval_with_key>.1:4)", "forward (<eval_with_key>.12:4)"),
    ],
)
def test_a_function_is_known_by_name_and_file(one: str, other: str) -> None:
    def local(detail: str) -> Trace:
        return trace(step_of("frame", "local", "losses", detail), step_of("list", "item", length=9))

    assert fingerprint(local(one)) == fingerprint(local(other))
    assert fingerprint(local(one)) != fingerprint(local(f"other_{one}"))


def test_a_survivor_that_native_code_holds_has_no_offset() -> None:
    bare = Trace("Tensor", "float32 [3]", Lifetime.NEVER, (), (), Ledger(1, ()))
    assert fingerprint(bare) == fingerprint(replace(bare, detail="float32 [9]"))
    assert fingerprint(bare, function="a f") != fingerprint(bare, function="b f")
