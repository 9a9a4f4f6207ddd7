"""The state of an optimizer: it gets an entry for each parameter, at the parameter's first gradient."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gradlife import _heap
from gradlife.hunting.snapshots.noted_facts import MAPPINGS, identity_of, node_at
from gradlife.hunting.snapshots.step_snapshots import StepSnapshot, names_below, tensor_type_names


def is_state_of_old_parameters(snapshots: Sequence[StepSnapshot], container: int) -> bool:
    """Whether it is the state of an optimizer and all its parameters were there at the first snapshot.

    A parameter that is unfrozen late gets its entry late.
    """
    graph, first = snapshots[-1].graph, snapshots[0].graph
    optimizers, tensors = names_below("torch.optim.optimizer", "Optimizer"), tensor_type_names()
    if graph.type(container) not in MAPPINGS or not any(
        graph.type(one) in optimizers for one in owners(graph, container)
    ):
        return False
    keys = [identity_of(graph, one) for one in graph.referents(container) if graph.type(one) in tensors]
    return bool(keys) and all(node_at(first, one) is not None for one in keys)


def owners(graph: _heap.Graph, container: int) -> Iterator[int]:
    """Yield what refers to a container; for the dict of an object, the object as well."""
    for one in graph.referrers(container):
        yield one
        if graph.type(one) == "dict":
            yield from graph.referrers(one)
