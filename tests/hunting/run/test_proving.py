"""Cut and prove: where the reference is cut, what the cut does, and what the rates after it say."""

from __future__ import annotations

import functools
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from gradlife.hunting.findings.reference_cuts import (
    CACHE,
    CLEAR,
    EVERY,
    HOOKS,
    ITEMS,
    RESTORE,
    Cut,
    cut_of,
    cuts_of,
    dump_cuts,
    load_cuts,
    ring_cut,
)
from gradlife.model.hunt import Advice, Amounts, Diagnosis, Finding, FindingKind, HuntReport, Round
from gradlife.model.trace import Hop, Ledger, Lifetime, PathStep, Trace
from gradlife.program.hunt.proof import judged
from gradlife.program.hunt.reference_cutter import Cutter

HISTORY = (("internal", "__dict__", -1), ("dict_value", "'history'", -1))


@pytest.fixture
def program() -> Iterator[ModuleType]:
    module = ModuleType("program_under_proof")
    sys.modules[module.__name__] = module
    yield module
    del sys.modules[module.__name__]


@pytest.mark.parametrize("container", [[1, 2], {1: 1, 2: 2}, {1, 2}])
def test_new_items_are_dropped_and_old_ones_stay(program: ModuleType, container: object) -> None:
    vars(program)["history"] = container
    cutter = Cutter([Cut(ITEMS, "module program_under_proof", HISTORY, "")])
    cutter.cut()
    if isinstance(container, list):
        container += [3, 4]
    elif isinstance(container, dict):
        container.update({3: 3})
    elif isinstance(container, set):
        container.add(3)
    cutter.cut()
    assert len(vars(program)["history"]) == 2


def test_an_attribute_is_cleared_each_time_it_is_set_anew(program: ModuleType) -> None:
    vars(program)["history"] = holder = SimpleNamespace(last=1)
    cutter = Cutter([Cut(CLEAR, "module program_under_proof", (*HISTORY, ("attribute", "last", -1)), "")])
    for value in (1, 2):
        holder.last = value
        cutter.cut()
        assert holder.last is None


def test_a_path_that_is_not_there_yet_is_no_error() -> None:
    cutter = Cutter([Cut(ITEMS, "module program_under_proof", HISTORY, "")])
    cutter.cut()
    assert cutter.count == 0


def test_a_cut_goes_to_another_process_and_back() -> None:
    cut = Cut(ITEMS, "module program_under_proof", HISTORY, "new items dropped")
    assert load_cuts(dump_cuts([cut, cut])) == [cut, cut]


def finding(mark: str, rate: Amounts, *steps: PathStep) -> Finding:
    trace = Trace("Tensor", "", Lifetime.HELD, steps, (), Ledger(1, ()))
    named = Diagnosis("GL512", "a list grows", "", Advice(""))
    return Finding(FindingKind.GROWTH, Lifetime.HELD, named, trace, rate, fingerprint=mark)


def steps() -> tuple[PathStep, ...]:
    hops = tuple(Hop("module", *hop) for hop in HISTORY)
    return (
        PathStep("module", "program", "python", "global variable 'history'", "", type="module", hops=hops),
        PathStep("list", "len 9", "python", "[3]", "", type="list", hops=(Hop("list", "item", "", 3),), length=9),
        PathStep("Tensor", "", "python", "", "", type="torch.Tensor"),
    )


def test_the_items_of_the_container_that_grows_are_cut() -> None:
    cut = cut_of(finding("a", Amounts(), *steps()))
    assert cut == Cut(ITEMS, "module program", HISTORY, "new items of history dropped after each step")


def test_what_no_root_leads_to_cannot_be_cut() -> None:
    assert cut_of(finding("a", Amounts())) is None


RATE = Amounts(2.0, 1.0, 1.0, 0.0, 1000.0)


def report(*findings: Finding, rounds: int = 3) -> HuntReport:
    return HuntReport("t", "s", 5, (Round(5, RATE),) * rounds, findings)


def test_a_cut_after_which_nothing_grows_is_sufficient() -> None:
    proof = judged(finding("a", RATE), "cut", report(), report())
    assert (proof.is_sufficient, proof.after, proof.note) == (True, Amounts(), "")


@pytest.mark.parametrize("mark", ["a", "b"])
def test_what_is_still_held_is_named_by_whom(mark: str) -> None:
    proof = judged(finding("a", RATE), "cut", report(), report(finding(mark, RATE, *steps())))
    assert (proof.is_sufficient, proof.after) == (False, RATE)
    assert proof.note == "still held by history[3]"


def test_a_rest_of_another_leak_is_none_of_this_one() -> None:
    assert judged(finding("a", RATE), "cut", report(), report(finding("b", Amounts(bytes=10.0)))).is_sufficient


def test_another_leak_of_before_in_the_same_place_is_none_of_this_one() -> None:
    one, other = (replace(finding(mark, RATE, *steps()), legacy_fingerprint="place") for mark in "ab")
    assert judged(one, "cut", report(one, other), report(other)).is_sufficient
    assert not judged(one, "cut", report(one), report(other)).is_sufficient


def test_one_round_proves_nothing() -> None:
    assert not judged(finding("a", RATE), "cut", report(), report(rounds=1)).is_sufficient


# --- rings, to which no variable leads ---


def step_of(name: str, via: str, *hops: tuple[str, str, str, int], kind: str = "python") -> PathStep:
    return PathStep(name.rpartition(".")[2], "", kind, via, "", type=name, hops=tuple(Hop(*hop) for hop in hops))


CTX = step_of(
    "torch.autograd.function.KeepsBackward",
    ".kept",
    ("torch.autograd.function.KeepsBackward", "internal", "__dict__", -1),
    ("dict", "dict_value", "'kept'", -1),
)
HOOKED = step_of(
    "torch.Tensor",
    "tensor hook 153",
    ("torch.Tensor", "native", "_backward_hooks", -1),
    ("collections.OrderedDict", "dict_value", "153", -1),
)
NODE = step_of("SinBackward0", "next edge", ("SinBackward0", "native", "next edge", 0), kind="grad_node")
DEFAULT = step_of(
    "function", "default argument 'x'", ("function", "internal", "__defaults__:x", -1), ("tuple", "item", "", 0)
)


@pytest.mark.parametrize(
    ("cycle", "expected"),
    [
        (
            (NODE, CTX),
            Cut(
                CLEAR,
                "each torch.autograd.function.KeepsBackward",
                (("internal", "__dict__", -1), ("dict_value", "'kept'", -1)),
                "kept of each new KeepsBackward set to None after each step",
            ),
        ),
        (
            (DEFAULT, HOOKED),
            Cut(
                HOOKS,
                "each torch.Tensor",
                (("native", "_backward_hooks", -1),),
                "hooks of each new Tensor removed after each step",
            ),
        ),
        ((NODE, DEFAULT), None),
    ],
    ids=["attribute", "hooks", "nothing that can be set"],
)
def test_a_ring_is_cut_where_a_python_object_of_it_lets_go(cycle: tuple[PathStep, ...], expected: Cut | None) -> None:
    assert ring_cut(cycle) == expected


class Held:
    """One of the objects of a ring."""

    def __init__(self) -> None:
        self.other: object = self
        self._backward_hooks = {1: self}


HELD = f"each {Held.__module__}.Held"


def test_only_objects_that_are_new_are_let_go_of() -> None:
    old = Held()
    cutter = Cutter([Cut(CLEAR, HELD, (("attribute", "other", -1),), "")])
    cutter.cut()
    new = Held()
    cutter.cut()
    assert old.other is old
    assert new.other is None
    assert cutter.count == 1


def test_the_table_of_hooks_is_emptied() -> None:
    cutter = Cutter([Cut(HOOKS, HELD, (("native", "_backward_hooks", -1),), "")])
    cutter.cut()
    new = Held()
    cutter.cut()
    assert new._backward_hooks == {}


def test_a_variable_of_a_closure_is_given_another_value(program: ModuleType) -> None:
    def closure_over(value: object) -> object:
        return lambda: value

    vars(program)["cell"] = closure_over(3).__closure__[0]  # type: ignore[attr-defined]
    hops = (("internal", "__dict__", -1), ("dict_value", "'cell'", -1), ("cell", "value", -1))
    Cutter([Cut(CLEAR, "module program_under_proof", hops, "")]).cut()
    assert vars(program)["cell"].cell_contents is None


def test_each_place_that_one_line_fills_is_cut(program: ModuleType) -> None:
    """`self.rows[key].append(row)` for two keys was "not proven": the other list still grew."""
    other = replace(steps()[0], hops=(steps()[0].hops[0], Hop("module", "dict_value", "'other'", -1)))
    one = finding("a", RATE, *steps())
    both = replace(one, also_grows=(one.trace, replace(one.trace, steps=(other, *steps()[1:]))))
    cuts = cuts_of(both)
    assert [cut.hops[-1][1] for cut in cuts] == ["'history'", "'other'"]
    vars(program).update(history=[1], other=[1])
    cutter = Cutter([replace(cut, root="module program_under_proof") for cut in cuts])
    cutter.cut()
    for name in ("history", "other"):
        vars(program)[name].append(2)
    cutter.cut()
    assert (vars(program)["history"], vars(program)["other"], cutter.count) == ([1], [1], 4)
    assert cutter.promise.startswith(
        "from now on: new items of history dropped after each step, like those of 1 other place that the same line fills;"
    )


def test_what_no_variable_leads_to_has_no_cuts() -> None:
    assert cuts_of(finding("a", Amounts())) == ()


class Box:
    kept: OrderedDict[int, int] = OrderedDict()

    @functools.cached_property
    def image(self) -> list[int]:
        return [1]


def cut_again(how: str, *hops: tuple[str, str, int], between: Callable[[], object]) -> None:
    """Cut, let the program go on, and cut again."""
    cutter = Cutter([Cut(how, "module program_under_proof", hops, "")])
    cutter.cut()
    between()
    cutter.cut()


def in_class(*names: str) -> tuple[tuple[str, str, int], ...]:
    return tuple(hop for name in names for hop in (("internal", "__dict__", -1), ("dict_value", f"'{name}'", -1)))


def test_new_items_of_an_ordered_dict_of_a_class_are_dropped(program: ModuleType) -> None:
    """It was not found, since a class shows its variables through a proxy; `dict.popitem` would break its order."""
    vars(program)["Box"] = Box
    Box.kept[1] = 1
    cut_again(ITEMS, *in_class("Box", "kept"), between=lambda: Box.kept.update({2: 2, 3: 3}))
    assert (list(Box.kept), list(Box.kept.items())) == ([1], [(1, 1)])
    Box.kept.clear()


def test_new_items_of_the_lists_of_a_dict_are_dropped(program: ModuleType) -> None:
    lists = {"a": [1], "b": [1]}
    vars(program)["history"] = lists

    def go_on() -> None:
        lists["a"].append(2)
        lists["c"] = [1]

    cut_again(ITEMS, *HISTORY, between=go_on)
    assert lists == {"a": [1], "b": [1]}


def test_the_cache_of_a_function_is_emptied(program: ModuleType) -> None:
    vars(program)["history"] = encode = functools.lru_cache(len)
    cut_again(CACHE, *HISTORY, between=lambda: encode("word"))
    assert encode.cache_info().currsize == 0


@pytest.mark.parametrize("boxes", [[Box(), Box()], {"a": Box(), "b": Box()}, (Box(),)])
def test_what_each_item_keeps_is_cleared(program: ModuleType, boxes: Any) -> None:
    vars(program)["history"] = boxes
    items = list(boxes.values() if isinstance(boxes, dict) else boxes)
    attribute = ("internal", "__dict__", -1), ("dict_value", "'{}'", -1)
    for name, left in (("image", "absent"), ("other", None)):
        hops = (*HISTORY, ("item", EVERY, -1), attribute[0], ("dict_value", f"'{name}'", -1))
        cut_again(CLEAR, *hops, between=lambda name=name: [vars(one).update({name: [1]}) for one in items])  # type: ignore[misc]
        assert {vars(one).get(name, "absent") for one in items} == {left}  # a cached property computes again


def test_a_path_through_items_of_what_is_no_container_is_no_error(program: ModuleType) -> None:
    vars(program)["history"] = 1
    cut_again(CLEAR, *HISTORY, ("item", EVERY, -1), ("attribute", "image", -1), between=lambda: None)


def test_a_function_with_a_cache_and_an_attribute_of_many_objects_have_cuts_of_their_own() -> None:
    cached = PathStep("lru_cache", "", "python", "", "", type="functools._lru_cache_wrapper")
    (cut,) = cuts_of(finding("a", RATE, steps()[0], cached, steps()[2]))
    assert (cut.how, cut.hops, cut.text) == (CACHE, HISTORY, "cache of history emptied after each step")
    item = replace(steps()[1], relation="item")
    slide = PathStep(
        "Slide", "", "python", ".image", "attribute", type="program.Slide",
        hops=(Hop("program.Slide", "attribute", "image"),),
    )  # fmt: skip
    found = finding("a", RATE, steps()[0], item, slide, steps()[2])
    (cut,) = cuts_of(replace(found, diagnosis=replace(found.diagnosis, code="GL527")))
    assert cut.hops == (*HISTORY, ("item", EVERY, -1), ("attribute", "image", -1))
    assert cut.text == ".image of each item of history cleared after each step"


def test_what_is_made_longer_is_set_back_and_what_grows_in_place_goes(program: ModuleType) -> None:
    """Set to None, a table that the next step makes longer ended the program, and nothing was proven."""
    holder = SimpleNamespace(table=(1,), ids=[1], box=SimpleNamespace())
    vars(program)["history"] = holder

    cut_again(RESTORE, *HISTORY, ("attribute", "table", -1), between=lambda: setattr(holder, "table", (1, 2)))
    cut_again(RESTORE, *HISTORY, ("attribute", "ids", -1), between=lambda: holder.ids.append(2))
    cut_again(RESTORE, *HISTORY, ("attribute", "box", -1), between=lambda: None)
    assert (holder.table, holder.ids, holder.box) == ((1,), [1], None)
