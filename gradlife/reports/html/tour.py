"""The guided tour that opens the page of a run: one program on two systems, stage by stage, in sentences chosen by
readings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gradlife.model import OwnerGraph, OwnerNode, RunOk, RunReport, ScenarioRun, SystemInfo
from gradlife.reports.html.stories import graph_data
from gradlife.reports.values import counted, plain

CTX = "ctx"


@dataclass(frozen=True, slots=True)
class Side:
    """A stage on one system: a sentence, and the readings behind it."""

    sentence: str
    style: str
    facts: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Stop:
    """A stage of the tour."""

    code: Sequence[str]
    sides: Sequence[Side]


@dataclass(frozen=True, slots=True)
class TourView:
    """The data of the tour."""

    title: str
    paragraphs: Sequence[str]
    pull: tuple[str, str]  # name and address
    systems: Sequence[str]
    stops: Sequence[Stop]
    graphs: Sequence[Sequence[dict[str, Any]]]  # per stop, one per system


def tour_view(report: RunReport) -> TourView | None:
    """Return the tour; None if one of the two systems did not finish it."""
    (scenario,) = report.scenarios
    runs = [run for run in report.runs if isinstance(run, RunOk) and run.graphs]
    if len(runs) != 2:
        return None
    stages = [graph.stage for graph in runs[0].graphs]
    order = {stage: number for number, stage in enumerate(stages)}
    origin = scenario.origin[0]
    repository, _, number = origin.partition("#")
    return TourView(
        title=scenario.title,
        paragraphs=[" ".join(part.split()) for part in scenario.story.split("\n\n")],
        pull=(f"PyTorch PR {number}", f"https://github.com/{repository}/pull/{number}"),
        systems=[release_name(system) for system in report.systems],
        stops=[Stop(stage.split("; "), [side_of(run, stage) for run in runs]) for stage in stages],
        graphs=[[drawing(graph_of(run, stage), order) for run in runs] for stage in stages],
    )


def release_name(system: SystemInfo) -> str:
    """Return the release, such as PyTorch 1.1, for an imitation of it as well."""
    return "PyTorch " + system.profile.rpartition("-")[2]


def drawing(graph: OwnerGraph, order: dict[str, int]) -> dict[str, Any]:
    """Return the data of a drawing in which ctx and its node have these names."""
    data = graph_data(simple(graph), order)
    for node in data["nodes"]:
        if node.get("subject") == CTX:
            node["tag"] = CTX if node["kind"] == "python" else "ctx = node" if "wrapper" in node else "node"
    return data


def simple(graph: OwnerGraph) -> OwnerGraph:
    """Return the drawing without the data that tensors and nodes keep."""
    kept = [node for node in graph.nodes if node.kind != "storage" and not is_saved_data(node, graph)]
    ids = {node.id for node in kept}
    edges = [edge for edge in graph.edges if edge.source in ids and edge.target in ids]
    return replace(graph, nodes=tuple(kept), edges=tuple(edges))


def is_saved_data(node: OwnerNode, graph: OwnerGraph) -> bool:
    """Whether this is a tensor without a wrapper that only nodes hold."""
    nodes = {one.id for one in graph.nodes if one.kind == "node"}
    holders = {edge.source for edge in graph.edges if edge.target == node.id}
    return node.kind == "tensor" and not node.wrapper and holders <= nodes


def side_of(run: ScenarioRun, stage: str) -> Side:
    """Describe a stage by its readings."""
    read = {one.subject: one.value for one in run.readings if one.stage == stage and one.probe in ("value", "live")}
    is_whole = read["next functions"] != ["NoneType"]
    is_bad = not is_whole or ("x.grad" in read and read["x.grad"] is None)
    return Side(sentence(run, stage, read, is_whole), "bad" if is_bad else "good", list(facts(read)))


def sentence(run: ScenarioRun, stage: str, read: dict[str, Any], is_whole: bool) -> str:
    """Return one sentence on a stage: how many counts the node has, and whether it still leads to x."""
    counts = read["block"]  # separate control blocks of an object; none if the node has one count
    if "x.grad" in read:
        if read["x.grad"] is None:
            return (
                "backward ends at this node: no error is raised, x.grad stays None, and training silently goes wrong."
            )
        return f"backward walks from the node to x: x.grad is {plain(read['x.grad'])}."
    if not is_whole:
        return (
            "The count of the dropped tensors is zero now, so the object is cleaned up although y still holds it: its edge "
            "to x is gone."
        )
    if "del" in stage:
        return "The count goes down, but y still holds the node: its edge to x stays."
    if counts > 1:
        return (
            f"The tensor that was read holds the same object with a count of its own: {counted(counts, 'reference count')} "
            "for one object, and the first to reach zero cleans it up."
        )
    if counts:
        return "ctx and the node are one object, which y holds with one reference count."
    owners = next(node.strong for node in graph_of(run, stage).nodes if node.kind == "node" and node.subject == CTX)
    if owners > 1:
        return f"The tensor that was read holds the same node, and the one reference count says {owners}."
    return "The node is an object of its own that owns ctx, and y holds the node with one reference count."


def graph_of(run: ScenarioRun, stage: str) -> OwnerGraph:
    """Return the drawing of a stage."""
    assert isinstance(run, RunOk)
    return next(graph for graph in run.graphs if graph.stage == stage)


def facts(read: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the readings as text."""
    yield "y.grad_fn.next_functions", plain(read["next functions"][0])
    if "x.grad" in read:
        yield "x.grad", plain(read["x.grad"])
