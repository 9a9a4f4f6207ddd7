"""The drawings of owners: the cycle that keeps the object alive, and what the collector does not see of it."""

from __future__ import annotations

from drawing_owners import cycle_of, drawn, rows_of

RING = """\
tensor #1  [1 strong]
├─ ┄▶ accumulator (weak) AccumulateGrad #3  [1 strong, 1 weak]
│  └─ ━▶ variable (strong) tensor #1  [1 strong]  ↑ above
├─ ━▶ storage (strong) Storage #9  [1 strong]
└─ ━▶ grad (strong) tensor #2  [1 strong]
   └─ ━▶ grad_fn (strong) CopyBackwards #4  [1 strong]
      └─ ━▶ next edge (strong) AccumulateGrad #3  [1 strong, 1 weak]  ↑ above
"""
CYCLE = {(1, 2, "grad"), (2, 4, "grad_fn"), (4, 3, "next edge"), (3, 1, "variable")}


def test_the_cycle_goes_through_references_that_keep() -> None:
    assert cycle_of(list(rows_of(RING))) == CYCLE
    assert cycle_of(list(rows_of(RING.replace("grad_fn (strong)", "grad_fn (weak)")))) == set()


def test_the_cycle_and_what_the_collector_does_not_see_of_it_are_marked() -> None:
    picture = drawn(RING, "a ring", [(1, 2, "grad"), (1, 9, "storage")]).replace("&#160;", " ")
    assert picture.count("↻⊘") == 1
    assert picture.count("↻") == len(CYCLE) + 1  # and the key
    assert "a reference that the collector does not see" in picture


def test_a_tree_without_a_cycle_has_no_key() -> None:
    assert "↻" not in drawn(RING.replace("variable (strong)", "variable (weak)"), "a tree")
