"""The numbers of the grad nodes that were made since the last step."""

from __future__ import annotations

import threading

import pytest

from gradlife.hunting.steps.graph_mark import GraphMark

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def test_the_nodes_since_the_mark_are_known_by_their_numbers() -> None:
    leaf = torch.ones(1, requires_grad=True)
    mark = GraphMark()
    mark.set()
    before = leaf * 2
    mark.set()
    made = [leaf * 2, leaf + 1]
    assert [one.grad_fn._sequence_nr() for one in made] == [*mark.since]
    assert before.grad_fn._sequence_nr() not in mark.since


def test_without_a_mark_or_in_another_thread_none_are_known() -> None:
    """Each thread numbers its nodes from 0."""
    mark = GraphMark()
    assert [*mark.since] == []
    thread = threading.Thread(target=mark.set)
    thread.start()
    thread.join()
    assert [*mark.since] == []
