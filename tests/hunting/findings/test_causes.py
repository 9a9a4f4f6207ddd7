"""Hooks that are registered again and again are one finding, with all that grows behind them."""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.nn.utils import prune  # noqa: E402

from gradlife.model.hunt import Finding  # noqa: E402
from gradlife.patterns.wording import expression  # noqa: E402
from step_evidence import evidence, judged  # noqa: E402


def findings(step: Callable[[], object]) -> list[Finding]:
    """The leaks with tensors that some rounds of steps show, without the snapshots' own."""
    leaks, _ = judged(evidence(lambda number: step(), 3, 5, 7, 11))
    return [one for one in leaks if one.per_step.tensors]


class Watcher:
    """Hooks on two layers that keep every activation, and are never removed."""

    def __init__(self, model: Any) -> None:
        self.seen: list[Any] = []
        for layer in model:
            layer.register_forward_hook(self.keep)

    def keep(self, module: Any, inputs: Any, output: Any) -> None:
        self.seen.append(output.detach())


def watched_model() -> Any:
    return torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())


@pytest.mark.whole
def test_what_grows_behind_hooks_is_counted_below_the_hooks() -> None:
    model = watched_model()

    def step() -> None:
        Watcher(model)
        model(torch.ones(2, 4))

    (one,) = findings(step)
    assert one.code == "GL605"
    assert one.consequences >= 3
    assert one.grows_at is not None
    assert one.trace.steps[one.grows_at].via.startswith("forward hook")


@pytest.mark.whole
def test_a_list_beside_the_hooks_is_a_finding_of_its_own() -> None:
    model, kept = watched_model(), []

    def step() -> None:
        Watcher(model)
        kept.append(model(torch.ones(2, 4)).detach())

    assert sorted(one.code for one in findings(step)) == ["GL512", "GL605"]


@pytest.mark.whole
def test_hooks_of_two_causes_are_two_findings() -> None:
    model, other = watched_model(), torch.nn.Linear(4, 4)

    def step() -> None:
        Watcher(model)
        model(torch.ones(2, 4))
        note = torch.ones(3)
        other.register_forward_hook(lambda *_: note)

    assert [one.code for one in findings(step)] == ["GL605", "GL605"]


STATE_DICTS = [
    pytest.param(lambda model: model.state_dict(), "GL512", True, id="live weights"),
    pytest.param(lambda model: dict(cloned(model)), "GL512", False, id="a dict of copies"),
    pytest.param(lambda model: OrderedDict(cloned(model)), "GL610", False, id="copies"),
]


def cloned(model: Any) -> list[tuple[str, Any]]:
    return [(name, value.clone()) for name, value in model.state_dict().items()]


@pytest.mark.whole
@pytest.mark.parametrize(("saved", "code", "is_alias"), STATE_DICTS)
def test_state_dicts_are_copies_only_where_their_storages_are_their_own(saved: Any, code: str, is_alias: bool) -> None:
    model, kept = torch.nn.Linear(20, 4), []
    (one,) = findings(lambda: kept.append(saved(model)))
    assert one.code == code
    assert one.trace.tensor is not None
    assert one.trace.tensor.is_alias == is_alias
    assert (one.per_step.storages == 0) == is_alias
    assert ("share the live weights" in one.title) == is_alias


kept_of_layers: dict[str, dict[int, Any]] = {"first": {}, "second": {}}
kept_of_layer: dict[int, Any] = {}


def test_containers_in_one_that_a_loop_fills_are_one_finding_that_names_it_not_the_variable_of_the_loop() -> None:
    def step() -> None:
        global kept_of_layer
        for kept_of_layer in kept_of_layers.values():
            kept_of_layer[len(kept_of_layer)] = torch.ones(4)

    (one,) = findings(step)
    kept_of_layers.clear()
    kept_of_layer.clear()
    assert one.grows_at is not None
    assert [each.via for each in one.trace.steps[: one.grows_at]][-2:] == [
        "global variable 'kept_of_layers'",
        "['first']",
    ]
    assert (one.stored_at and one.stored_at.source, one.consequences) == (
        "kept_of_layer[len(kept_of_layer)] = torch.ones(4)",
        1,
    )


kept_log = io.StringIO()
kept_rows: list[Any] = []
kept_text = ""
kept_matrix: Any = None
kept_bank = torch.ones(0)


def write_and_read(number: int) -> None:
    global kept_text
    kept_log.write("x" * 4096)
    kept_text = kept_log.getvalue()


def stack_anew(number: int) -> None:
    global kept_matrix
    kept_rows.append(torch.ones(512))
    kept_matrix = torch.stack(kept_rows)


def add_to_a_bank(number: int) -> None:
    global kept_bank
    kept_rows.append(torch.ones(512))
    kept_bank = torch.cat([kept_bank, kept_rows[-1]])


@pytest.fixture
def nothing_kept() -> Iterator[None]:
    yield
    global kept_text, kept_matrix, kept_bank
    kept_log.truncate(0)
    kept_rows.clear()
    kept_text, kept_matrix, kept_bank = "", None, torch.ones(0)


@pytest.mark.whole
@pytest.mark.usefixtures("nothing_kept")
@pytest.mark.parametrize(
    ("step", "names", "counted"),
    [
        (write_and_read, ["kept_log"], [1]),
        (stack_anew, ["kept_rows"], [1]),
        (add_to_a_bank, ["kept_bank", "kept_rows"], [0, 0]),
    ],
    ids=["the text of a log", "a stack of rows", "a bank that grows by itself"],
)
def test_what_a_step_makes_anew_of_something_that_grows_is_counted_with_that(
    step: Callable[[int], None], names: list[str], counted: list[int]
) -> None:
    leaks, _ = judged(evidence(step, 5, 7, 11, 13, 17))
    mine = {one.trace.steps[0].via.partition("'")[2].rstrip("'"): one.consequences for one in leaks}
    own = {name: count for name, count in mine.items() if name.startswith("kept_")}
    assert own == dict(zip(names, counted, strict=True))


class Server(torch.nn.Module):  # type: ignore[name-defined, misc]
    def __init__(self) -> None:
        super().__init__()
        layer = torch.nn.Linear(4, 4)
        layer.adapters = torch.nn.ModuleDict()
        self.layers = torch.nn.Sequential(layer)

    def load(self, name: str) -> None:
        self.layers[0].adapters[name] = torch.nn.Linear(4, 4)


SERVER = Server()


def test_the_container_that_grows_is_named_and_not_a_module_around_it() -> None:
    (one,) = findings(lambda: SERVER.load(f"a{len(SERVER.layers[0].adapters)}"))
    assert one.grows_at is not None
    assert expression(one.trace.steps, one.grows_at) == "SERVER.layers[0].adapters"
    assert (one.code, one.stored_at and one.stored_at.function) == ("GL615", "Server.load")


def test_a_hook_whose_tuple_gets_longer_is_one_hook() -> None:
    """It was reported as one more hook at each use, with the advice to remove the handle."""
    layer = torch.nn.Linear(4, 4)
    found = evidence(lambda number: prune.custom_from_mask(layer, "weight", mask=torch.ones(4, 4)), 3, 5, 7, 11, 17)
    (one,) = [one for one in judged(found)[0] if one.per_step.tensors]
    assert one.grows_at is not None
    assert one.trace.steps[one.grows_at - 1].attributes[-1:] == ("_pruning_methods",)
    assert one.code == "GL512"


PICKLER = pickle.Pickler(io.BytesIO())


def test_a_type_that_can_let_go_of_what_it_keeps_is_advised_by_its_method() -> None:
    (one, *_) = judged(evidence(lambda number: PICKLER.dump([bytearray(1000)]), 3, 5, 7, 11))[0]
    assert one.diagnosis.advice.code == "PICKLER.clear_memo()"
