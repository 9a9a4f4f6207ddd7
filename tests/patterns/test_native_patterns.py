"""Patterns of what no object that can be seen holds, and of places that are only known to grow: traces made by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gradlife.model.growth import Growth, GrowthKind
from gradlife.model.hunt import FindingKind
from gradlife.model.trace import Confidence, Hop, Ledger, Lifetime, NativeHolder, PathStep, TensorFacts, Trace
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


def led(type_name: str) -> Trace:
    """The dict of a class that only native code holds."""
    lead = (
        PathStep("type", type_name, "python", ".__annotations__", "internal", type="type"),
        PathStep("dict", "len 0", "python", "", "", type="dict"),
    )
    return Trace("dict", "len 0", Lifetime.NEVER, (), (), Ledger(1, ()), lead=lead)


def test_the_class_of_a_traced_module_is_named_by_the_call_that_made_it() -> None:
    traced = led("torch.jit._trace.TracedModule.__init__.<locals>.QualnameWrapper")
    found = diagnose(traced, FindingKind.NATIVE)
    assert (found.code, found.advice.code.partition("  ")[0]) == ("GL807", "traced = torch.jit.trace(model, example)")
    assert diagnose(led("app.Wrapper"), FindingKind.NATIVE).code == "GL801"


def registered(module: str) -> Trace:
    """An entry in a table of a module."""
    hops = (Hop("module", "internal", "__dict__"), Hop("dict", "dict_value", "'entries'"))
    steps = (
        PathStep("module", module, "python", "global variable 'entries'", "internal", type="module", hops=hops),
        PathStep(
            "dict",
            "len 41",
            "python",
            "['a::b']",
            "dict_value",
            type="dict",
            hops=(Hop("dict", "dict_value", "'a::b'"),),
        ),
        PathStep("function", "scale (train.py:3)", "python", "", "", type="function"),
    )
    return Trace("function", "scale (train.py:3)", Lifetime.HELD, steps, (), Ledger(1, ()))


def test_warnings_of_ever_new_texts_are_named_by_the_registry_that_remembers_them() -> None:
    trace = registered("train")
    hops = (Hop("module", "internal", "__dict__"), Hop("dict", "dict_value", "'__warningregistry__'"))
    steps = (replace(trace.steps[0], hops=hops), *trace.steps[1:])
    assert diagnose(replace(trace, steps=steps), FindingKind.GROWTH, growth=SECOND_STEP).code == "GL515"


@pytest.mark.parametrize(("code", "module"), [("GL808", "torch._library.simple_registry"), ("GL511", "train")])
def test_an_operator_that_is_registered_at_each_step_is_named_by_the_registry(code: str, module: str) -> None:
    assert diagnose(registered(module), FindingKind.GROWTH, growth=SECOND_STEP).code == code


def test_what_a_cycle_keeps_is_not_put_to_native_code() -> None:
    one = PathStep(
        "Node", "", "python", ".other", "attribute", type="app.Node", hops=(Hop("app.Node", "attribute", "other"),)
    )
    ring = Trace("Tensor", "float32 [3]", Lifetime.GC, (), (one, one), Ledger(1, ()))
    assert diagnose(ring, FindingKind.NEEDS_GC).code == "GL516"


def member(table: str) -> Trace:
    """A parameter in one of the children of a module."""

    def step(type_: str, via: str, name: str, key: str) -> PathStep:
        hops = (
            Hop(type_, "internal", "__dict__"),
            Hop("dict", "dict_value", repr(name)),
            Hop("dict", "dict_value", key),
        )
        return PathStep(type_.rpartition(".")[2], "", "python", via, "internal", type=type_, bases=(MODULE,), hops=hops)

    steps = (
        step("torch.nn.modules.container.ModuleList", "[41]", table, "'41'"),
        step("torch.nn.modules.linear.Linear", ".weight", "_parameters", "'weight'"),
        PathStep("Parameter", "float32 [2, 2]", "python", "", "", type="torch.nn.parameter.Parameter"),
    )
    return Trace("Parameter", "float32 [2, 2]", Lifetime.HELD, steps, (), Ledger(1, ()))


def test_children_that_a_module_gets_at_each_step_are_named_by_the_module_that_grows() -> None:
    assert diagnose(member("_modules"), FindingKind.GROWTH, growth=FIRST_STEP).code == "GL615"


def test_buffers_of_children_that_a_module_gets_are_no_copies_of_a_model() -> None:
    trace = member("_modules")
    assert diagnose(trace, FindingKind.GROWTH, growth=FIRST_STEP).title.startswith("each step adds a child")


def link(type_: str, via: str, *hops: Hop, length: int | None = None) -> PathStep:
    """One object of a chain."""
    return PathStep(type_, "", "python", via, hops[0].relation, type=type_, hops=hops, length=length)


HEAD = link("module", "global variable 'f'", Hop("module", "internal", "__dict__"), Hop("dict", "dict_value", "'f'"))
PARTIAL = link("functools.partial", ".args", Hop("functools.partial", "slot", "args"))
ARGUMENTS = link("tuple", "[0] (argument 'prev' of apply())", Hop("tuple", "item", "", 0), length=2)
WRAPPER = link(
    "function",
    "default argument 'prev'",
    Hop("function", "internal", "__defaults__:prev"),
    Hop("tuple", "item", "", 0),
)
PAIR = link("tuple", "[1]", Hop("tuple", "item", "", 1), length=2)
ROW = link("list", "[1]", Hop("list", "item", "", 1), length=2)
TENSOR = PathStep("Tensor", "float32 [3]", "python", "", "", type="torch.Tensor", bases=("torch._C.TensorBase",))


def chained(*links: PathStep) -> str:
    """The code of a chain that a variable holds."""
    trace = Trace("Tensor", "float32 [3]", Lifetime.HELD, (HEAD, *links, TENSOR), (), Ledger(1, ()))
    return diagnose(trace, FindingKind.GROWTH, growth=Growth(GrowthKind.CHAIN)).code


OPTIMIZER = link(
    "torch.optim.sgd.SGD",
    ".state",
    Hop("torch.optim.sgd.SGD", "internal", "__dict__"),
    Hop("dict", "dict_value", "'state'"),
)
OF_PARAMETER = link(
    "collections.defaultdict", "[<Parameter>]", Hop("collections.defaultdict", "dict_value", "<Parameter>"), length=2
)
NAMED = link("dict", "['grad_17']", Hop("dict", "dict_value", "'grad_17'"), length=40)


@pytest.mark.parametrize(("at", "code"), [(2, "GL601"), (3, "GL511")])
def test_entries_in_the_state_of_one_parameter_are_no_replaced_parameters(at: int, code: str) -> None:
    steps = (HEAD, replace(OPTIMIZER, bases=("torch.optim.optimizer.Optimizer",)), OF_PARAMETER, NAMED, TENSOR)
    trace = Trace("Tensor", "float32 [3]", Lifetime.HELD, steps, (), Ledger(1, ()))
    assert diagnose(trace, FindingKind.GROWTH, growth=Growth(GrowthKind.CONTAINER, at)).code == code


@pytest.mark.parametrize(("hop", "code"), [(1, "GL601"), (2, "GL511")])
def test_of_dicts_that_one_step_merges_the_one_that_grows_decides(hop: int, code: str) -> None:
    optimizer = replace(OPTIMIZER, bases=("torch.optim.optimizer.Optimizer",))
    hops = (Hop("torch.optim.sgd.SGD", "attribute", "state"), *OF_PARAMETER.hops, *NAMED.hops)
    steps = (HEAD, replace(optimizer, hops=hops), TENSOR)
    trace = Trace("Tensor", "float32 [3]", Lifetime.HELD, steps, (), Ledger(1, ()))
    assert diagnose(trace, FindingKind.GROWTH, growth=Growth(GrowthKind.CONTAINER, 1, hop)).code == code


def test_a_chain_of_partial_functions_or_of_pairs_is_a_chain() -> None:
    assert chained(PARTIAL, ARGUMENTS, PARTIAL, ARGUMENTS, PARTIAL, ARGUMENTS) == "GL518"
    assert chained(PAIR, PAIR, PAIR) == "GL518"
    assert chained(WRAPPER, WRAPPER, WRAPPER) == "GL518"


def test_containers_inside_one_another_at_different_places_are_no_chain() -> None:
    assert chained(PAIR, ROW, PAIR) == "GL000"


def test_a_chain_of_functions_is_not_cut_because_the_next_step_calls_it() -> None:
    """The advice was `f = None`, which broke the program at its next call."""
    steps = (HEAD, PARTIAL, ARGUMENTS, PARTIAL, ARGUMENTS, PARTIAL, ARGUMENTS, TENSOR)
    trace = Trace("Tensor", "float32 [3]", Lifetime.HELD, steps, (), Ledger(1, ()))
    found = diagnose(trace, FindingKind.GROWTH, growth=Growth(GrowthKind.CHAIN))
    assert (found.title.endswith("each function wraps the one before"), found.advice.code) == (True, "")


def test_hooks_are_no_children() -> None:
    assert diagnose(member("_forward_hooks"), FindingKind.GROWTH, growth=FIRST_STEP).code == "GL605"


def gathered(step: PathStep, *, grad_fn: str = "") -> Trace:
    """Tensors in a list to which a step leads."""
    steps = (
        step,
        PathStep(
            "list", "len 41", "python", "[40]", "item", type="list", hops=(Hop("list", "item", "", 40),), length=41
        ),
        PathStep("Tensor", "float32 [3]", "python", "", "", type="torch.Tensor", bases=("torch._C.TensorBase",)),
    )
    tensor = TensorFacts(grad_fn, False, 12)
    return Trace("Tensor", "float32 [3]", Lifetime.HELD, steps, (), Ledger(1, ()), tensor=tensor)


LOCAL_DATA = PathStep(
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
CONTEXT = PathStep(
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
def test_a_list_in_local_data_is_named_by_whose_it_is_unless_graphs_are_kept(step: PathStep) -> None:
    assert diagnose(gathered(step), FindingKind.GROWTH, growth=SECOND_STEP).code == "GL522"
    assert diagnose(gathered(step, grad_fn="SumBackward0"), FindingKind.GROWTH, growth=SECOND_STEP).code == "GL402"


KEYED = PathStep(
    "dict", "len 4", "python", "[3]", "dict_value", type="dict", hops=(Hop("dict", "dict_value", "3"),), length=4
)
INDEXED = PathStep("list", "len 9", "python", "[8]", "item", type="list", hops=(Hop("list", "item", "", 8),), length=9)


@pytest.mark.parametrize(
    ("containers", "line"),
    [
        ((INDEXED,), "f.append(result.item())"),
        ((KEYED,), "f[key] = result.item()"),
        ((KEYED, INDEXED), "f[key].append(result.item())"),
        ((INDEXED, INDEXED), "f[-1].append(result.item())"),
        ((INDEXED, PAIR), "f.append(result.item())"),
    ],
)
def test_the_line_that_collects_a_number_is_written_for_the_containers_around_it(
    containers: tuple[PathStep, ...], line: str
) -> None:
    facts = TensorFacts("SumBackward0", False, 12)
    trace = Trace("Tensor", "float32 [3]", Lifetime.HELD, (HEAD, *containers, TENSOR), (), Ledger(1, ()), tensor=facts)
    found = diagnose(trace, FindingKind.GROWTH, growth=SECOND_STEP)
    assert (found.code, found.advice.code.splitlines()[0].split("  ")[0]) == ("GL402", line)


def test_a_tuple_in_a_context_variable_is_replaced_for_it_cannot_be_cleared() -> None:
    grown = PathStep(
        "tuple", "len 41", "python", "[40]", "item", type="tuple", hops=(Hop("tuple", "item", "", 40),), length=41
    )
    trace = Trace("Tensor", "float32 [3]", Lifetime.HELD, (CONTEXT, grown, TENSOR), (), Ledger(1, ()))
    assert diagnose(trace, FindingKind.GROWTH, growth=SECOND_STEP).advice.code == "latest.set(())"


def test_a_context_variable_is_written_as_a_program_asks_for_it() -> None:
    assert diagnose(gathered(CONTEXT), FindingKind.GROWTH, growth=SECOND_STEP).advice.code == "latest.get().clear()"
