from __future__ import annotations

from dataclasses import replace

from fabricated import event
from gradlife.model import Event
from gradlife.reports.run.timeline import Timeline, make_lanes, stage_ends
from printing import rendered


def short_story() -> list[Event]:
    return [
        event(1, "created", 1),
        event(2, "wrapped", 1),
        event(3, "created", 2, "node"),
        event(4, "saved", 2, "node"),
        event(5, "dropped", 1, stage="output dropped"),
        event(6, "destroyed", 2, "node", stage="output dropped"),
    ]


def test_a_lane_an_object_from_its_first_event_to_its_end() -> None:
    assert rendered(Timeline("story on mini:torch-1.2", short_story())) == [
        "story on mini:torch-1.2",
        "",
        "",
        "tensor  CW──D─>",
        "node      CS─X",
        "forward done│",
        "output dropped│",
        "",
        "  C created  W wrapped  D dropped  S saved  X destroyed  > not destroyed",
    ]


def test_stages_end_behind_their_last_event() -> None:
    assert stage_ends(short_story()) == [(4, "forward done"), (6, "output dropped")]


def test_lanes_stand_in_the_order_of_their_first_events() -> None:
    lanes = make_lanes([event(1, "created", 9), event(2, "created", 3), event(3, "hook", 9)])
    assert [(lane.label, lane.kinds) for lane in lanes] == [
        ("tensor 1", {0: "created", 2: "hook"}),
        ("tensor 2", {1: "created"}),
    ]


def test_an_object_with_a_name_of_its_own_carries_it() -> None:
    lanes = make_lanes([replace(event(1, "created", 5, "node"), name="SinBackward0"), event(2, "created", 6)])
    assert [lane.label for lane in lanes] == ["SinBackward0", "tensor"]


def test_an_object_and_one_of_another_kind_with_its_number_have_two_lanes() -> None:
    assert len(make_lanes([event(1, "created", 1), event(2, "created", 1, "storage")])) == 2


def test_more_events_than_columns_go_on_in_further_blocks_with_the_lanes_that_live_there() -> None:
    many = [event(1, "created", 1), event(2, "destroyed", 1), event(3, "created", 2)]
    many += [event(4 + number, "hook", 2) for number in range(147)]
    lines = rendered(Timeline("long", many), 80)
    assert all(len(line) <= 80 for line in lines)
    assert sum(line.startswith("tensor 1 ") for line in lines) == 1
    assert sum(line.startswith("tensor 2 ") for line in lines) == 3
    axes = [line for line in lines if line.strip() and set(line) <= set(" 0123456789")]
    assert [line.split()[-1] for line in axes] == ["60", "130", "150"]


def test_the_axis_numbers_every_tenth_event_above_its_column() -> None:
    lines = rendered(Timeline("t", [event(number, "hook", 1) for number in range(1, 13)]))
    assert lines[2].index("10") + 1 == lines[3].index("H") + 9


def test_an_unknown_kind_of_event_is_a_question_mark() -> None:
    assert rendered(Timeline("t", [event(1, "teleported", 1)]))[3] == "tensor  ?>"


def test_a_terminal_that_knows_only_ascii_gets_only_ascii() -> None:
    assert all(line.isascii() for line in rendered(Timeline("t", short_story()), ascii_only=True))


def test_a_watched_object_is_called_by_its_name_from_the_beginning() -> None:
    first, later = event(1, "created", 5), replace(event(2, "wrapped", 5), name="Tensor", subject="y")
    assert [lane.label for lane in make_lanes([first, later])] == ["y (Tensor)"]
