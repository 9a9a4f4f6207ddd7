"""Who owned whom at each stage, as a run tells it: the engine's owners, Python's references, and the story's names."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradlife.model import OwnerGraph, OwnerNode, RunOk, RunReport, codec
from gradlife.runner import api

STORIES = '''
from functools import partial

from gradlife.scenario import scenario


def doubling(fw):
    class Double(fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.y = x * 2
            return ctx.y

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    return Double.apply


@scenario(title="ctx keeps its output")
def keeps(lab):
    """A knot."""
    x = lab.tensor(requires_grad=True)
    y = doubling(lab.fw)(x)
    lab.watch("y", y)
    lab.watch("ctx", y.grad_fn)
    lab.stage("made")
    del y, x
    lab.stage("dropped", all_names_gone=True)


@scenario(title="paths through plain objects")
def paths(lab):
    """Containers, closures and objects on the path."""
    class Holder:
        pass

    holder = Holder()
    holder.kept = {"losses": [lab.tensor()]}
    lab.watch("kept", holder.kept["losses"][0])
    def closing():
        return holder
    bound = partial(closing)
    lab.hold([holder.kept["losses"][0]])
    lab.stage("held")


@scenario(title="a plain subject")
def plain(lab):
    """Python alone."""
    class Thing:
        pass

    thing = Thing()
    thing.tensor = lab.tensor()
    lab.watch("thing", thing)
    lab.watch("t", thing.tensor)
    lab.stage("made")
    del thing
    lab.stage("dropped", all_names_gone=True)


@scenario(title="a long chain")
def chain(lab):
    """More than anybody looks at."""
    y = lab.tensor(requires_grad=True)
    for _ in range(300):
        y = y * 2
    lab.watch("y", y)
    lab.stage("made")


@scenario(title="names of a function and of its caller")
def calling(lab):
    """Two frames."""
    def inner(given):
        lab.stage("within")

    outer = lab.tensor()
    lab.watch("t", outer)
    inner(outer)
    lab.stage("back")
'''


@pytest.fixture
def path(tmp_path: Path) -> str:
    file = tmp_path / "owning_stories.py"
    file.write_text(STORIES)
    return str(file)


def run_story(path: str, name: str, *backends: str) -> RunReport:
    return api.run([f"{path}::{name}"], backends=backends or ["mini:torch-2.13"], with_graphs=True)


def graph(report: RunReport, stage: str, system: int = 0) -> OwnerGraph:
    run = report.runs[system]
    assert isinstance(run, RunOk), run.reason
    return next(graph for graph in run.graphs if graph.stage == stage)


def title(node: OwnerNode) -> str:
    return node.subject or node.name


def edges(graph: OwnerGraph) -> set[tuple[str, str, str, str]]:
    nodes = {node.id: node for node in graph.nodes}
    return {(title(nodes[one.source]), one.label, title(nodes[one.target]), one.ownership) for one in graph.edges}


def node(graph: OwnerGraph, subject: str) -> list[OwnerNode]:
    return [node for node in graph.nodes if node.subject == subject]


def test_a_context_that_owns_its_node_has_it_inside_itself(path: str) -> None:
    made = graph(run_story(path, "keeps", "mini:torch-1.1"), "made")
    (ctx,) = node(made, "ctx")
    assert (ctx.kind, ctx.wrapper, ctx.to_impl, ctx.to_wrapper) == ("node", "DoubleBackward", "embeds", "borrowed")
    assert {("y", "grad_fn", "ctx", "strong"), ("ctx", ".y", "y", "strong")} <= edges(made)


def test_a_node_that_owns_its_context_has_it_beside_itself_and_is_pointed_at_weakly(path: str) -> None:
    made = graph(run_story(path, "keeps", "mini:torch-1.2"), "made")
    assert [one.kind for one in node(made, "ctx")] == ["node", "python"]
    assert {("ctx", "context", "ctx", "strong"), ("ctx", "its node", "ctx", "weak")} <= edges(made)


def test_a_context_whose_counts_are_coupled_is_the_wrapper_of_its_node(path: str) -> None:
    made = graph(run_story(path, "keeps", "mini:torch-2.13"), "made")
    (ctx,) = node(made, "ctx")
    assert (ctx.wrapper, ctx.to_impl, ctx.to_wrapper) == ("DoubleBackward", "strong", "coupled")
    assert ("ctx", "context", "ctx", "coupled") not in edges(made)


def test_counts_are_those_of_the_story_without_the_look_itself(path: str) -> None:
    report = run_story(path, "keeps")
    assert [one.refcount for one in node(graph(report, "made"), "y")] == [2]  # its name, and the ctx
    assert [one.refcount for one in node(graph(report, "dropped"), "y")] == [1]


def test_a_name_is_drawn_as_long_as_it_leads_to_something(path: str) -> None:
    report = run_story(path, "keeps")
    assert ("y", "", "y", "strong") in edges(graph(report, "made"))
    assert {node.name for node in graph(report, "made").nodes if node.kind == "name"} == {"x", "y"}
    assert [node for node in graph(report, "dropped").nodes if node.kind == "name"] == []


def test_paths_lead_through_containers_closures_and_plain_objects(path: str) -> None:
    found = {edge for edge in edges(graph(run_story(path, "paths"), "held")) if edge[2] == "kept"}
    assert found == {
        ("holder", ".kept['losses'][0]", "kept", "strong"),
        ("closing", " closure holder.kept['losses'][0]", "kept", "strong"),
        ("bound", " partial of closure holder.kept['losses'][0]", "kept", "strong"),
        ("held by the story", "[0][0]", "kept", "strong"),
    }


def test_a_plain_subject_is_an_object_of_its_own(path: str) -> None:
    report = run_story(path, "plain")
    assert ("thing", ".tensor", "t", "strong") in edges(graph(report, "made"))
    assert [(one.kind, one.name) for one in node(graph(report, "made"), "thing")] == [("python", "Thing")]
    assert graph(report, "dropped").nodes == ()


def test_names_of_all_the_storys_functions_are_reported(path: str) -> None:
    report = run_story(path, "calling")
    assert {node.name for node in graph(report, "within").nodes if node.kind == "name"} == {"given", "outer"}
    assert {node.name for node in graph(report, "back").nodes if node.kind == "name"} == {"outer"}


def test_of_a_long_chain_what_is_near_the_subject_is_drawn_and_the_rest_counted(path: str) -> None:
    made = graph(run_story(path, "chain"), "made")
    assert len(made.nodes) == 48
    assert made.left_out > 500
    assert node(made, "y") != []
    known = {one.id for one in made.nodes}
    assert all({edge.source, edge.target} <= known for edge in made.edges)


def test_looking_changes_no_reading(path: str) -> None:
    def readings(report: RunReport) -> list[tuple[object, ...]]:
        return [(*one.key, one.system, one.value) for one in report.readings if one.subject != "resident"]

    systems = ["mini:torch-1.1", "mini:torch-1.2", "mini:torch-1.10", "mini:torch-2.13", "mini:oneflow-0.9"]
    looked = api.run([path], backends=systems, with_graphs=True, with_events=True)
    assert readings(looked) == readings(api.run([path], backends=systems))


def test_nothing_is_drawn_unless_asked_for_nor_by_a_framework_that_cannot_tell(path: str) -> None:
    for report in (
        api.run([f"{path}::keeps"], backends=["mini:torch-2.13"]),
        api.run([f"{path}::calling"], backends=["fake"], with_graphs=True),
    ):
        (run,) = report.runs
        assert isinstance(run, RunOk)
        assert run.graphs == ()


def test_drawings_travel_in_json(path: str) -> None:
    report = run_story(path, "keeps", "mini:torch-1.1", "mini:torch-2.13")
    assert codec.loads(codec.dumps(report)) == report


def shape(graph: OwnerGraph) -> set[tuple[str, ...]]:
    """Return who keeps whom in a drawing: no counts, nothing weak, and borrowed is not kept."""
    keeps = {"strong": "keeps", "coupled": "keeps"}
    result = {one for one in edges(graph) if one[3] in keeps}
    nodes = {
        (one.kind, title(one), one.wrapper, keeps.get(one.to_impl, ""), keeps.get(one.to_wrapper, ""))
        for one in graph.nodes
    }
    return nodes | {(source, label, target) for source, label, target, _ in result}


@pytest.mark.torch
@pytest.mark.faithful
@pytest.mark.scan
@pytest.mark.parametrize("name", ["keeps", "paths", "plain", "calling"])
def test_what_is_read_of_pytorch_is_what_the_engine_reports_about_its_imitation(path: str, name: str) -> None:
    report = run_story(path, name, "mini:torch-2.13", "torch")
    engine, torch = (run.graphs for run in report.runs if isinstance(run, RunOk))
    assert [one.stage for one in engine] == [one.stage for one in torch]
    assert [one.source for one in torch] == ["heap"] * len(engine)
    for mine, other in zip(engine, torch, strict=True):
        assert shape(mine) == shape(other)


@pytest.mark.torch
@pytest.mark.scan
@pytest.mark.whole
def test_looking_changes_no_reading_of_pytorch(path: str) -> None:
    def readings(report: RunReport) -> list[tuple[object, ...]]:
        return [(*one.key, one.value) for one in report.readings if one.subject != "resident"]

    looked = api.run([path], backends=["torch"], with_graphs=True)
    assert readings(looked) == readings(api.run([path], backends=["torch"]))


def test_the_collector_sees_a_whole_cycle_from_torch_1_10_on_and_not_its_cxx_part_before(path: str) -> None:
    report = run_story(path, "keeps", "mini:torch-1.1", "mini:torch-1.2", "mini:torch-1.10", "mini:torch-2.13")
    kept = [graph(report, "dropped", system) for system in range(4)]
    unseen = [{one.label for one in found.edges if one.is_unseen} & {"grad_fn", "context", ".y"} for found in kept]
    assert unseen == [{"grad_fn"}, {"grad_fn", "context"}, set(), set()]
