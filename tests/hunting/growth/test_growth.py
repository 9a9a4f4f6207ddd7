"""Growth, filling caches and constant holders, judged from a few snapshots of programs in this process."""

from __future__ import annotations

import atexit
import itertools
import random
import sys
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
numpy = pytest.importorskip("numpy")

from gradlife.hunting.findings.builder import growth_finding  # noqa: E402
from gradlife.hunting.growth import reachable_growth  # noqa: E402
from gradlife.hunting.growth.controls import Controls  # noqa: E402
from gradlife.hunting.growth.groups import Group  # noqa: E402
from gradlife.hunting.growth.oversized_storages import kept_by_slices  # noqa: E402
from gradlife.hunting.growth.reachable_growth import Evidence, evidence_of, grown_groups, is_significant  # noqa: E402
from gradlife.hunting.growth.suspects import is_in_doubt  # noqa: E402
from gradlife.hunting.snapshots.creation_sites import CreationSites  # noqa: E402
from gradlife.hunting.snapshots.step_snapshots import StepSnapshot, take_snapshot  # noqa: E402
from step_evidence import evidence, has_tensors, words  # noqa: E402


def parts_of(found: Evidence, value: Any) -> tuple[int, int, int, int]:
    """A tensor, its C++ object, its storage and its grad node."""
    graph = found.graph
    tensor = graph.find(id(value))
    assert tensor is not None
    impl = next(node for node in graph.referents(tensor) if graph.kind(node) == "tensor")
    (storage,) = (node for node in graph.referents(impl) if graph.kind(node) == "storage")
    (node,) = (node for node in graph.referents(impl) if graph.kind(node) == "grad_node")
    return tensor, impl, storage, node


@pytest.mark.whole
def test_callbacks_at_exit_are_no_item_of_a_python_object_and_grow_all_the_same() -> None:
    callbacks: list[weakref.ref[Any]] = []

    def step(number: int) -> None:
        kept = torch.ones(8)

        def callback() -> None:
            kept.sum()

        callbacks.append(weakref.ref(atexit.register(callback)))

    try:
        (trace,), _ = words(evidence(step, 3, 5, 7, 11))
    finally:
        for callback in callbacks:
            atexit.unregister(callback() or len)
    assert "atexit callback" in trace
    assert "'kept'" in trace


@pytest.mark.whole
def test_a_cache_whose_keys_repeat_fills_ever_more_slowly_and_is_in_doubt() -> None:
    masks, chance = {}, random.Random(0)

    def step(number: int) -> None:
        length = chance.randrange(128)
        if length not in masks:
            masks[length] = torch.ones(8)

    assert words(evidence(step, 107, 61, 89, 131)) == ([], 1)


@pytest.mark.whole
def test_a_list_of_its_own_limit_that_is_full_at_last_does_not_grow() -> None:
    memory: list[Any] = []
    chance = random.Random(0)

    def step(number: int) -> None:
        if len(memory) < 200:
            memory.append((torch.ones(8), number))
        else:
            memory[chance.randrange(200)] = (torch.ones(8), number)

    traces, _ = words(evidence(step, 66, 41, 61, 89))
    assert traces == []


@pytest.mark.whole
def test_a_list_that_gets_an_item_every_seven_steps_grows() -> None:
    best: list[Any] = []

    def step(number: int) -> None:
        if number % 7 == 3:
            best.append(torch.ones(8))

    (trace,), _ = words(evidence(step, 20, 17, 29, 41))
    assert trace.partition(" keeps it: ")[2].startswith("best[")


@pytest.mark.parametrize(("counts", "many"), [((1, 1, 1), False), ((4, 6, 9), True), ((30, 0, 90), False)])
def test_a_chain_has_more_links_than_a_few_that_stand_where_others_stood(counts: tuple[int, ...], many: bool) -> None:
    steps = (29, 41, 61)
    judged: Any = SimpleNamespace(judged_rounds=range(3), steps=lambda number: steps[number])
    assert is_significant(counts, judged) == many


@pytest.mark.whole
def test_a_running_total_is_told_by_its_tensor_wherever_that_stands() -> None:
    """A tensor that each step replaces may stand where another one stood earlier, with all or some of its parts."""
    state = SimpleNamespace(total=torch.zeros(()))
    weight = torch.ones(4, requires_grad=True)

    def step(number: int) -> None:
        state.total = state.total + (weight * number).sum()

    found = evidence(step, 3, 5, 7, 11)
    tensor, impl, storage, _ = parts_of(found, state.total)
    for known in itertools.product([False, True], repeat=3):
        old = set(itertools.compress([tensor, impl, storage], known))
        born = {node: number for node, number in found.born.items() if node not in old}
        traces, unsure = words(replace(found, born=born))
        assert [trace.partition(" keeps it: ")[2] for trace in traces] == ["state.total"]
        assert unsure == 0


@pytest.mark.whole
def test_things_of_several_types_from_several_rounds_are_no_chain() -> None:
    """The tensor of the last step, whose parts stand where others stood: its graph is of the types that grow elsewhere."""
    state = SimpleNamespace(last=torch.zeros(()), kept=[])
    weight = torch.ones(4, requires_grad=True)

    def step(number: int) -> None:
        state.last = (weight * number).sum()
        state.kept.append((weight * number).sum())

    found = evidence(step, 3, 5, 7, 11)
    born = dict(found.born)
    born.update((node, at % 3) for at, node in enumerate(parts_of(found, state.last)))
    traces, _ = words(replace(found, born=born))
    assert [trace for trace in traces if ".last" in trace] == []


@pytest.mark.whole
def test_time_ends_no_hunt_in_doubt() -> None:
    kept: list[Any] = []
    cache: dict[int, Any] = {}

    def grow(number: int) -> None:
        kept.append(torch.ones(8))

    def fill(number: int) -> None:
        cache.setdefault(number * number % 31, torch.ones(8))

    doubts = [is_in_doubt(evidence(step, 5, 5, 7, 11).snapshots, Controls()) for step in (grow, fill, abs)]
    assert doubts == [False, True, False]


@pytest.mark.whole
def test_a_tee_keeps_what_its_slower_side_has_not_had() -> None:
    fast, slow = itertools.tee(endless())
    (trace,), _ = words(evidence(lambda number: next(fast), 107, 61, 61, 89))
    assert "local variable 'slow'" in trace
    next(slow)


def endless() -> Iterator[Any]:
    while True:
        yield torch.ones(8)


@pytest.mark.whole
@pytest.mark.parametrize(("rows", "kept"), [(1, 256 * 1024), (64, 0)])
def test_a_small_view_is_reported_with_the_whole_storage_behind_it(rows: int, kept: int) -> None:
    state = SimpleNamespace(seen=None)

    def step(number: int) -> None:
        state.seen = torch.ones(128, 512)[:rows]

    found = evidence(step, 1, 1, 1, 1)
    assert sum(one.bytes for one in kept_by_slices(found.graph, found.born, ())) == kept


@pytest.mark.whole
def test_gradients_that_only_their_parameters_refer_to_are_nobodys_small_views() -> None:
    weight = torch.ones(128, 512, requires_grad=True)

    def step(number: int) -> None:
        weight.grad = None
        (weight * number).sum().backward()

    found = evidence(step, 1, 1, 1, 1)
    assert kept_by_slices(found.graph, found.born, ()) == []


@pytest.mark.whole
def test_of_two_containers_the_one_that_has_nothing_else_is_reported() -> None:
    names: dict[str, Any] = {"torch": torch, "Out": {}}

    def step(number: int) -> None:
        names["_"] = names[f"_{number}"] = names["Out"][number] = torch.ones(8)

    found = evidence(step, 3, 5, 7, 11)
    (trace,), _ = words(found)
    assert "['Out'][" in trace
    (grown,) = (one for one in grown_groups(found)[0] if has_tensors(found, one.group.members))
    (other,) = growth_finding(found.graph, grown, CreationSites()).also_held_by
    assert other.endswith(": local variable 'names'")


@pytest.mark.whole
def test_entries_and_the_objects_that_they_are_for_are_one_group() -> None:
    kept = SimpleNamespace(state=defaultdict(dict), groups=[])

    def step(number: int) -> None:
        head = torch.ones(64, 4 + number)
        kept.groups.append({"params": [head]})
        kept.state[head]["mean"] = torch.ones(64, 4 + number)

    (trace,), _ = words(evidence(step, 3, 5, 7, 11))
    assert ".groups[" in trace
    assert trace.endswith("['params'][0]")


@pytest.mark.whole
def test_the_largest_tensor_of_a_group_may_hang_on_something_else_than_what_grows() -> None:
    kept = SimpleNamespace(state=defaultdict(dict), groups=[])

    def step(number: int) -> None:
        head = torch.ones(64, 4 + number)
        kept.groups.append({"params": [head]})
        kept.state[head]["mean"] = torch.ones(64, 4 + number)

    found = evidence(step, 3, 5, 7, 11)
    born = dict(found.born)
    missed = found.graph.find(id(kept.groups[-1]["params"]))  # it stands where another list stood
    assert missed is not None
    del born[missed]
    (trace,), _ = words(replace(found, born=born))
    assert trace.endswith(".groups[24]['params'][0]")


@pytest.mark.whole
@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda number: bytes(20_000), id="large texts"),
        pytest.param(lambda number: [{"count": number} for _ in range(100)], id="many small objects"),
    ],
)
def test_plain_data_of_many_bytes_a_step_grows(make: Callable[[int], Any]) -> None:
    records: dict[int, Any] = {}
    found = evidence(lambda number: records.update({number: make(number)}), 5, 13, 17, 29)
    (one,) = (each for each in grown_groups(found)[0] if each.containers == (found.graph.find(id(records)),))
    made = make(0)
    parts = made if isinstance(made, list) else []
    assert one.per_step.objects == 1 + len(parts)
    assert one.per_step.bytes == sys.getsizeof(made) + sum(map(sys.getsizeof, parts))


@pytest.mark.whole
def test_an_array_of_8_kb_for_each_step_grows() -> None:
    rows: list[Any] = []
    found = evidence(lambda number: rows.append(numpy.full(1_000, number)), 5, 13, 17, 29)
    (one,) = (each for each in grown_groups(found)[0] if each.containers == (found.graph.find(id(rows)),))
    assert one.per_step.objects == 1
    assert 8_000 < one.per_step.bytes < 8_200


@pytest.mark.whole
@pytest.mark.parametrize(
    "values",
    [
        pytest.param(lambda number: [0.5 * number] * 50, id="a list"),
        pytest.param(lambda number: numpy.full(32, 0.5 * number), id="an array"),
    ],
)
def test_a_row_of_numbers_for_each_step_is_no_leak(values: Callable[[int], Any]) -> None:
    rows: list[Any] = []
    found = evidence(lambda number: rows.append({"step": number, "values": values(number)}), 5, 13, 17, 29)
    address = found.graph.find(id(rows))
    assert [one for one in grown_groups(found)[0] if address in one.containers] == []


@pytest.mark.whole
def test_what_a_frame_keeps_beside_a_tensor_is_reported_with_it() -> None:
    failures: list[BaseException] = []

    def step(number: int) -> None:
        batch = torch.ones(8)
        hidden = batch * 2
        try:
            raise RuntimeError(hidden.shape)
        except RuntimeError as error:
            failures.append(error)

    found = evidence(step, 3, 5, 7, 11)
    (grown,) = (one for one in grown_groups(found)[0] if has_tensors(found, one.group.members))
    result = growth_finding(found.graph, grown, CreationSites())
    failures.clear()
    assert {result.trace.steps[-2].via, result.trace.detail.partition("beside it ")[2]} == {
        "local variable 'batch'",
        "local variable 'hidden'",
    }


def test_what_a_step_under_path_picked_from_a_memory_leaves_the_memory_what_grows() -> None:
    memory: list[SimpleNamespace] = []
    snapshots: list[StepSnapshot] = []
    for length in (10, 12, 14):
        memory.extend(SimpleNamespace(value=torch.ones(4)) for _ in range(length))
        under_way = random.Random(0).sample(memory[-20:], 8)
        snapshots.append(take_snapshot(len(memory), with_labels=len(snapshots) == 2))
    assert len(under_way) == 8
    found = evidence_of(snapshots)
    sure, _ = grown_groups(found)
    mine = [one for one in sure if has_tensors(found, one.group.members)]
    holders = [found.graph.describe(node)[1:3] for one in mine for node in one.containers]
    assert holders == [("list", id(memory))]


@pytest.mark.whole
def test_what_comes_every_few_steps_may_leave_nothing_in_a_short_round_between_long_ones() -> None:
    rows: list[Any] = []

    def step(number: int) -> None:
        if number % 10 == 9:
            rows.append(torch.ones(8))

    found = evidence(step, 5, 29, 31, 3, 61, 2)
    assert [after.steps - before.steps for before, after in itertools.pairwise(found.snapshots)] == [29, 31, 66]
    traces, _ = words(found)
    assert len(traces) == 1
    assert len(rows) == 13


@pytest.mark.whole
def test_a_last_round_is_never_given_up_where_there_are_few() -> None:
    found = evidence(lambda number: None, 20, 20, 20, 2)
    assert [snapshot.steps for snapshot in found.snapshots] == [20, 40, 60, 62]


REMADE: list[tuple[str, Any, Callable[[Any, Any], Any], bool]] = [
    ("GL512", (), lambda before, new: (*before, new), False),
    ("GL512", [], lambda before, new: [*before, new], False),
    ("GL402", (), lambda before, new: (*before, new), True),
    ("GL511", {}, lambda before, new: {**before, f"step {len(before)}": new}, False),
]


@pytest.mark.whole
@pytest.mark.parametrize(("code", "start", "longer", "has_graph"), REMADE)
def test_a_container_that_is_made_anew_with_all_that_was_in_the_last_is_reported_as_one_that_grows(
    code: str, start: Any, longer: Callable[[Any, Any], Any], has_graph: bool
) -> None:
    state = SimpleNamespace(kept=start)
    weight = torch.ones(8, requires_grad=has_graph)

    def step(number: int) -> None:
        state.kept = longer(state.kept, weight * number)

    found = evidence(step, 3, 5, 7, 11)
    (grown,) = (one for one in grown_groups(found)[0] if has_tensors(found, one.group.members))
    assert grown.containers == (found.graph.find(id(state.kept)),)
    assert growth_finding(found.graph, grown, CreationSites()).code == code


def test_a_chain_of_small_tuples_is_no_container_that_is_made_anew() -> None:
    state = SimpleNamespace(last=None)

    def step(number: int) -> None:
        state.last = (state.last, torch.ones(8), number)

    found = evidence(step, 3, 5, 7, 11)
    (grown,) = (one for one in grown_groups(found)[0] if has_tensors(found, one.group.members))
    assert grown.containers == ()


@pytest.mark.whole
@pytest.mark.parametrize("is_dict", [False, True])
def test_a_kept_loss_grows_by_the_graph_behind_it(is_dict: bool) -> None:
    kept: dict[int, Any] | list[Any] = {} if is_dict else []
    weight = torch.ones(64, 64, requires_grad=True)

    def step(number: int) -> None:
        loss = (torch.ones(32, 64) @ weight).tanh().sum()  # saves the batch and the activation: 16.4 kB
        if isinstance(kept, dict):
            kept[number] = loss
        else:
            kept.append(loss)

    sure, _ = grown_groups(evidence(step, 3, 5, 7, 11))
    rates = [one.per_step.retained_bytes for one in sure if one.per_step.graph_nodes]
    assert len(rates) == 1
    assert 16_384 <= rates[0] <= 16_384 + 3000


def test_tensors_that_share_the_storage_of_a_weight_retain_no_storage() -> None:
    kept = []
    weight = torch.ones(64, 64)
    sure, _ = grown_groups(evidence(lambda number: kept.append(weight.detach()), 3, 5, 7, 11))
    rates = [one.per_step for one in sure if one.per_step.tensors >= 0.9]
    assert [rate.storages for rate in rates] == [0]
    assert rates[0].retained_bytes < 1000


def filled_by(monkeypatch: pytest.MonkeyPatch, added: list[int], born: list[int]) -> bool:
    """Whether a container that gained these numbers of items, which look born in these rounds, counts as growing."""
    nodes = list(range(1, len(born) + 1))
    evidence: Any = SimpleNamespace(
        graph=SimpleNamespace(referents=lambda node: nodes),
        judged_rounds=range(len(added)),
        born=dict(zip(nodes, born, strict=True)),
    )
    monkeypatch.setattr(reachable_growth, "increments", lambda container, evidence: added)
    return reachable_growth.is_growing_container(0, Group(0, nodes), evidence)


def test_items_at_addresses_of_an_earlier_round_do_not_hide_that_a_container_grows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert filled_by(monkeypatch, [5, 5, 13], [0] * 11 + [1] * 2 + [2] * 9)


@pytest.mark.parametrize("added", [[0, 1, 1], [1, 1, 1], [], [1, -1, 5]])
def test_a_container_that_replaces_its_items_does_not_grow(monkeypatch: pytest.MonkeyPatch, added: list[int]) -> None:
    assert not filled_by(monkeypatch, added, [0] * 10 + [1] * 10 + [2] * 10)


class Record:
    """An object of a program's own."""

    def __init__(self, number: int) -> None:
        self.values = [number] * 100


def test_objects_of_the_programs_own_classes_grow_where_rows_of_numbers_do_not() -> None:
    records: list[Any] = []
    found = evidence(lambda number: records.append(Record(number)), 5, 13, 17, 29)
    (one,) = (each for each in grown_groups(found)[0] if each.containers == (found.graph.find(id(records)),))
    assert 850 < one.per_step.bytes < 1_200


@pytest.mark.whole
def test_a_running_total_in_a_variable_is_distinguished_from_the_batch_beside_it() -> None:
    state: dict[str, Any] = {"batch": None, "total": 0.0}
    weight = torch.ones(8, requires_grad=True)

    def step(number: int) -> None:
        state["batch"] = torch.ones(64, 8)
        state["total"] = state["total"] + (state["batch"] @ weight).sum()

    found = evidence(step, 3, 5, 7, 11)
    (grown,) = (one for one in grown_groups(found)[0] if has_tensors(found, one.group.members))
    assert growth_finding(found.graph, grown, CreationSites()).code == "GL403"


@pytest.mark.whole
@pytest.mark.parametrize("order", ["state first", "result first"])
def test_of_two_names_that_lead_to_one_chain_of_graphs_the_carried_state_is_shown(order: str) -> None:
    weight = torch.eye(4).requires_grad_()
    held = SimpleNamespace()
    for name in ("state", "result") if order == "state first" else ("result", "state"):
        setattr(held, name, None)
    held.state = torch.ones(1, 4)

    def step(number: int) -> None:
        held.state = torch.tanh(held.state @ weight)
        held.result = (held.state * 2).exp()

    found = evidence(step, 3, 5, 7, 11)
    grown = next(one for one in grown_groups(found)[0] if one.carrier is not None)
    shown = growth_finding(found.graph, grown, CreationSites())
    assert ".state" in [one.via for one in shown.trace.steps]
    assert ".result" not in [one.via for one in shown.trace.steps]


@pytest.mark.whole
def test_a_carried_state_that_is_a_new_tuple_in_each_step_is_shown_not_the_result_beside_it() -> None:
    weight = torch.eye(4).requires_grad_()
    held = SimpleNamespace(result=None, state=(torch.ones(1, 4), torch.ones(1, 4)))

    def step(number: int) -> None:
        hidden, cell = held.state
        cell = cell + hidden @ weight
        hidden = torch.tanh(cell)
        held.result = hidden.view(4)
        held.state = (hidden, cell)

    found = evidence(step, 3, 5, 7, 11)
    (chain,) = [one for one in grown_groups(found)[0] if one.carrier is not None]
    shown = growth_finding(found.graph, chain, CreationSites())
    assert ".state" in [one.via for one in shown.trace.steps]
    assert ".result" not in [one.via for one in shown.trace.steps]


@pytest.mark.whole
def test_a_chain_of_tuples_is_shown_by_its_links() -> None:
    held = SimpleNamespace(log=None)

    def step(number: int) -> None:
        held.log = (torch.ones(4), number, held.log)

    found = evidence(step, 3, 5, 7, 11)
    (chain,) = grown_groups(found)[0]
    shown = growth_finding(found.graph, chain, CreationSites())
    assert [one.via for one in shown.trace.steps if one.object == "tuple"][:3] == ["[2]", "[2]", "[2]"]
    assert shown.code == "GL518"


@pytest.mark.whole
def test_an_object_with_a_new_attribute_at_each_step_is_what_grows() -> None:
    held = SimpleNamespace()
    found = evidence(lambda number: setattr(held, f"batch_{number}", torch.ones(4)), 3, 5, 7, 11)
    (grown,) = grown_groups(found)[0]
    shown = growth_finding(found.graph, grown, CreationSites())
    assert shown.code == "GL511"
    assert shown.title == "each step adds an attribute under a new name"


@pytest.mark.whole
def test_among_variables_the_path_leads_to_those_that_gather_and_not_to_the_newest_batch() -> None:
    module: Any = ModuleType("gathering")
    sys.modules["gathering"] = module

    def step(number: int) -> None:
        module.batch = torch.ones(64)
        setattr(module, f"loss_{number}", (module.batch * torch.ones(64, requires_grad=True)).sum())

    try:
        found = evidence(step, 3, 5, 7, 11)
        grown = next(one for one in grown_groups(found)[0] if one.containers)
        shown = growth_finding(found.graph, grown, CreationSites())
    finally:
        del sys.modules["gathering"]
    assert shown.trace.steps[0].via.startswith("global variable 'loss_")


def test_a_list_that_an_expression_under_way_appends_to_is_shown_by_its_name() -> None:
    """It was "a value that it computes with", and no line stored it."""
    study, numbers, snapshots = SimpleNamespace(trials=[]), itertools.count(1), []

    def objective() -> Any:
        number = next(numbers)
        if number in (3, 8, 15, 26):
            snapshots.append(take_snapshot(number, with_labels=number == 26))
        return torch.ones(8)

    for _ in range(26):
        study.trials.append(objective())
    [trace], _ = words(evidence_of(snapshots))
    assert "study.trials[" in trace
