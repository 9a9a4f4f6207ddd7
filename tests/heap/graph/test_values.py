"""The values of a graph: their fields have names, and those of one object agree."""

from __future__ import annotations

import pytest

from gradlife import _heap
from gradlife.heap.graph import KINDS, RELATIONS, is_a, is_native, omitted_objects, with_source
from gradlife.patterns.matching.path_tokens import NATIVE_WORDS

#: Labels of what is no reference of a tensor or a grad node, or that a fold replaces before a pattern sees it.
OF_OTHERS = {"its_impl", "memory_of", "tensor_hooks", "post_accumulate_hooks", "running_frame", "argument"} | {
    "thread_dicts",
    "cached_arguments",
}


class Holder:
    def __init__(self, kept: object) -> None:
        self.kept = kept


@pytest.fixture
def held() -> tuple[_heap.Graph, int, Holder]:
    holder = Holder({1, 2, 3})
    graph = _heap.walk(sizes=True)
    node = graph.find(id(holder.kept))
    assert node is not None
    return graph, node, holder


def test_fields_of_an_object_agree_with_its_kind_and_its_type(held: tuple[_heap.Graph, int, Holder]) -> None:
    graph, node, holder = held
    found = graph.describe(node)
    assert found == ("python", "set", id(holder.kept), found.bytes)
    assert graph.kind_and_type(node) == ("python", "set")
    assert (found.kind, found.type, found.address) == (graph.kind(node), graph.type(node), id(holder.kept))
    assert found.bytes is not None
    assert found.bytes >= holder.kept.__sizeof__()


def test_a_path_names_the_attribute_that_refers_to_the_object(held: tuple[_heap.Graph, int, Holder]) -> None:
    _, _, holder = held
    found = _heap.investigate(holder.kept, False, None, (), False, 0)[1]
    assert found is not None
    holding = next(one for one in found["referrers"] if one.address == id(holder))
    assert (holding.type, holding.relation, holding.label) == (f"{__name__}.Holder", "attribute", "kept")


def test_kinds_and_relations_are_declared_once(held: tuple[_heap.Graph, int, Holder]) -> None:
    graph, _, _ = held
    assert KINDS == ("python", "tensor", "storage", "grad_node", "native", "root")
    assert {kind for _, kind, _, _ in graph.census()} <= set(KINDS)
    assert {"attribute", "dict_value", "native", "root"} < set(RELATIONS)
    assert len(set(RELATIONS)) == len(RELATIONS)


def test_labels_are_declared_once_and_patterns_know_those_of_grad_nodes() -> None:
    assert len(set(_heap.LABELS.values())) == len(_heap.LABELS)
    assert {name for name, text in _heap.LABELS.items() if text not in NATIVE_WORDS} == OF_OTHERS


def test_a_reference_says_what_it_is_derived_from_and_whether_it_is_of_cpp() -> None:
    one = _heap.Reference((7, "python", "app.Net", 4096, "", "attribute", "net", -1, "torch.Module\nobject", ""))
    assert is_a(one, frozenset({"torch.Module"}))
    assert is_a(one, frozenset({"app.Net"}))
    assert not is_a(one, frozenset({"torch.Tensor"}))
    assert not is_native(one)
    assert is_native(_heap.Reference((7, "tensor", *one[2:])))
    assert with_source(8, one).node == 8
    assert with_source(8, one)[1:] == one[1:]
    assert (omitted_objects(3).index, omitted_objects(3).kind) == (3, "gap")


def test_a_node_that_is_not_in_the_graph_is_an_index_error(held: tuple[_heap.Graph, int, Holder]) -> None:
    graph, _, _ = held
    for question in (graph.describe, graph.kind, graph.type, graph.kind_and_type):
        with pytest.raises(IndexError, match="no such node"):
            question(graph.node_count)
