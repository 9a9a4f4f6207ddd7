"""The fixture `lifetimes`: each failure is an AssertionError that leads from the survivor to its holder."""

from __future__ import annotations

import gc
from collections import OrderedDict, deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import gradlife.engine as torch
from gradlife.errors import UsageError
from gradlife.pytest_plugin.lifetimes import Lifetimes
from plugin_suites import run_suite

kept: list[Any] = []


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(3))


@pytest.fixture
def own() -> Iterator[Lifetimes]:
    """The fixture's value, by itself."""
    found = Lifetimes()
    try:
        yield found
    finally:
        found.close()
        kept.clear()
        gc.collect()


def ring() -> Model:
    model = Model()
    model.__dict__["itself"] = model
    return model


def message(error: pytest.ExceptionInfo[AssertionError]) -> list[str]:
    return str(error.value).splitlines()


def test_what_dies_with_its_last_name_is_freed(own: Lifetimes) -> None:
    own.expect_freed(lambda: torch.ones(3))
    own.expect_freed(lambda: (Model(), [torch.ones(3)]))
    tensor = torch.ones(3)
    own.expect_freed(tensor)
    del tensor
    own.conclude()


@pytest.mark.whole
def test_what_a_function_keeps_is_reported_with_its_holder_and_its_line(own: Lifetimes) -> None:
    def make() -> Any:
        kept.append(torch.ones(3))
        return kept[0]

    with pytest.raises(AssertionError) as error:
        own.expect_freed(make)
    lines = message(error)
    assert lines[0] == "Tensor float32 [3] should be freed when its last name goes, but it is held"
    assert lines[1].startswith("  Tensor float32 [3] (made at tests/pytest_plugin/test_lifetimes.py:")
    assert lines[2:4] == [
        "    item 0 of list (1 item), which is held by",
        f"    global variable 'kept' of module {__name__}",
    ]


class Output(NamedTuple):
    logits: Any
    name: str = "output"


class Batch(list[Any]):
    """A list that can be watched itself."""


@pytest.mark.whole
@pytest.mark.parametrize(
    "wrapped",
    [
        Output,
        lambda tensor: deque([tensor]),
        lambda tensor: Batch([tensor]),
        lambda tensor: OrderedDict(logits=tensor),
        lambda tensor: [[[[[[tensor]]]]]],
    ],
    ids=["named tuple", "deque", "own list", "ordered dict", "deep list"],
)
def test_what_a_function_keeps_is_found_in_every_kind_of_container(own: Lifetimes, wrapped: Any) -> None:
    """A named tuple passed: its items were not watched."""

    def make() -> Any:
        kept.append(torch.ones(3))
        return (wrapped(kept[0]), torch.ones(3))

    with pytest.raises(AssertionError, match="should be freed when its last name goes, but it is held"):
        own.expect_freed(make)
    own.expect_freed(lambda: wrapped(torch.ones(3)))


def test_a_container_of_an_own_class_that_is_kept_is_reported(own: Lifetimes) -> None:
    def make() -> Any:
        kept.append(Batch())
        return kept[0]

    with pytest.raises(AssertionError, match=r"Batch.* should be freed when its last name goes, but it is held"):
        own.expect_freed(make)


def test_a_list_that_contains_itself_is_opened_once(own: Lifetimes) -> None:
    def make() -> Any:
        own_item: list[Any] = [torch.ones(3)]
        own_item.append(own_item)
        return own_item

    with pytest.raises(AssertionError, match="only the collector frees it"):
        own.expect_freed(make)


def test_a_part_that_cannot_be_watched_is_a_usage_error(own: Lifetimes) -> None:
    """It passed whether it was freed or not."""
    with pytest.raises(UsageError) as caught:
        own.expect_freed(lambda: (torch.ones(3), 1, "two", 3.0, iter([torch.ones(3)])))
    assert str(caught.value) == (
        "an object of type list_iterator can't be watched: nothing refers to it weakly (try: return its items)"
    )
    own.expect_freed(lambda: (torch.ones(3), 1, "two", 3.0, b"four", 5j, None, True, range(6)))


@pytest.mark.whole
def test_a_name_in_a_running_function_is_no_holder_but_a_list_is(own: Lifetimes) -> None:
    tensor = torch.ones(3)
    kept.append(tensor)
    with pytest.raises(AssertionError, match=r"but it is held\n.*\n    item 0 of list \(1 item\)"):
        own.expect_freed(tensor)


@pytest.mark.whole
def test_a_cycle_is_freed_by_the_collector_only(own: Lifetimes) -> None:
    with pytest.raises(AssertionError) as error:
        own.expect_freed(ring)
    assert message(error)[0] == "Model should be freed when its last name goes, but only the collector frees it"
    assert message(error)[2] == "    Model refers by attribute 'itself' to Model"
    own.expect_freed(ring, by="gc")
    model = ring()
    with pytest.raises(AssertionError, match="but only the collector frees it"):
        own.expect_freed(model)
    own.expect_freed(model, by="gc")
    del model
    own.conclude()


@pytest.mark.whole
def test_what_the_collector_cannot_free_is_said_to_stay(own: Lifetimes) -> None:
    handles = []

    def make() -> Any:
        middle = torch.ones(3, requires_grad=True).exp()
        later = middle * middle
        handles.append(middle.register_hook(lambda gradient: later))
        return middle

    with pytest.raises(AssertionError) as error:
        own.expect_freed(make, by="gc")
    text = "Tensor float32 [3] should be freed by the collector at the latest, but nothing will ever free it"
    assert message(error)[0] == text
    handles[0].remove()


def test_the_collector_rests_until_it_is_known(own: Lifetimes) -> None:
    tensor = torch.ones(3)
    own.expect_freed(tensor)
    assert not gc.isenabled()
    del tensor
    own.conclude()
    own.close()
    assert gc.isenabled()


@pytest.mark.whole
def test_growth_is_reported_and_its_absence_is_not(own: Lifetimes) -> None:
    own.no_growth(lambda: torch.ones(3))
    with pytest.raises(AssertionError) as error:
        own.no_growth(lambda number: kept.append(torch.ones(3)), rounds=3, calls=2)
    first = message(error)[0]  # bytes are those of torch's storages where torch is loaded, and the engine's are smaller
    assert first.startswith("1 leak (held), 1 tensor ")
    assert " a call: GL512 " in first


@pytest.mark.whole
def test_cycles_are_growth_where_that_is_asked_for(own: Lifetimes) -> None:
    own.no_growth(ring, rounds=3, calls=2)
    with pytest.raises(AssertionError, match="waits for the collector"):
        own.no_growth(ring, rounds=3, calls=2, cycles="fail")


@pytest.mark.whole
def test_cycles_are_no_growth_of_a_step_because_the_session_has_disabled_the_collector(own: Lifetimes) -> None:
    gc.disable()
    try:
        own.no_growth(ring, rounds=3, calls=2)
    finally:
        gc.enable()
        gc.collect()


def test_too_few_rounds_are_refused(own: Lifetimes) -> None:
    with pytest.raises(UsageError, match="3 rounds at least"):
        own.no_growth(ring, rounds=2)


def test_objects_are_counted_by_type_and_by_kind(own: Lifetimes) -> None:
    before = own.count(torch.Tensor), own.count("tensor"), own.count("storage"), own.count(Model)
    tensor, parameter, model = torch.ones(3), torch.nn.Parameter(torch.ones(2)), Model()
    after = own.count(torch.Tensor), own.count("tensor"), own.count("storage"), own.count(Model)
    assert [one - other for one, other in zip(after, before, strict=True)] == [3, 3, 3, 1]
    assert own.count("Model") == 1
    del tensor, parameter, model


@pytest.mark.whole
def test_a_new_tensor_is_reported_also_in_a_cycle_and_in_cxx_alone(own: Lifetimes) -> None:
    weight = torch.ones(3, requires_grad=True)
    with own.assert_no_new_tensors():
        (weight * 2).sum()
    with pytest.raises(AssertionError) as error, own.assert_no_new_tensors():
        tensor = torch.ones(3)
    assert message(error)[0] == "1 new tensor is alive at the end of the block:"
    assert message(error)[2].startswith("    local variable 'tensor' of running frame test_a_new_tensor")
    with pytest.raises(AssertionError, match="nothing but a cycle"), own.assert_no_new_tensors():
        ring()
    with pytest.raises(AssertionError, match="grad of Tensor"), own.assert_no_new_tensors():
        (weight * 2).sum().backward()
    del tensor


@pytest.mark.whole
def test_a_new_tensor_is_reported_though_the_program_collected(own: Lifetimes) -> None:
    def make() -> None:
        kept.append(torch.ones(3))
        gc.collect()

    with pytest.raises(AssertionError, match="1 new tensor is alive"), own.assert_no_new_tensors():
        make()


def test_identity_that_lasts_is_distinguished_from_identity_that_does_not(own: Lifetimes) -> None:
    result = torch.ones(3, requires_grad=True) * 2
    own.identity_stable(lambda: result.grad_fn)
    with pytest.raises(AssertionError) as error:
        own.identity_stable(lambda: torch.ones(3))
    assert message(error) == [
        "reading it gives no stable object: 8 reads gave 8 different objects of type Tensor",
        "  a weak reference to it dies as soon as no name holds it",
        "  an attribute set on it is gone when it is read again",
    ]


@pytest.mark.whole
def test_a_watched_object_can_be_asked(own: Lifetimes) -> None:
    tensor, model = torch.ones(3), ring()
    watched, other = own.watch(tensor), own.watch(model)
    assert watched.alive
    assert not watched.freed
    assert "local variable 'tensor' of running frame" in watched.why()
    del tensor, model
    assert (watched.lifetime(), other.lifetime(), other.freed) == ("del", "gc", True)
    watched.assert_freed()
    kept.append(torch.ones(2))
    assert own.watch(kept[0]).lifetime() == "held"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda own: own.expect_freed(lambda: None), "the function returned nothing that can be watched"),
        (lambda own: own.expect_freed(torch.ones(3), by="gone"), "by='gone': an object is freed by 'del' or by 'gc'"),
        (lambda own: own.watch(3), "an object of type int can't be watched"),
    ],
)
def test_what_can_not_be_asked_is_refused(own: Lifetimes, call: Any, words: str) -> None:
    with pytest.raises(UsageError) as error:
        call(own)
    assert words in str(error.value)


SUITE = """
    import gradlife.engine as torch
    import pytest

    kept = []

    class Owner:
        pass

    def test_dies(lifetimes):
        tensor = torch.ones(3)
        lifetimes.expect_freed(tensor)

    def test_is_kept_later(lifetimes):
        tensor = torch.ones(3)
        lifetimes.expect_freed(tensor)
        kept.append(tensor)

    def test_becomes_part_of_a_cycle(lifetimes):
        owner = Owner()
        lifetimes.expect_freed(owner)
        owner.itself = owner

    @pytest.fixture
    def value():
        return torch.ones(3)

    def test_is_the_value_of_a_fixture(lifetimes, value):
        lifetimes.expect_freed(value)

    @pytest.fixture(scope="module")
    def shared():
        return torch.ones(3)

    def test_is_the_value_of_a_wider_fixture(shared, lifetimes):
        lifetimes.expect_freed(shared)
"""


def test_what_is_expected_of_an_object_is_known_when_the_test_has_returned(tmp_path: Path) -> None:
    ran = run_suite(tmp_path, test_suite=SUITE)
    assert {name.partition("::")[2]: word for name, word in ran.outcomes.items()} == {
        "test_dies": "PASSED",
        "test_is_kept_later": "FAILED",
        "test_becomes_part_of_a_cycle": "FAILED",
        "test_is_the_value_of_a_fixture": "PASSED",
        "test_is_the_value_of_a_wider_fixture": "FAILED",
    }
    for words in (
        "global variable 'kept' of module test_suite",
        "Owner should be freed when its last name goes, but only the collector frees it",
        "fixture shared (module scope)",
    ):
        assert words in ran.text


def test_what_the_collector_may_free_does_not_hide_what_it_may_not(own: Lifetimes) -> None:
    """The collection for the first object freed the cycle of the second before that was looked at."""
    first, second = ring(), Model()
    own.expect_freed(first, by="gc")
    own.expect_freed(second)
    second.itself = second
    del first, second
    with pytest.raises(AssertionError):
        own.conclude()
