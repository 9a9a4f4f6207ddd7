"""Patterns of what no object that can be seen holds, and of places that are only known to grow: traces made by hand."""

from __future__ import annotations

import pytest

from gradlife.model.growth import Growth, GrowthKind
from gradlife.model.hunt import FindingKind
from gradlife.model.trace import Confidence, Hop, Ledger, Lifetime, NativeHolder, Step, TensorFacts, Trace
from gradlife.patterns import diagnose

MODULE = "torch.nn.modules.module.Module"

FIRST_STEP, SECOND_STEP = (Growth(GrowthKind.CONTAINER, step) for step in (0, 1))


def unseen(name: str, *holders: str) -> Trace:
    """An object that only C++ holds, with what was found of that."""
    native = tuple(NativeHolder(text, "block", "", "", Confidence.LIKELY) for text in holders)
    return Trace(name, "float32 [3]", Lifetime.NEVER, (), (), Ledger(1, (), native=native))


@pytest.mark.parametrize(
    ("code", "trace"),
    [
        ("GL801", unseen("Tensor")),
        ("GL801", unseen("Tensor", "an unknown block")),
        ("GL802", unseen("TensorImpl", "torch::jit::CompilationUnit +8")),
        ("GL803", unseen("TensorImpl")),
        ("GL803", unseen("StorageImpl", "std::vector")),
    ],
)
def test_what_native_code_holds_is_named_by_what_is_known_of_the_holder(code: str, trace: Trace) -> None:
    assert diagnose(trace, FindingKind.NATIVE).code == code


def test_what_a_cycle_keeps_is_not_put_to_native_code() -> None:
    one = Step(
        "Node", "", "python", ".other", "attribute", type="app.Node", hops=(Hop("app.Node", "attribute", "other"),)
    )
    ring = Trace("Tensor", "float32 [3]", Lifetime.GC, (), (one, one), Ledger(1, ()))
    assert diagnose(ring, FindingKind.NEEDS_GC).code == "GL516"


def member(table: str) -> Trace:
    """A parameter in one of the children of a module."""

    def step(type_: str, via: str, name: str, key: str) -> Step:
        hops = (
            Hop(type_, "internal", "__dict__"),
            Hop("dict", "dict_value", repr(name)),
            Hop("dict", "dict_value", key),
        )
        return Step(type_.rpartition(".")[2], "", "python", via, "internal", type=type_, bases=(MODULE,), hops=hops)

    steps = (
        step("torch.nn.modules.container.ModuleList", "[41]", table, "'41'"),
        step("torch.nn.modules.linear.Linear", ".weight", "_parameters", "'weight'"),
        Step("Parameter", "float32 [2, 2]", "python", "", "", type="torch.nn.parameter.Parameter"),
    )
    return Trace("Parameter", "float32 [2, 2]", Lifetime.HELD, steps, (), Ledger(1, ()))


def test_children_that_a_module_gets_at_each_step_are_named_by_the_module_that_grows() -> None:
    assert diagnose(member("_modules"), FindingKind.GROWTH, growth=FIRST_STEP).code == "GL615"


def test_hooks_are_no_children() -> None:
    assert diagnose(member("_forward_hooks"), FindingKind.GROWTH, growth=FIRST_STEP).code == "GL605"


def gathered(step: Step, *, grad_fn: str = "") -> Trace:
    """Tensors in a list to which a step leads."""
    steps = (
        step,
        Step("list", "len 41", "python", "[40]", "item", type="list", hops=(Hop("list", "item", "", 40),), length=41),
        Step("Tensor", "float32 [3]", "python", "", "", type="torch.Tensor", bases=("torch._C.TensorBase",)),
    )
    tensor = TensorFacts(grad_fn, False, 12)
    return Trace("Tensor", "float32 [3]", Lifetime.HELD, steps, (), Ledger(1, ()), tensor=tensor)


LOCAL_DATA = Step(
    "_local",
    "",
    "python",
    ".kept",
    "attribute",
    type="_thread._local",
    hops=(
        Hop("_thread._local", "internal", "its dicts by thread"),
        Hop("dict", "dict_value", "<weak reference to _thread._localdummy>"),
        Hop("dict", "dict_value", "'kept'"),
    ),
)
CONTEXT = Step(
    "thread",
    "MainThread",
    "root",
    "contextvar 'latest'",
    "root",
    type="thread",
    hops=(
        Hop("thread", "root", "context"),
        Hop("_contextvars.Context", "internal", "variables"),
        Hop("hamt", "internal", "variables"),
        Hop("hamt_bitmap_node", "internal", "contextvar 'latest'"),
    ),
)


@pytest.mark.parametrize("step", [LOCAL_DATA, CONTEXT], ids=["thread", "context"])
def test_a_list_in_local_data_is_named_by_whose_it_is_unless_graphs_are_kept(step: Step) -> None:
    assert diagnose(gathered(step), FindingKind.GROWTH, growth=SECOND_STEP).code == "GL522"
    assert diagnose(gathered(step, grad_fn="SumBackward0"), FindingKind.GROWTH, growth=SECOND_STEP).code == "GL402"


def test_a_context_variable_is_written_as_a_program_asks_for_it() -> None:
    assert diagnose(gathered(CONTEXT), FindingKind.GROWTH, growth=SECOND_STEP).advice.code == "latest.get().clear()"
