"""Creation sites of survivors: the line of the program that made them, and no other."""

from __future__ import annotations

import importlib
import inspect
import re
import subprocess
import sys
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import gradlife  # noqa: E402
from gradlife import _heap  # noqa: E402
from gradlife.heap.scan import OWN_FOLDER  # noqa: E402
from gradlife.hunting.snapshots.creation_recorder import USUAL, Recording  # noqa: E402
from gradlife.hunting.snapshots.creation_sites import Creations  # noqa: E402
from gradlife.model.hunt import Finding  # noqa: E402
from gradlife.model.hunt_codec import loads  # noqa: E402

HERE = "tests/hunting/session/test_lines.py"
STEPS = 40


def marked(function: Callable[..., object], mark: str = "# here") -> str:
    """The line of a function that ends with a mark, as reports tell it."""
    lines, first = inspect.getsourcelines(function)
    [number] = [first + at for at, line in enumerate(lines) if line.rstrip().endswith(mark)]
    return f"{HERE}:{number} in {function.__qualname__}"


@pytest.mark.whole
def test_survivors_are_named_by_the_lines_that_made_them_not_by_those_that_keep_them() -> None:
    weight = torch.ones(64, requires_grad=True)
    net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU())
    plain, made, called, functions, rows = [], [], [], [], []
    state = SimpleNamespace(total=torch.zeros(64))

    def make() -> Any:
        return torch.ones(16)  # here

    def step() -> None:
        dropped = torch.ones(16)
        tensor = torch.ones(16)  # plain
        del dropped
        other = torch.ones(16)
        plain.append(tensor)
        del other
        result = net(torch.ones(2, 64))  # made
        made.append(result)
        called.append(make())  # called
        gone = lambda: 1  # noqa: E731
        del gone
        functions.append(lambda: 0)  # functions
        found = torch.ones(16)  # rows
        rows.append(OrderedDict(found=found, more=[{}, (found, [])]))
        turned = (weight * 2).sin()  # state
        state.total = state.total + turned  # total

    def cycle() -> None:
        step()
        result = weight.exp()  # exp
        result.grad_fn.metadata["kept"] = result.sin()  # cycle

    findings = gradlife.hunt(cycle, steps=STEPS).findings
    outcome = {name_in(finding): finding.created_at for finding in findings}
    assert outcome.pop("") in [(marked(cycle, "# exp"),), (marked(cycle, "# cycle"),)]  # both survive
    outer = marked(cycle, "step()")
    assert outcome.pop("state") in [(marked(step, "# state"), outer), (marked(step, "# total"), outer)]  # both survive
    lines = {name: (marked(step, f"# {name}"), outer) for name in ("plain", "made", "functions", "rows")}
    assert outcome == lines | {
        "called": (marked(make), marked(step, "# called"), outer),
    }


def name_in(finding: Finding) -> str:
    """The variable of the test that holds it."""
    found = [re.search(r"'(plain|made|called|functions|rows|state)'", step.via) for step in finding.trace.steps]
    return next((match[1] for match in found if match), "")


@pytest.mark.whole
def test_what_waits_for_the_collector_is_reported_too() -> None:
    def step() -> None:
        tensor = torch.ones(16)  # here
        tensor.itself = tensor

    report = gradlife.hunt(step)
    [finding] = report.findings
    assert (finding.kind, finding.created_at) == ("needs-gc", (marked(step),))


@pytest.mark.whole
def test_nothing_is_recorded_where_nothing_grows() -> None:
    started: list[bool] = []
    start = Recording.start

    def counted(self: Recording, names: Iterable[str] = ()) -> None:
        started.append(True)
        start(self, names)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Recording, "start", counted)
        assert gradlife.hunt(lambda: torch.ones(4), steps=STEPS).verdict == "clean"
    assert started == []


@pytest.mark.whole
def test_lines_can_be_recorded_from_the_first_step_on() -> None:
    kept = []

    def step() -> None:
        kept.append(torch.ones(16))  # here

    report = gradlife.hunt(step, steps=24, lines=True)
    assert [finding.created_at for finding in report.findings] == [(marked(step),)]


def test_a_recording_keeps_nothing_alive_and_leaves_the_allocator_as_it_was() -> None:
    recording = Recording()
    recording.start(USUAL)
    tensor = torch.ones(4, requires_grad=True)
    result = tensor * 2
    alive = [weakref.ref(tensor), weakref.ref(result)]
    del tensor, result
    assert [one() for one in alive] == [None, None]
    recording.stop()
    recording.start(USUAL)
    assert recording.is_on
    recording.stop()


def test_of_thousands_of_notes_none_is_lost_and_those_of_dead_nodes_are_dropped() -> None:
    weight = torch.ones(1, requires_grad=True)
    recording = Recording()
    recording.start()
    first, _ = recording.nodes_since(0)
    many = [weight * 1 for _ in range(3000)]
    _, living = recording.nodes_since(first)
    assert len(living) == 3000
    addresses = memoryview(recording.sites().addresses).cast("Q")
    before = _heap.bytes_before(torch.Tensor)
    assert {id(one) - before for one in many} <= set(addresses)
    assert list(addresses) == sorted(set(addresses))
    kept = many[::3]
    del many
    _, living = recording.nodes_since(first)
    assert len(living) == len(kept) == 1000
    assert sorted(recording.nodes_since(first)[1]) == sorted(living)
    recording.stop()


def test_one_recording_at_a_time() -> None:
    first, second = Recording(), Recording()
    first.start()
    second.start()
    assert (first.is_on, second.is_on) == (True, False)
    first.stop()


def lines_of(recording: Recording, tensor: Any) -> tuple[str, ...]:
    """Return the creation site of a tensor, as far as it was recorded."""
    graph = _heap.freeze(True, True, OWN_FOLDER)
    creations = Creations(graph, recording.sites())
    node = graph.find(id(tensor))
    assert node is not None
    return creations.lines([[node]])


def test_what_is_made_while_a_recording_rests_has_no_line_not_even_that_of_what_stood_there() -> None:
    recording = Recording()
    recording.start()
    noted = torch.ones(16)
    address = id(noted)
    recording.rest()
    assert lines_of(recording, noted)[0].startswith("tests/hunting/session/test_lines.py:")
    del noted
    others: list[Any] = []
    while address not in map(id, others) and len(others) < 1000:
        others.append(torch.ones(16))
    other = next((one for one in others if id(one) == address), others[0])
    assert lines_of(recording, other) == ()
    recording.stop()


def test_the_stack_of_who_runs_the_program_is_not_looked_at() -> None:
    recording = Recording()
    recording.start()

    def begin() -> None:
        recording.resume()

    def make() -> Any:
        return torch.ones(16)  # here

    def run() -> Any:
        begin()
        return make()

    assert lines_of(recording, run()) == (marked(make),)
    recording.stop()


def test_what_a_library_makes_when_it_is_imported_was_made_by_no_line_of_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "imported_here.py").write_text("import torch\nkept = torch.ones(16)\n", encoding="utf-8")
    monkeypatch.syspath_prepend(folder)
    recording = Recording()
    recording.start()
    library = importlib.import_module("imported_here")
    [line] = lines_of(recording, library.kept)
    assert line.endswith("imported_here.py:2 in <module>")
    recording.stop()
    del sys.modules["imported_here"]


@pytest.fixture(autouse=True)
def no_recording_is_left() -> Iterator[None]:
    """One that a failure leaves on fails no other test."""
    yield
    _heap.stop_recording()


def test_an_operation_in_place_gives_no_node_a_wrong_line() -> None:
    def chain(weight: Any) -> Any:
        changed = weight * 2  # here
        changed.sin_()
        plain = torch.ones(4)
        return changed, changed * plain  # after

    recording = Recording()
    recording.start()
    changed, result = chain(torch.ones(4, requires_grad=True))
    graph = _heap.freeze(True, True, OWN_FOLDER)
    creations = Creations(graph, recording.sites())
    recording.stop()
    sine = changed.grad_fn
    nodes = (sine.next_functions[0][0], sine, result.grad_fn)
    addresses = [row[3] for node in nodes for row in _heap._torch_references(node) if row[1:3] == (-1, "grad_node")][:3]
    found = [creations.lines([[node]])[:1] for node in map(graph.find, addresses) if node is not None]
    assert found == [(), (), (marked(chain, "# after"),)]  # the first had no other node by the time it was looked at


SHORT = """\
import torch
weight = torch.ones(4, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1)
history = []
for number in range(COUNT):
    loss = (weight * number).sum()
    loss.backward()
    optimizer.step()
    history.append(loss)
"""


def hunt(folder: Path, *options: str) -> tuple[str, Any]:
    """Hunt in a folder; return the output and the report."""
    (folder / "short.py").write_text(SHORT.replace("COUNT", "36"))
    command = [sys.executable, "-m", "gradlife", "hunt", "--json", "report.json", *options, "short.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=900, check=False)
    return done.stderr, loads((folder / "report.json").read_text())


@pytest.mark.whole
def test_a_program_that_ended_too_soon_says_how_to_get_its_lines(tmp_path: Path) -> None:
    printed, report = hunt(tmp_path, "--full")
    assert [finding.created_at for finding in report.findings] == [()]
    assert report.limits[-1].endswith("→ gradlife hunt --lines …")
    assert "gradlife hunt --lines" in printed


@pytest.mark.whole
def test_with_lines_asked_for_a_short_program_has_them_in_every_report(tmp_path: Path) -> None:
    printed, report = hunt(tmp_path, "--full", "--lines", "--markdown", "page.md", "--html", "page.html")
    assert [finding.created_at for finding in report.findings] == [("short.py:6 in <module>",)]
    assert "Created at short.py:6 in <module>" in " ".join(printed.split())
    for page in ("page.md", "page.html"):
        assert "Created at short.py:6 in" in (tmp_path / page).read_text()
    assert not any("--lines" in limit for limit in report.limits)
