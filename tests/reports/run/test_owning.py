from __future__ import annotations

from rich.console import Group

from gradlife.model.reading import Ownership
from gradlife.reports.run.ownership_tree import ownership_lines
from printing import rendered

TREE = """\
tensor #2  [1 strong]
├─ ━▶ wrapper (strong) Tensor
└─ ━▶ grad_fn (strong) MulBackward0 #7
   └─ ━▶ ctx (strong) Python ctx"""


def printed(*owners: Ownership, width: int = 80) -> list[str]:
    return rendered(Group(*ownership_lines(owners)), width)


def test_a_tree_stands_below_its_stage_and_its_subject() -> None:
    assert printed(Ownership("forward done", "y", TREE)) == [
        "  at 'forward done'",
        "    y",
        "      tensor #2  [1 strong]",
        "      ├─ ━▶ wrapper (strong) Tensor",
        "      └─ ━▶ grad_fn (strong) MulBackward0 #7",
        "         └─ ━▶ ctx (strong) Python ctx",
    ]


def test_a_subject_inside_another_tree_gets_none_of_its_own() -> None:
    assert printed(Ownership("a", "y", TREE), Ownership("a", "node", "MulBackward0 #7"))[-1] == (
        "    node  in the tree of y"
    )


def test_the_larger_of_two_trees_is_reported_whichever_comes_first() -> None:
    lines = printed(Ownership("a", "node", "MulBackward0 #7"), Ownership("a", "y", TREE))
    assert lines[:3] == ["  at 'a'", "    node  in the tree of y", "    y"]


def test_of_two_trees_that_are_parts_of_each_other_the_first_is_reported() -> None:
    lines = printed(Ownership("a", "x", "tensor #1\n└─ node #2"), Ownership("a", "n", "node #2\n└─ tensor #1"))
    assert lines[-3:] == ["      tensor #1", "      └─ node #2", "    n  in the tree of x"]


def test_a_tree_that_stays_the_same_is_not_reported_again() -> None:
    assert printed(Ownership("a", "y", TREE), Ownership("b", "y", TREE))[-2:] == ["  at 'b'", "    y  as before"]


def test_a_tree_that_changes_is_reported_again() -> None:
    assert printed(Ownership("a", "y", TREE), Ownership("b", "y", "tensor #2"))[-1] == "      tensor #2"


def test_a_line_that_does_not_fit_goes_on_to_the_right_of_its_branches() -> None:
    assert printed(Ownership("a", "y", TREE), width=34)[5:8] == [
        "      └─ ━▶ grad_fn (strong)",
        "         MulBackward0 #7",
        "         └─ ━▶ ctx (strong) Python",
    ]
