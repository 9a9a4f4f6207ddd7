"""Who holds each storage at one moment, from the heap graph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from gradlife import _heap
from gradlife.heap.graph import HeapGraph, Reference
from gradlife.heap.ownership_links import short_type
from gradlife.heap.scan import OWN_FOLDER
from gradlife.model.peak.report import Owner

#: Tensors above one another, views and gradients, and containers, that are followed.
MOST_TENSORS = 6
MOST_LINKS = 5

#: Storages whose holders are looked for.
MOST_STORAGES = 2000

#: Where modules and optimizers keep what their owners are known by.
PARAMETERS, BUFFERS, STATE = "'_parameters'", "'_buffers'", "state"

#: The reference from a frame to a value that no name has.
STACK = "stack"


@dataclass(frozen=True)
class Holder:
    """One way in which a storage is held."""

    owner: Owner
    text: str = ""  # "local 'logits' of step (train.py:40)"
    name: str = ""  # the variable, if a frame or a module has one
    scope: str = ""  # the function of the frame, or the module
    is_simple: bool = False  # the name alone holds the tensor


@dataclass
class Held:
    """All that is known of who holds one storage."""

    holders: list[Holder] = field(default_factory=list)

    @property
    def owner(self) -> Owner:
        """What the storage is for: the first that applies, in the order of `Owner`."""
        order = list(Owner)
        return min((one.owner for one in self.holders), key=order.index, default=Owner.TEMPORARY)

    @property
    def first(self) -> Holder:
        """The holder that stands for all: a name of the program rather than what is behind it."""
        named = [one for one in self.holders if one.name]
        return (named or self.holders or [Holder(Owner.TEMPORARY)])[0]


def storage_addresses() -> list[int]:
    """The addresses of all storages that the heap graph reaches."""
    graph = _heap.walk(hidden_sources=OWN_FOLDER)
    return [graph.describe(node).address for node in range(graph.node_count) if graph.kind(node) == "storage"]


def holders_now() -> dict[int, Held]:
    """Who holds each storage now, by its address: the largest ones. Freezes the heap: call it in a forked copy."""
    graph = _heap.freeze(True, True, OWN_FOLDER)
    found = [(graph.describe(node), node) for node in range(graph.node_count) if graph.kind(node) == "storage"]
    largest = sorted(found, key=lambda one: one[0].bytes or 0, reverse=True)[:MOST_STORAGES]
    return {shown.address: Held(list(Search(graph).storage_holders(node))) for shown, node in largest}


class Search:
    """Goes from a storage up to what a program calls it."""

    def __init__(self, graph: HeapGraph) -> None:
        self._graph = graph
        self._seen: set[int] = set()

    def storage_holders(self, storage: int) -> Iterator[Holder]:
        """Every way in which tensors on a storage are held."""
        for node in self._graph.referrers(storage):
            if self._graph.kind(node) == "tensor":
                yield from self._tensor_holders(node, MOST_TENSORS)
            elif self._graph.kind(node) == "python":  # a storage's own wrapper
                yield from self._names(node)

    def _tensor_holders(self, tensor: int, depth: int) -> Iterator[Holder]:
        if tensor in self._seen or depth == 0:
            return
        self._seen.add(tensor)
        for node in self._graph.referrers(tensor):
            reference = self._reference(node, tensor)
            if reference.kind == "grad_node":
                yield Holder(Owner.SAVED, f"saved {reference.label} of {short_type(reference.type)}")
            elif reference.kind == "tensor" and reference.label == "grad":
                yield Holder(Owner.GRADIENT, f".grad of {self._parameter_name(node)}")
            elif reference.kind == "tensor":
                yield from self._tensor_holders(node, depth - 1)
            elif reference.kind == "python":
                yield from self._wrapper_holders(node, reference)

    def _wrapper_holders(self, wrapper: int, reference: Reference) -> Iterator[Holder]:
        if is_parameter(reference):
            yield Holder(Owner.PARAMETER, f"parameter {self._parameter_name_of_wrapper(wrapper)}")
            return
        yield from self._names(wrapper)

    def _names(self, wrapper: int) -> Iterator[Holder]:
        for node in self._graph.referrers(wrapper):
            reference = self._reference(node, wrapper)
            if reference.kind == "grad_node":
                yield Holder(Owner.SAVED, f"saved {reference.label} of {short_type(reference.type)}")
            elif reference.relation == STACK:
                yield Holder(Owner.TEMPORARY, f"a value in {reference.detail}")
            elif reference.kind in {"python", "root"}:
                yield self._named(node, reference)

    def _named(self, node: int, reference: Reference) -> Holder:
        """The way from a root of the program to one reference."""
        if not self._graph.path(node):  # the arguments of the operation that runs
            return Holder(Owner.TEMPORARY)
        way = [*self._graph.path_steps(node)[:-1], reference]
        labels = [step.label for step in way]
        if STATE in labels and any("Optimizer" in step.bases or "optim" in step.type for step in way):
            return Holder(Owner.OPTIMIZER, "state of the optimizer")
        if self._is_in(node, BUFFERS):
            return Holder(Owner.BUFFER, f"buffer {reference.label.strip(chr(39))}")
        return named_holder(way)

    def _is_in(self, container: int, label: str) -> bool:
        return any(self._reference(node, container).label == label for node in self._graph.referrers(container))

    def _parameter_name(self, tensor: int) -> str:
        for node in self._graph.referrers(tensor):
            if self._graph.kind(node) == "python":
                return self._parameter_name_of_wrapper(node)
        return "a tensor"

    def _parameter_name_of_wrapper(self, wrapper: int) -> str:
        for node in self._graph.referrers(wrapper):
            reference = self._reference(node, wrapper)
            if reference.relation == "dict_value" and self._is_in(node, PARAMETERS):
                return reference.label.strip("'")
        return "a tensor"

    def _reference(self, node: int, target: int) -> Reference:
        return self._graph.steps_along([node, target])[0]


def is_parameter(reference: Reference) -> bool:
    """Is it a Parameter's wrapper?"""
    return short_type(reference.type) == "Parameter" or "torch.nn.parameter.Parameter" in reference.bases.splitlines()


def named_holder(way: list[Reference]) -> Holder:
    """A holder as the program calls it: from the last variable on the way."""
    at = max((at for at, step in enumerate(way) if is_variable(way, at)), default=None)
    if at is None:
        return Holder(Owner.NAMED, way_text(way[-MOST_LINKS:]))
    step = way[at]
    name = step.label.removeprefix("argument ").strip("'")
    rest = way_text(way[at + 1 :])
    is_simple = at == len(way) - 1
    scope = step.detail if step.relation == "local" else module_of(way, at)
    kind = "local" if step.relation == "local" else "global"
    return Holder(Owner.NAMED, f"{kind} {name}{rest} of {scope}", name, scope, is_simple)


def is_variable(way: list[Reference], at: int) -> bool:
    """Is this step from a frame to a local variable, or from a module's names to a global one?"""
    step = way[at]
    return step.relation in {"local", "global"} or (
        step.relation == "dict_value" and at > 0 and way[at - 1].type == "module"
    )


def module_of(way: list[Reference], at: int) -> str:
    """The module whose global variable it is."""
    return next((step.detail for step in reversed(way[: at + 1]) if step.type == "module"), "a module")


def way_text(way: list[Reference]) -> str:
    """References as an expression of Python's: ``.cache['h']``."""
    return "".join(map(link, way))


def link(step: Reference) -> str:
    """One reference as a piece of an expression."""
    if step.relation == "item":
        return f"[{step.index}]"
    if step.relation == "dict_value":
        return f"[{step.label}]"
    if step.relation in {"attribute", "slot"}:
        return f".{step.label}"
    return ""
