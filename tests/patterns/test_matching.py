"""The language of patterns, the fingerprint, and the known leaks of libraries: on traces made up for it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from packaging.specifiers import SpecifierSet

from gradlife.model.growth import Growth, GrowthKind
from gradlife.model.hunt import FindingKind
from gradlife.model.trace import (
    Hop,
    Ledger,
    Lifetime,
    PathStep,
    Referrer,
    TensorFacts,
    Trace,
    bytes_of_detail,
    is_scalar_detail,
)
from gradlife.patterns import diagnose, fingerprint, legacy_fingerprint
from gradlife.patterns.codes import SENTENCES
from gradlife.patterns.known_leaks import KnownLeak, has_bug, known_leaks, shows
from gradlife.patterns.matching.matcher import find, find_around
from gradlife.patterns.matching.path_tokens import Token, tokens_of
from gradlife.patterns.matching.pattern import Case as CaseOfTrace
from gradlife.runner.history import history as history_of


def tokens(text: str) -> tuple[Token, ...]:
    """Tokens from their text."""
    parts = [word.removeprefix("=").partition(".") for word in text.split()]
    return tuple(Token(family, word, "", number) for number, (family, _, word) in enumerate(parts))


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("list.item", "module.global list.item =tensor", range(1, 2)),
        ("list.item|deque.item", "deque.item =tensor", range(1)),
        ("list.item $", "list.item =tensor", None),
        ("list.item =*$", "list.item =tensor", range(2)),
        ("^list.item", "module.global list.item", None),
        ("node.*+ =tensor", "node.next node.next node.saved =tensor", range(4)),
        ("list.item object.attr? =tensor", "list.item =tensor", range(2)),
        ("list.item object.attr~ =tensor", "list.item object.attr object.attr =tensor", range(4)),
        ("list.item ... =tensor", "list.item a.b c.d =tensor", range(4)),
        ("item", "list.item", None),
        ("list.item", "list.item deque.item list.item", range(2, 3)),
        ("list.item object.attr? =tensor", "deque.item =tensor", None),
        ("^@ list.item =tensor", "list.item =tensor", None),
    ],
)
def test_a_pattern_fits_a_path(pattern: str, text: str, found: range | None) -> None:
    assert find(pattern, tokens(text)) == found


def test_a_mark_stands_before_what_grows_and_is_passed_over_elsewhere() -> None:
    path = tokens("object.attr list.item tuple.item =tensor")
    assert find("@ list.item", path, 1) == range(1, 2)
    assert find("@ list.item", path, 2) is None
    assert find("list.item tuple.item", path, 2) == range(1, 3)


@pytest.mark.parametrize("text", ["ctx.attr tensor.grad_fn", "tensor.grad_fn ctx.attr"])
def test_a_ring_fits_wherever_it_begins_and_only_whole(text: str) -> None:
    assert find_around("ctx.attr tensor.grad_fn", tokens(text)) is not None
    assert find_around("ctx.attr", tokens(text)) is None


def step(type_: str, via: str, *hops: tuple[str, str, int], detail: str = "", length: int | None = None) -> PathStep:
    made = tuple(Hop(type_, *hop) for hop in hops)
    return PathStep(type_.rpartition(".")[2], detail, "python", via, "", type=type_, hops=made, length=length)


def history(index: int, key: str = "a", size: int = 20, variable: str = "history") -> Trace:
    """A tensor in a list of dicts, of a module's variable."""
    steps = (
        step(
            "module", f"global variable '{variable}'", ("internal", "__dict__", -1), ("dict_value", f"'{variable}'", -1)
        ),
        step("list", f"[{index}]", ("item", "", index), detail=f"len {size}", length=size),
        step("dict", f"['{key}']", ("dict_value", f"'{key}'", -1), detail="len 1", length=1),
        PathStep("Tensor", "float32 [3]", "python", "", "", type="torch.Tensor", bases=("torch._C.TensorBase",)),
    )
    return Trace("Tensor", "float32 [3]", Lifetime.HELD, steps, (), Ledger(1, ()))


def test_items_of_one_leak_have_one_fingerprint() -> None:
    assert fingerprint(history(3)) == fingerprint(history(4000, "b", size=5000))


def test_another_variable_is_another_leak() -> None:
    assert fingerprint(history(3)) != fingerprint(history(3, variable="samples"))


def test_a_fingerprint_is_the_same_in_every_process() -> None:
    assert fingerprint(history(3), code="GL512") == "937f8a88097cb8b3"
    assert legacy_fingerprint(history(3)) == "abe74ef1e3edb62b"


def ring(*steps: PathStep) -> Trace:
    return Trace("Tensor", "", Lifetime.GC, (), steps, Ledger(1, ()))


def test_a_cycle_has_one_fingerprint_wherever_it_begins() -> None:
    one = step("app.Parent", ".child", ("attribute", "child", -1))
    other = step("app.Child", ".parent", ("attribute", "parent", -1))
    assert fingerprint(ring(one, other)) == fingerprint(ring(other, one))
    assert fingerprint(ring(one, other)) != fingerprint(ring(one))


def test_names_of_the_program_change_no_code() -> None:
    one, other = history(3), history(3, variable="_forward_hooks")
    assert diagnose(one, FindingKind.GROWTH).code == diagnose(other, FindingKind.GROWTH).code == "GL512"


def test_a_reason_names_the_variable() -> None:
    found = diagnose(history(3), FindingKind.GROWTH, created_at=("train.py:41 in step",))
    assert found.reason.startswith("`history` has 20 items")
    assert found.reason.endswith("It was made at train.py:41 in step.")


def test_the_container_that_is_known_to_grow_decides() -> None:
    assert diagnose(history(3), FindingKind.GROWTH, growth=Growth(GrowthKind.CONTAINER, 2)).code == "GL511"
    assert diagnose(history(3), FindingKind.GROWTH, growth=Growth(GrowthKind.CHAIN)).code == "GL000"
    assert diagnose(history(3), FindingKind.GROWTH, growth=Growth(GrowthKind.LARGER)).code == "GL704"


def last_step(*path: PathStep) -> Trace:
    """A tensor with a graph, by a path from the variable of a module."""
    facts = TensorFacts("GeluBackward0")
    target = PathStep("Tensor", "float32 [3]", "python", "", "", type="torch.Tensor", bases=("torch._C.TensorBase",))
    module = history(3, variable="state").steps[0]
    return Trace("Tensor", "", Lifetime.HELD, (module, *path, target), (), Ledger(1, ()), tensor=facts)


@pytest.mark.parametrize(
    ("path", "kept", "line"),
    [
        ((step("app.Run", ".logits", ("attribute", "logits", -1)),), "state.logits", "state.logits = result.detach()"),
        (
            (
                step("app.Run", ".window", ("attribute", "window", -1)),
                step("collections.deque", "[4]", ("item", "", 4)),
            ),
            "state.window[4]",
            "state.window.append(result.detach())",
        ),
    ],
)
def test_the_last_steps_result_is_called_by_where_it_is_kept(path: tuple[PathStep, ...], kept: str, line: str) -> None:
    found = diagnose(last_step(*path), FindingKind.RETAINED)
    assert found.code == "GL409"
    assert found.reason.startswith(f"`{kept}` is the result of a finished step and still has its graph (GeluBackward0)")
    assert found.advice.code == line


def test_a_chain_of_objects_is_called_by_its_newest_link() -> None:
    links = [step("app.Node", ".parent", ("attribute", "parent", -1))] * 5
    found = diagnose(replace(last_step(*links), tensor=None), FindingKind.GROWTH, growth=Growth(GrowthKind.CHAIN))
    assert found.code == "GL518"
    assert found.reason.startswith("`state` leads to an object of the same type")


def test_an_unknown_trace_gets_an_honest_answer() -> None:
    found = diagnose(history(3), FindingKind.GROWTH, growth=Growth(GrowthKind.CHAIN))
    assert found.title == "no known pattern"
    assert "global variable 'history'" in found.reason


def test_a_tokens_text_has_no_word_of_the_program() -> None:
    assert [str(token) for token in tokens_of(history(3).steps)] == [
        "module.global",
        "list.item",
        "dict.value",
        "=tensor",
    ]


LEAK = KnownLeak("torch", "<2.12", "pytorch/pytorch#1", "it leaks", "Upgrade", ("GL402",))


@pytest.mark.parametrize(
    ("version", "is_bad"),
    [("2.11.1+cpu", True), ("2.12.0", False), ("2.12.0a0+git1", False), ("", False), ("?", False)],
)
def test_a_known_leak_is_reported_the_versions_that_have_it(version: str, is_bad: bool) -> None:
    assert has_bug(LEAK, version) is is_bad
    assert has_bug(replace(LEAK, versions=">=2.12"), "2.12.0") is True


#: A release that has the leak and one that has not, of the leaks whose bounds were measured or are recorded.
RELEASES = {
    "pytorch/pytorch#58271": ("1.9.1", "1.10.0"),
    "pytorch/pytorch#20199": ("1.6.0", "1.7.0"),
    "pytorch/pytorch#141960": ("2.5.1", "2.6.0"),
    "pytorch/pytorch#149354": ("2.7.1", "2.8.0"),
    "pytorch/pytorch#183211": ("2.15.0", "1.11.0"),
    "pytorch/pytorch#94990": ("1.10.0", "1.9.1"),
    "pytorch/pytorch#96726": ("1.13.0", "1.12.1"),
    "pytorch/pytorch#82528": ("2.0.0", "1.13.1"),
    "pytorch/pytorch#129901": ("2.0.0", "1.13.1"),
    "keras-team/keras#23110": ("2.13.0+cpu", "1.13.1"),
    "pytorch/pytorch#195586": ("2.14.1", "2.15.0"),
    "huggingface/accelerate#3391": ("1.3.0", "1.4.0"),
    "pytorch/ignite#3447": ("0.5.2", "0.5.3"),
    "pytorch/tensordict#1056": ("0.6.0", "0.6.1"),
    "aio-libs/aiohttp#11054": ("3.12.2", "3.12.3"),
    "numpy/numpy#14469": ("1.17.3", "1.17.4"),
    "python-pillow/Pillow#5844": ("8.4.0", "9.0.0"),
}
BY_LINK = {leak.link: leak for leak in known_leaks()}


@pytest.mark.parametrize(("link", "releases"), RELEASES.items())
def test_a_known_leak_is_one_of_some_releases_and_not_of_all(link: str, releases: tuple[str, str]) -> None:
    with_it, without = releases
    assert has_bug(BY_LINK[link], with_it)
    assert not has_bug(BY_LINK[link], without)


@pytest.mark.parametrize("leak", known_leaks(), ids=lambda leak: leak.link)
def test_a_known_leak_names_the_story_that_shows_it_or_says_why_none_does(leak: KnownLeak) -> None:
    if leak.library == "torch":
        assert bool(leak.story) is bool(leak.subject) is not bool(leak.unrecorded)
    else:  # the recordings are of frameworks
        assert not any((leak.story, leak.subject, leak.unrecorded))


@pytest.mark.parametrize("leak", known_leaks(), ids=lambda leak: leak.link)
def test_a_known_leak_is_a_whole_row(leak: KnownLeak) -> None:
    assert re.fullmatch(r"[\w.-]+/[\w.-]+#[0-9]+", leak.link)
    assert leak.codes
    assert set(leak.codes) <= set(SENTENCES)
    assert not leak.what.endswith((".", " "))
    assert not leak.advice.endswith((".", " "))
    assert leak.what
    assert leak.advice[0].isupper()
    SpecifierSet(leak.versions)
    if leak.ran:
        assert has_bug(leak, leak.ran)


@pytest.mark.parametrize("leak", known_leaks(), ids=lambda leak: leak.link)
def test_a_known_leak_is_told_by_an_object_of_its_library_or_says_why_not(leak: KnownLeak) -> None:
    facts = [leak.path, leak.cycle, leak.types, leak.file]
    if leak.unmatched:
        assert not any((*facts, leak.attribute, leak.function, leak.ran))
    else:  # the code alone tells some leaks of torch
        assert any(facts) or leak.library == "torch"
    assert not leak.attribute or leak.types
    assert not leak.function or leak.file


def test_the_issues_of_known_leaks_are_unique() -> None:
    assert len(BY_LINK) == len(known_leaks()) >= 80


def in_cycle(*steps: PathStep) -> Trace:
    """A trace of an object in a cycle that the collector frees."""
    return Trace("Thing", "", Lifetime.GC, (), steps, Ledger(1, ()))


ENGINE = step("ignite.engine.engine.Engine", "._event_handlers", ("attribute", "_event_handlers", -1))
HANDLERS = step("collections.defaultdict", "['ended']", ("dict_value", "'ended'", -1))
ENTRY = step("tuple", "[0]", ("item", "", 0))
LATTICE = step("app.Lattice", ".cells", ("attribute", "cells", -1))
CELLS = step("numpy.ndarray", "[0]", ("item", "", 0))
CELL = step("app.Cell", ".parent", ("attribute", "parent", -1))
IGNITE, NUMPY = "pytorch/ignite#3447", "numpy/numpy#6581"
VERSIONS = {"pytorch-ignite": "0.5.2", "numpy": "2.4.6", "torch": "2.13.0"}


@pytest.mark.parametrize(
    ("link", "code", "cycle", "versions", "is_named"),
    [
        (IGNITE, "GL516", (ENGINE, HANDLERS, ENTRY), VERSIONS, True),
        (IGNITE, "GL516", (ENGINE, HANDLERS, ENTRY), {**VERSIONS, "pytorch-ignite": "0.5.3"}, False),
        (IGNITE, "GL516", (ENGINE, HANDLERS, ENTRY), {"torch": "2.13.0"}, False),  # not loaded
        (IGNITE, "GL402", (ENGINE, HANDLERS, ENTRY), VERSIONS, False),
        (IGNITE, "GL516", (replace(ENGINE, type="app.Engine"), HANDLERS, ENTRY), VERSIONS, False),
        (IGNITE, "GL516", (step(ENGINE.type, ".state", ("attribute", "state", -1)), HANDLERS), VERSIONS, False),
        (NUMPY, "GL000", (LATTICE, CELLS, CELL), VERSIONS, True),
        (NUMPY, "GL000", (LATTICE, step("list", "[0]", ("item", "", 0)), CELL), VERSIONS, False),
        (NUMPY, "GL516", (LATTICE, CELLS, CELL), VERSIONS, False),
    ],
)
def test_a_known_leak_fits_its_own_trace_and_no_look_alike(
    link: str, code: str, cycle: tuple[PathStep, ...], versions: dict[str, str], is_named: bool
) -> None:
    assert (
        shows(BY_LINK[link], code, CaseOfTrace(in_cycle(*cycle), FindingKind.NEEDS_GC, Lifetime.GC), versions)
        is is_named
    )


def test_a_row_without_bounds_is_not_of_a_library_that_is_not_loaded() -> None:
    case = CaseOfTrace(in_cycle(LATTICE, CELLS, CELL), FindingKind.NEEDS_GC, Lifetime.GC)
    assert not shows(BY_LINK[NUMPY], "GL000", case, {"torch": "2.13.0"})


def test_a_trace_that_no_pattern_fits_still_names_the_library() -> None:
    found = diagnose(in_cycle(LATTICE, CELLS, CELL), FindingKind.GROWTH, Lifetime.GC, versions=VERSIONS)
    assert found.code != "GL000" or found.library.startswith("numpy, numpy/numpy#6581: arrays of objects")


def contradictions(leak: KnownLeak) -> list[str]:
    """Return the recorded releases whose reading of the leak's story contradicts its versions."""
    found = history_of(leak.story)
    (row,) = [row for row in found.rows if (row.probe, row.subject) == ("liveness", leak.subject)]
    read = {
        system.version.partition("+")[0]: moment.value
        for system, moment in zip(found.systems, row.moments, strict=True)
        if system.framework == leak.library and moment.value is not None
    }
    assert read != {}
    return [version for version, value in read.items() if (value == "never") is not has_bug(leak, version)]


@pytest.mark.parametrize("leak", [leak for leak in known_leaks() if leak.story], ids=lambda leak: leak.link)
def test_a_known_leak_has_the_releases_in_which_its_story_was_never_freed(leak: KnownLeak) -> None:
    assert contradictions(leak) == []


def test_a_bound_that_recordings_contradict_is_found() -> None:
    (leak,) = [leak for leak in known_leaks() if leak.link == "pytorch/pytorch#58271"]
    assert contradictions(replace(leak, versions="<1.2")) == ["1.2.0", "1.9.1"]
    assert contradictions(replace(leak, versions="<2.0")) == ["1.10.2", "1.13.1"]


def test_a_queue_that_grows_is_a_queue_and_not_its_deque() -> None:
    root = step("module", "global variable 'pending'", ("internal", "__dict__", -1), ("dict_value", "'pending'", -1))
    queue = step("queue.Queue", ".queue", ("attribute", "queue", -1))
    deque = step("collections.deque", "[7]", ("item", "", 7), length=41)
    tensor = step("torch.Tensor", "")
    kept = Trace("Tensor", "float32 [8]", Lifetime.HELD, (root, queue, deque, tensor), (), Ledger(1, ()))
    assert diagnose(kept, FindingKind.GROWTH, growth=Growth(GrowthKind.CONTAINER, 2, 0)).code == "GL509"


def grown(*steps: PathStep, at: int, hop: int = 0) -> str:
    """The code and the title of a tensor that a path with a growing container leads to."""
    kept = Trace("Tensor", "float32 [8]", Lifetime.HELD, (*steps, step("torch.Tensor", "")), (), Ledger(1, ()))
    found = diagnose(kept, FindingKind.GROWTH, growth=Growth(GrowthKind.CONTAINER, at, hop))
    return f"{found.code} {found.title}"


def test_an_object_that_gets_more_attributes_grows() -> None:
    root = step("module", "global variable 'net'", ("internal", "__dict__", -1), ("dict_value", "'net'", -1))
    owner = step("__main__.Net", ".act_7", ("internal", "__dict__", -1), ("dict_value", "'act_7'", -1))
    assert grown(root, owner, at=1, hop=1) == "GL511 each step adds an attribute under a new name"
    assert grown(root, owner, at=0, hop=1) == "GL511 each step adds a global variable under a new name"


def test_an_array_of_objects_grows_item_by_item() -> None:
    root = step("module", "global variable 'table'", ("internal", "__dict__", -1), ("dict_value", "'table'", -1))
    array = step("numpy.ndarray", "[7]", ("item", "", 7))
    assert grown(root, array, at=1) == "GL512 each step fills another item of an array"


def test_an_array_that_gets_longer_is_cut_with_the_methods_of_arrays() -> None:
    root = step("module", "global variable 'seen'", ("internal", "__dict__", -1), ("dict_value", "'seen'", -1))
    steps = (root, step("numpy.ndarray", "", detail="float32 [4096, 64]"))
    kept = Trace("ndarray", "float32 [4096, 64]", Lifetime.HELD, steps, (), Ledger(1, ()))
    line = "seen = np.concatenate([seen, rows])"
    found = diagnose(kept, FindingKind.GROWTH, growth=Growth(GrowthKind.LARGER), statement=line)
    assert (found.code, found.title) == ("GL704", "an array is made longer at each step")
    assert found.advice.code == "seen = np.concatenate([seen, rows])[-10_000:].copy()"


def test_a_tee_is_not_told_to_iterate_again() -> None:
    root = step("module", "global variable 'preview'", ("internal", "__dict__", -1), ("dict_value", "'preview'", -1))
    ahead = step("itertools._tee", "the items that were read ahead", ("unknown", "the items that were read ahead", -1))
    items = step("itertools._tee_dataobject", "an item", ("unknown", "an item", -1))
    title = "GL519 itertools.tee keeps what one of its iterators has not read yet"
    assert grown(root, ahead, items, at=2) == title
    again = step("itertools.cycle", "its items", ("unknown", "its items", -1))
    title = "GL519 itertools.cycle keeps everything that went through it"
    assert grown(root, again, at=1) == title
    assert grown(root, again, step("list", "[7]", ("item", "", 7)), at=2) == title  # the list of its items, which grows


def test_a_sparse_gradient_is_zeroed_and_not_cut() -> None:
    """The advice was to keep the last rows of the optimizer."""
    root = step("module", "global variable 'w'", ("internal", "__dict__", -1), ("dict_value", "'w'", -1))
    weight = replace(step("torch.Tensor", "grad", ("native", "grad", -1)), bases=("torch._C.TensorBase",))
    sparse = replace(step("torch::SparseTensorImpl", "part", ("native", "part", -1)), kind="tensor")
    rows = replace(step("torch::TensorImpl", ""), kind="tensor")
    for steps, title in (
        ((root, weight, sparse, rows), "a sparse gradient gets longer with each backward pass"),
        ((root, sparse, rows), "a tensor is made longer at each step"),
    ):
        kept = Trace("TensorImpl", "", Lifetime.HELD, steps, (), Ledger(1, ()))
        assert diagnose(kept, FindingKind.GROWTH, growth=Growth(GrowthKind.LARGER)).title == title


def test_callbacks_that_wait_in_an_event_loop_are_no_list_of_the_program() -> None:
    root = step("module", "global variable 'loop'", ("internal", "__dict__", -1), ("dict_value", "'loop'", -1))
    loop = step("asyncio.unix_events._UnixSelectorEventLoop", "._scheduled", ("attribute", "_scheduled", -1))
    table = step("list", "[3]", ("item", "", 3), length=41)
    handle = step("asyncio.events.Handle", "._args", ("attribute", "_args", -1))
    args = step("tuple", "[0]", ("item", "", 0), length=1)
    assert grown(root, loop, table, handle, args, at=2) == "GL521 scheduled callbacks keep their arguments"


def test_contexts_in_an_exit_stack_are_no_list_of_the_program() -> None:
    """The advice was to keep only the last few in a deque."""
    root = step("module", "global variable 'stack'", ("internal", "__dict__", -1), ("dict_value", "'stack'", -1))
    stack = step("contextlib.ExitStack", "._exit_callbacks", ("attribute", "_exit_callbacks", -1))
    stack = replace(stack, bases=("contextlib._BaseExitStack",))
    queue = step("collections.deque", "[3]", ("item", "", 3), length=41)
    entry = step("tuple", "[1]", ("item", "", 1), length=2)
    assert grown(root, stack, queue, entry, at=2) == "GL521 an ExitStack keeps every context until it closes"


def test_partials_in_a_list_are_callbacks_and_in_a_deque_they_are_jobs() -> None:
    root = step("module", "global variable 'waiting'", ("internal", "__dict__", -1), ("dict_value", "'waiting'", -1))
    job = step("functools.partial", ".args", ("attribute", "args", -1), ("item", "", 0))
    for name, found in (
        ("list", "GL521 each step registers a callback, and none is removed"),
        ("collections.deque", "GL512 each step appends to a list"),
    ):
        assert grown(root, step(name, "[3]", ("item", "", 3), length=41), job, at=1) == found


def test_a_list_of_optimizers_grows_and_not_an_optimizer() -> None:
    """An optimizer kept for each trial was one that has parameters that its model no longer has."""
    root = step("module", "global variable 'opts'", ("internal", "__dict__", -1), ("dict_value", "'opts'", -1))
    table = step("list", "[3]", ("item", "", 3), length=11)
    optimizer = step("torch.optim.lbfgs.LBFGS", ".state", ("attribute", "state", -1), ("dict_value", "<Tensor>", -1))
    optimizer = replace(optimizer, bases=("torch.optim.optimizer.Optimizer",))
    state = step("dict", "['d']", ("dict_value", "'d'", -1), length=9)
    assert grown(root, table, optimizer, state, at=1) == "GL512 each step appends to a list"


def test_a_file_in_memory_that_is_written_to_can_be_emptied() -> None:
    root = step("module", "global variable 'log'", ("internal", "__dict__", -1), ("dict_value", "'log'", -1))
    kept = Trace("StringIO", "", Lifetime.HELD, (root, step("_io.StringIO", "")), (), Ledger(1, ()))
    found = diagnose(kept, FindingKind.GROWTH, growth=Growth(GrowthKind.LARGER))
    assert (found.code, found.title) == ("GL704", "each step writes to a file in memory")
    assert found.advice.code == "log.seek(0)  # when its content is needed no longer\nlog.truncate()"


def test_a_file_in_memory_that_another_object_writes_to_is_not_emptied() -> None:
    """An archive that was still open lost all of its members by the advice."""
    root = step("module", "global variable 'log'", ("internal", "__dict__", -1), ("dict_value", "'log'", -1))
    holders = (Referrer("dict", "", "['log']", is_native=False), Referrer("TarFile", "", ".fileobj", is_native=False))
    kept = Trace("BytesIO", "", Lifetime.HELD, (root, step("_io.BytesIO", "")), (), Ledger(2, holders))
    found = diagnose(kept, FindingKind.GROWTH, growth=Growth(GrowthKind.LARGER))
    assert (found.title, found.advice.code) == ("each step writes to a file in memory", "")


@pytest.mark.parametrize(
    ("read_at", "end", "code"),
    [
        ("", "only what you need of each.", "del rows[:-100]  # after each append"),
        ("eval.py:30", "only what you need of each. eval.py:30 reads them: see what it needs.", ""),
    ],
)
def test_items_that_the_program_reads_later_are_not_dropped(read_at: str, end: str, code: str) -> None:
    root = step("module", "global variable 'rows'", ("internal", "__dict__", -1), ("dict_value", "'rows'", -1))
    steps = (root, step("list", "[40]", ("item", "", 40), length=41), step("torch.Tensor", ""))
    kept = Trace("Tensor", "float32 [3]", Lifetime.HELD, steps, (), Ledger(1, ()))
    found = diagnose(kept, FindingKind.GROWTH, growth=Growth(GrowthKind.CONTAINER, 1), read_at=read_at)
    assert (found.title, found.advice.code) == ("each step appends to a list", code)
    assert found.advice.text.endswith(end)


def test_a_class_that_torchscript_makes_for_a_call_is_not_the_programs_to_move() -> None:
    """The advice was to define torch's class once."""
    name = "torch._jit_internal.createResolutionCallbackFromClosure.<locals>.closure_lookup"
    ring = (
        step("type", ".__dict__", ("internal", "__dict__", -1), detail=name),
        step("getset_descriptor", ".__objclass__"),
    )
    kept = Trace("Tensor", "float32 [8]", Lifetime.GC, (), ring, Ledger(1, ()))
    found = diagnose(kept, FindingKind.NEEDS_GC, lifetime=Lifetime.GC)
    assert (found.code, found.title) == ("GL506", "torch.jit.script compiles again at each step")


@pytest.mark.parametrize(
    ("detail", "is_one"),
    [
        ("float32 []", True),
        ("float32 [] cuda:0", True),
        ("float32 [1] cuda:0", False),
        ("[]", True),
        ("float32", False),
        ("", False),
    ],
)
def test_a_tensor_without_dimensions_is_a_scalar_on_any_device(detail: str, is_one: bool) -> None:
    assert is_scalar_detail(detail) is is_one


def test_a_scalar_on_a_gpu_is_stored_as_a_number() -> None:
    trace = last_step(step("list", "[4]", ("item", "", 4), length=20))
    on_gpu = replace(trace, steps=(*trace.steps[:-1], replace(trace.steps[-1], detail="float32 [] cuda:0")))
    found = diagnose(on_gpu, FindingKind.GROWTH, statement="state.append(loss)")
    assert (found.code, found.advice.code) == ("GL402", "state.append(loss.item())")


@pytest.mark.parametrize(
    ("detail", "nbytes"),
    [
        ("float32 [64, 32]", 8192),
        ("bfloat16 [10] cuda:0", 20),
        ("bool [10]", 10),
        ("complex128 [10]", 160),
        ("float8_e4m3fn [10]", 10),
        ("float4_e2m1fn_x2 [10]", 10),
        ("quint8 [10]", 10),
        ("int64 []", 8),
        ("float32 [0, 5]", 0),
        ("unheard [10]", None),
        ("[10]", None),
        ("float32", None),
    ],
)
def test_bytes_of_a_tensor_follow_from_its_detail(detail: str, nbytes: int | None) -> None:
    assert bytes_of_detail(detail) == nbytes


@pytest.mark.parametrize(
    ("detail", "storage_bytes", "code"),
    [
        ("bool [100]", 100, "GL512"),
        ("bool [100]", 100_000, "GL701"),
        ("complex128 [100]", 1_600, "GL512"),
        ("unheard [100]", 100_000, "GL512"),
        ("unheard [100]", None, "GL701"),
    ],
)
def test_a_view_of_all_of_its_storage_keeps_nothing_else(detail: str, storage_bytes: int | None, code: str) -> None:
    trace = last_step(step("list", "[4]", ("item", "", 4), length=20))
    view = replace(trace.steps[-1], detail=detail)
    facts = TensorFacts(is_view=True, storage_bytes=storage_bytes)
    kept = replace(trace, steps=(*trace.steps[:-1], view), tensor=facts)
    assert diagnose(kept, FindingKind.GROWTH).code == code


@pytest.mark.parametrize(("shown", "code"), [("float32 [64]", "GL701"), ("float32 [63, 400]", "GL512")])
def test_a_part_of_an_array_keeps_all_of_it(shown: str, code: str) -> None:
    """The advice was to keep fewer parts."""
    whole = last_step(
        step("list", "[4]", ("item", "", 4), length=20),
        step("numpy.ndarray", ".base", ("internal", "base", -1), detail=shown),
        step("numpy.ndarray", ".base", ("internal", "base", -1), detail="float32 [64, 400]"),
    )
    kept = replace(whole, steps=(*whole.steps[:-1], replace(whole.steps[-1], detail="float32 [64, 400]")))
    found = diagnose(kept, FindingKind.GROWTH, growth=Growth(GrowthKind.CONTAINER, 1), statement="rows.append(a[:, 0])")
    assert found.code == code
    assert found.advice.code == "rows.append(a[:, 0].copy())" or code != "GL701"


@pytest.mark.parametrize(
    ("other", "code"),
    [
        ((), "GL516"),
        ((step("method", "__self__", ("internal", "__self__", -1)),), "GL505"),
        ((step("function", "closure variable 'x'", ("attribute", "__closure__:x", -1), ("item", "", 0)),), "GL505"),
    ],
)
def test_a_cycle_of_thousands_of_objects_has_its_code(other: tuple[PathStep, ...], code: str) -> None:
    links = (step("app.Node", ".next", ("attribute", "next", -1)),) * 5_000
    assert diagnose(ring(*links[:2_000], *other, *links[2_000:]), FindingKind.NEEDS_GC).code == code


#: Classes of a program that derive from one of a framework.
DERIVED = {
    "a data set": "torch.utils.data.dataset.Dataset",
    "an optimizer": "torch.optim.optimizer.Optimizer",
    "a scheduler": "torch.optim.lr_scheduler.LRScheduler",
    "a handler of logs": "logging.Handler",
    "a thread": "threading.Thread",
    "a dict": "dict",
    "a process group": "torch.distributed.distributed_c10d.Work",
}


@pytest.mark.parametrize("base", DERIVED.values(), ids=DERIVED)
def test_an_own_attribute_of_a_derived_class_is_like_one_of_any_object(base: str) -> None:
    """Whatever the framework's class keeps under names of its own."""
    own = replace(step("app.Own", ".last", ("attribute", "last", -1)), bases=(base,))
    last = replace(last_step(own), tensor=TensorFacts())
    assert diagnose(last, FindingKind.RETAINED).code == "GL525"
    listed = last_step(own, step("list", "[4]", ("item", "", 4), length=20))
    assert diagnose(replace(listed, tensor=None), FindingKind.GROWTH).code == "GL512"
    method = step("method", "__self__", ("internal", "__self__", -1))
    of_method = "GL602" if base == DERIVED["an optimizer"] else "GL505"
    assert diagnose(ring(own, method), FindingKind.NEEDS_GC).code == of_method
    named = diagnose(replace(last, tensor=None), FindingKind.GROWTH, growth=Growth(GrowthKind.CONTAINER, 1))
    assert named.code == "GL511"


def test_threads_that_pile_up_keep_their_attributes() -> None:
    worker = replace(step("app.Worker", ".batch", ("attribute", "batch", -1)), bases=("threading.Thread",))
    active = step("dict", "[7]", ("dict_value", "7", -1), length=20)
    found = diagnose(replace(last_step(active, worker), tensor=None), FindingKind.GROWTH)
    assert found.code == "GL523"
