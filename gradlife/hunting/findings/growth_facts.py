"""The facts about one thing that grows, or that a test left. The table of expectations asks nothing else.

All of them are measured: relations, types, lengths, snapshots, the program's source. None is a text made for people.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import types
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace

from gradlife import _heap
from gradlife.heap.internal_steps import OPTIMIZERS
from gradlife.heap.path_steps import length_and_most, spans_of
from gradlife.hunting.findings.builder import growth_finding
from gradlife.hunting.findings.declared_bounds import (
    BY_SIZE,
    bound_by_size,
    bound_by_type,
    bound_of_queue,
    bound_of_several,
    has_more_items,
    own_bytes,
)
from gradlife.hunting.findings.holder_path import STACK, find_holder_path, growing_on, growth_in_trace
from gradlife.hunting.findings.leak_trace import raw_path
from gradlife.hunting.findings.severity import Room, free_where
from gradlife.hunting.growth.nested_growth import outer_containers
from gradlife.hunting.growth.periodic import Release
from gradlife.hunting.growth.reachable_growth import GrownGroup
from gradlife.hunting.snapshots.creation_sites import CreationSites
from gradlife.hunting.snapshots.node_weights import LARGE_BYTES, NATIVE, base_types
from gradlife.hunting.snapshots.noted_facts import MAPPINGS, identity_of, node_at
from gradlife.hunting.snapshots.step_snapshots import ARRAY, StepSnapshot, names_below, tensor_type_names
from gradlife.hunting.stores.carried import carried_at
from gradlife.hunting.stores.emptyings import emptying_of
from gradlife.hunting.stores.limits import limit_of, limit_of_items
from gradlife.hunting.stores.metric_resets import is_computed_but_never_reset
from gradlife.hunting.stores.program_sources import Source, program_sources
from gradlife.hunting.stores.whole_reads import whole_read_of
from gradlife.model.growth import UNKNOWN_GROWTH, DeclaredBound, Growth, GrowthKind
from gradlife.model.hunt import Finding, FindingKind
from gradlife.model.trace import Hop, PathStep

#: Libraries whose tables, classes and functions are no program's, besides Python's own.
LIBRARIES = frozenset({"torch", "numpy", "gradlife"})


#: How torch.compile names the functions that it puts among the variables of the program's module.
COMPILED = "__compiled_fn_"


@dataclass(frozen=True)
class Facts:
    """What is known about one thing that grows, or that one run of a test left."""

    finding: Finding
    growth: Growth = UNKNOWN_GROWTH
    graph: _heap.Graph | None = None
    grown: GrownGroup | None = None
    spans: Sequence[Set[int]] = ()  # the nodes of each step of the finding's trace
    holder: int | None = None  # the container that grows
    snapshots: Sequence[StepSnapshot] = ()  # those that show it
    room: Room | None = None  # None: unknown
    left_by_run: Set[int] | None = None  # the nodes that one run of a test left; None if rounds of steps were compared
    release: Release | None = None  # how often what finished steps keep is released
    is_replaced: bool = False  # each step stores a larger one that is not made of the old one
    is_slowing: bool = False  # each round adds less than the one before
    is_compiled_again: bool = False  # each round compiled new versions of known functions
    is_undated: bool = False  # nothing shows whether a native object is older than the test
    is_hunts_own: bool = False  # the hunt itself keeps it

    @property
    def steps(self) -> Sequence[PathStep]:
        """Return the steps of the trace."""
        return self.finding.trace.steps

    @property
    def at(self) -> int:
        """Return the step that grows: a container, or the last object."""
        return len(self.steps) - 1 if self.growth.step is None else self.growth.step

    @property
    def is_one_place(self) -> bool:
        """Whether a container of the trace grows, or the object at its end."""
        kind = self.growth.kind
        return kind is GrowthKind.LARGER or (kind is GrowthKind.CONTAINER and self.growth.step is not None)

    @property
    def is_of_one_run(self) -> bool:
        """Whether only one run of a test shows it, so that nothing is known about growth."""
        return self.left_by_run is not None

    @property
    def keeps_torch_objects(self) -> bool:
        """Whether tensors, storages or grad nodes are a part of it."""
        rate = self.finding.per_step
        return bool(rate.tensors or rate.storages or rate.graph_nodes)

    @functools.cached_property
    def sources(self) -> Sequence[Source]:
        """Return the program's sources."""
        return program_sources()

    # --- bounds -------------------------------------------------------------------------------------------------------

    @functools.cached_property
    def bound(self) -> DeclaredBound | None:
        """Return the bound that is declared for the container that grows, if one is.

        Where nobody knows which step of the trace grows, that of the first bounded container.
        """
        if not self.growth.is_located or (self.is_of_one_run and self.growth.step is None):
            return next(filter(None, map(bound_by_type, self.steps)), None)
        if not self.is_one_place or not self.steps:
            return None
        found = bound_by_type(self.steps[self.at])
        if found is None and self.holder is not None and self.graph is not None:
            found = self._bound_in_graph(self.graph, self.holder)
        return found or limit_of(self.finding.trace, self.at, self.sources) or self._bound_of_inner()

    def _bound_of_inner(self) -> DeclaredBound | None:
        """Return the limit that the program sets to each container inside the one that grows, which gets no more of them."""
        inner = self.grown.group.holders if self.grown is not None else frozenset()
        if (
            not inner
            or self.graph is None
            or self.holder is None
            or not inner.issubset(self.graph.referents(self.holder))
        ):
            return None
        lengths = [length_and_most(self.graph.references_along([node])[0])[0] or 0 for node in inner]
        if has_more_items(self.snapshots, self.holder):
            return None
        longest = replace(self.steps[self.at + 1], length=max(lengths)) if self.at + 1 < len(self.steps) else None
        limit = limit_of_items(self.finding.trace, self.at, self.sources, longest) if longest is not None else None
        if limit is None or limit.most is None:
            return limit
        return replace(limit, length=sum(lengths), most=limit.most * len(inner))

    def _bound_in_graph(self, graph: _heap.Graph, holder: int) -> DeclaredBound | None:
        if self.at > 0 and (found := bound_of_queue(graph, self.spans[self.at - 1], self.steps[self.at])):
            return found
        if not self.snapshots:
            return None
        if self.grown is not None and self.grown.group.holders:
            return bound_of_several(self.snapshots, holder, self.grown.group.holders)
        return bound_by_size(self.snapshots, holder)

    def has_room_for(self, bound: DeclaredBound) -> bool:
        """Whether memory suffices until the bound is reached."""
        if self.room is None or not bound.length:
            return True
        held = 0
        if self.graph is not None and self.holder is not None:
            has_all_places = bound.declared_by == BY_SIZE
            held = self.graph.retained(self.holder) - has_all_places * own_bytes(self.graph, self.holder)
        each = max(held, self.finding.retained_bytes) / bound.length
        return each * bound.left <= free_where(self.finding, self.room)

    # --- holders ------------------------------------------------------------------------------------------------------

    def was_there(self, node: int) -> bool:
        """Whether an object is older than the first snapshot, or than the test."""
        if self.left_by_run is not None:
            return node not in self.left_by_run
        if self.graph is None or not self.snapshots:
            return False
        return node_at(self.snapshots[0].graph, identity_of(self.graph, node)) is not None

    @property
    def is_state_of_old_parameters(self) -> bool:
        """Whether the state of an optimizer holds it, and all its parameters are old: each gets an entry at its first step."""
        graph, tensors = self.graph, tensor_type_names()
        if graph is None or self.holder is None or graph.type(self.holder) not in MAPPINGS:
            return False
        optimizers = frozenset().union(*(names_below(*name.rsplit(".", 1)) for name in OPTIMIZERS))
        if not any(graph.type(one) in optimizers for one in owners(graph, self.holder)):
            return False
        keys = [one for one in graph.referents(self.holder) if graph.type(one) in tensors]
        return bool(keys) and all(map(self.was_there, keys))

    @property
    def is_gradient_of_old_tensor(self) -> bool:
        """Whether it is the gradient, without a graph, of a tensor that is old."""
        found = (at for at, step in enumerate(self.steps) if any(map(is_to_gradient, step.hops)))
        at = next(found, None)
        if at is None or self.finding.per_step.graph_nodes or at >= len(self.spans):
            return False
        return any(map(self.was_there, self.spans[at]))

    @property
    def is_in_expression(self) -> bool:
        """Whether only an expression under way holds it, such as the list of a comprehension."""
        return self.growth.step is not None and self.at > 0 and self.steps[self.at - 1].relation == STACK

    @property
    def is_in_library_table(self) -> bool:
        """Whether a module of Python or of torch holds it, and nothing of the program is on the way.

        What grows in each round must be small data: only a program stores tensors, threads, arrays and the like again and
        again.
        """
        if not self.steps or not is_library(self.steps[0].module):
            return False
        if not self.is_of_one_run and (self.keeps_torch_objects or self.has_large_parts):
            return False
        return all(map(is_library, self._modules_on_path))

    @property
    def has_large_parts(self) -> bool:
        """Whether it has arrays, threads, modules and the like, or many bytes."""
        rate = self.finding.per_step
        is_large = max(rate.bytes, rate.retained_bytes) >= LARGE_BYTES
        return is_large or self.steps[-1].type in base_types() | {ARRAY}

    @property
    def _modules_on_path(self) -> Iterator[str]:
        """Yield the modules that define the objects on the path. After one run the objects themselves are looked at."""
        if not self.is_of_one_run or self.graph is None:
            yield from (step.type.rpartition(".")[0] or "builtins" for step in self.steps[1:-1])
            return
        graph, members = self.graph, self.grown.group.members if self.grown is not None else ()
        native = next((node for node in members if graph.kind(node) in NATIVE and graph.path(node)), None)
        yield from (module_of(graph, node) for node in graph.path(native)) if native is not None else ["a program"]

    @property
    def is_of_compiler(self) -> bool:
        """Whether torch's compiler keeps it; without tensors, also whether a table of Python or an unknown holder does.

        Each compiled version brings functions and weak references of the compiler. What the program holds is the program's.
        """
        root = self.steps[0] if self.steps else None
        if root is not None and root.module.startswith("torch._"):
            return True
        if any(step.variable.startswith(COMPILED) for step in self.steps):
            return True
        is_unknown = self.finding.kind in {FindingKind.NATIVE, FindingKind.NEVER}
        is_librarys = root is not None and (root.type == "interpreter" or is_library(root.module))
        return not self.keeps_torch_objects and (is_unknown or is_librarys)

    # --- the source ---------------------------------------------------------------------------------------------------

    @functools.cached_property
    def read_at(self) -> str:
        """Return where the program reads all of the results that it gathers after the last step; empty if nowhere."""
        if not self.finding.is_after_steps or not self.is_one_place:
            return ""
        return whole_read_of(self.finding.trace, self.at, self.sources)

    @functools.cached_property
    def carried_at(self) -> str:
        """Return where the next step computes its own from what a finished step left; empty if nowhere."""
        return carried_at(self.finding.trace, self.sources) if self.finding.kind is FindingKind.RETAINED else ""

    @functools.cached_property
    def emptied_at(self) -> str:
        """Return where the program may empty later what grows; empty if nowhere."""
        if self.finding.emptied_at or not self.is_one_place or self.is_of_one_run:
            return self.finding.emptied_at
        return emptying_of(self.finding.trace, self.at, self.sources)

    @functools.cached_property
    def is_state_of_metric(self) -> bool:
        """Whether a metric keeps it until its `reset()`, and the program does not compute the metric again and again without
        that.
        """
        if not self.growth.is_state:
            return False
        return not is_computed_but_never_reset(self.finding.trace, self.at - 1, self.sources)


def facts_of(
    graph: _heap.Graph,
    grown: GrownGroup,
    creation_sites: CreationSites,
    snapshots: Sequence[StepSnapshot] = (),
    room: Room | None = None,
    *,
    left_by_run: Set[int] | None = None,
) -> Facts:
    """Return the facts about a group that grows."""
    path = find_holder_path(graph, grown)
    is_held = grown.group.anchor is not None
    return Facts(
        growth_finding(graph, grown, creation_sites),
        growth_in_trace(graph, path, grown),
        graph,
        grown,
        spans_of(raw_path(graph, path.node, path.nodes), growing_on(path, grown)) if is_held else (),
        path.holder if path.holder is not None else grown.group.anchor,
        snapshots,
        room,
        left_by_run,
    )


def with_outer(graph: _heap.Graph, groups: Sequence[GrownGroup]) -> Iterator[GrownGroup]:
    """Yield the groups with what holds their containers beside those of other groups."""
    outer = outer_containers(graph, {node for one in groups for node in one.containers})
    for one in groups:
        yield replace(one, outer=next((outer[node] for node in one.containers if node in outer), None))


def is_to_gradient(hop: Hop) -> bool:
    """Whether this is a tensor's reference to its gradient."""
    return (hop.relation, hop.label) == ("native", "grad")


def owners(graph: _heap.Graph, container: int) -> Iterator[int]:
    """Yield what refers to a container; for the dict of an object, the object as well."""
    for one in graph.referrers(container):
        yield one
        if graph.type(one) == "dict":
            yield from graph.referrers(one)


def is_library(module: str) -> bool:
    """Whether this is a module of Python, torch, numpy or gradlife. Builtin types are in no module."""
    package = module.partition(".")[0]
    return package in LIBRARIES or package in sys.stdlib_module_names


def module_of(graph: _heap.Graph, node: int) -> str:
    """Return the module that defines a function or a class, or the class of another object; "builtins" if unknown, and
    of a tensor, which is the survivor itself. Looks at the living object: the graph must be of now.
    """
    found = graph.describe(node)
    if found.kind != "python" or not found.address:
        return "builtins"
    one = ctypes.cast(found.address, ctypes.py_object).value
    if isinstance(one, types.ModuleType):
        return one.__name__
    if isinstance(one, types.FunctionType):
        return str(one.__globals__.get("__name__", "builtins"))
    kind = one if issubclass(type(one), type) else type(one)
    if any(base.__name__ == "TensorBase" for base in type.mro(kind)):
        return "builtins"
    return str(type.__getattribute__(kind, "__module__"))
