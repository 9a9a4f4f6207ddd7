from __future__ import annotations

from hypothesis import given, strategies as st

from gradlife.reports.run.grid import Cell, Grid, folded
from gradlife.reports.run.names import heading
from printing import rendered


def two_columns() -> Grid:
    grid = Grid([heading("torch", "2.13.0"), heading("mini:torch-1.2")])
    grid.title("suite")
    grid.row("a_story (ctx)", [Cell("gc"), Cell("never", "*")], indent=2)
    return grid


def test_a_grid_has_a_label_and_a_column_a_system() -> None:
    assert rendered(two_columns()) == [
        "                       mini",
        "                torch  torch",
        "                2.13.0 1.2",
        "─────────────────────────────",
        "suite",
        "  a_story (ctx) gc     never*",
    ]


def test_a_grid_needs_no_more_than_ascii() -> None:
    lines = rendered(two_columns(), ascii_only=True)
    assert lines[3] == "-" * 29
    assert all(line.isascii() for line in lines)


def test_a_label_that_is_too_long_goes_on_below_itself() -> None:
    grid = Grid([heading("torch", "2.13.0")])
    grid.row("a_story_with_quite_a_long_name (the subject)", [Cell("never", "!")], indent=2)
    assert rendered(grid, 40)[3:] == [
        "  a_story_with_quite_a_long_name  never!",
        "    (the subject)",
    ]


def test_a_note_is_left_out_where_there_is_no_room_for_it() -> None:
    grid = Grid([heading("torch", "2.13.0")])
    grid.row("a_story_with_quite_a_long_name", [Cell("never")], note=" (the subject)")
    grid.row("a_story", [Cell("never")], note=" (the subject)")
    assert rendered(grid, 40)[3:] == [
        "a_story_with_quite_a_long_name    never",
        "a_story (the subject)             never",
    ]
    assert rendered(grid, 80)[3].startswith("a_story_with_quite_a_long_name (the subject) never")


def test_headings_too_wide_for_the_terminal_become_numbers() -> None:
    names = [f"mini:torch-2.13+an_axis_{number}=some_value" for number in range(4)]
    grid = Grid([heading(name) for name in names])
    grid.row("story", [Cell("del")] * 4)
    assert rendered(grid, 60)[0] == "      [1]   [2]   [3]   [4]"
    assert rendered(grid, 120)[3].split() == ["+an_axis_0", "+an_axis_1", "+an_axis_2", "+an_axis_3"]


def test_columns_that_do_not_fit_are_drawn_in_a_second_block() -> None:
    grid = Grid([heading("torch", str(number)) for number in range(20)])
    grid.row("story", [Cell(str(number)) for number in range(20)])
    lines = rendered(grid, 80)
    assert [line.split() for line in lines if line.startswith("story")] == [
        ["story", *map(str, range(9))],
        ["story", *map(str, range(9, 18))],
        ["story", "18", "19"],
    ]


def test_folding_breaks_after_underscores_and_indents_what_follows() -> None:
    assert folded("one_two_three", 8) == ["one_two_", "  three"]
    assert folded("one two", 7, indent=2) == ["  one", "    two"]
    assert folded("", 10) == [""]


@given(st.text(alphabet="ab_ ./", max_size=60), st.integers(8, 40), st.integers(0, 4))
def test_folding_loses_nothing_but_blanks_and_stays_within_the_width(text: str, width: int, indent: int) -> None:
    lines = folded(text, width, indent)
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(len(line) <= width for line in lines)


cell = st.builds(Cell, st.text(alphabet="xyz", min_size=1, max_size=14), st.sampled_from(["", "*", "!"]))
cells = st.lists(cell, min_size=5, max_size=5)


@given(st.lists(st.tuples(st.text(alphabet="name_ (x)", max_size=70), cells), max_size=5), st.integers(60, 130))
def test_no_line_of_a_grid_is_wider_than_the_terminal(rows: list[tuple[str, list[Cell]]], width: int) -> None:
    grid = Grid([heading(f"mini:torch-1.{number}") for number in range(5)])
    for label, row in rows:
        grid.row(label, row, indent=2)
    lines = rendered(grid, width)
    assert all(len(line) <= width and line == line.rstrip() for line in lines)
