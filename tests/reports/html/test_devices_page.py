"""The page of device memory: what it draws, what it names, and what it leaves out."""

from __future__ import annotations

from dataclasses import replace

from fabricated_devices import LINE, MB, USED, memory, report
from gradlife.model.device.memory import BlockOwner, MappedSegment, OwnerKind, Run
from gradlife.reports.html.devices import MAX_RUNS, MAX_SEGMENTS, device_page, device_view, legend, memory_row


def test_a_row_has_a_bar_for_each_run_in_the_colour_of_its_owner() -> None:
    found = memory()
    row = memory_row(found.map[1], found.owners)
    assert row.description == "segment of 10 MB at 0x200000000, stream 0x7, private pool"
    assert [(bar.tone, bar.owner, bar.description) for bar in row.bars] == [
        ("2", 2, "cuBLAS workspace: 4 MB, 1 block"),
        ("waiting", 1, "freed; waits for a non-default stream: 5 MB, 1 block"),
        ("free", -1, "free: 1 MB, 1 block"),
    ]


def test_the_legend_has_the_largest_owners_and_the_states_that_are_there() -> None:
    assert legend(memory()) == [
        ("1", "losses of __main__"),
        ("2", "cuBLAS workspace"),
        ("waiting", "freed, waits for a stream"),
        ("free", "free"),
    ]


def test_owners_beyond_the_colours_share_one() -> None:
    owners = tuple(BlockOwner(OwnerKind.HOLDER, f"x{number}", MB, 1) for number in range(9))
    runs = tuple(Run(number * MB, MB, 1, USED, number) for number in range(9))
    found = replace(memory(), owners=owners, map=(MappedSegment(0, 9 * MB, 0, False, runs),))
    assert [bar.tone for bar in memory_row(found.map[0], owners).bars] == [*"123456", *["others"] * 3]
    assert legend(found)[-1] == ("others", "other owners")


def test_small_segments_beyond_the_limit_are_counted_and_not_drawn() -> None:
    small = MappedSegment(0, 1, 0, False, (Run(0, 1, 1, USED, 0),))
    large = MappedSegment(1, 3, 0, False, (Run(0, 3, 1, USED, 0),))
    view = device_view(replace(memory(), map=(*[small] * MAX_SEGMENTS, large)), 0)
    assert view.left_out == "1 smaller segment of 1 B in all are not drawn."
    many = MappedSegment(0, MAX_RUNS, 0, False, tuple(Run(at, 1, 1, USED, 0) for at in range(MAX_RUNS + 1)))
    assert device_view(replace(memory(), map=(many,)), 0).left_out.startswith("1 smaller segment")


def test_names_are_escaped_and_advice_comes_before_the_map() -> None:
    page = device_page(report(memory(name="<script>alert(1)</script>")))
    assert "<script>alert(1)" not in page
    assert page.index("What to do") < page.index("Memory map") < page.index("Owners of the blocks")
    assert "12 MB requested at me/train.py:41" in page


def test_an_empty_allocator_has_a_page() -> None:
    assert "The allocator holds no memory." in device_page(report())


def test_a_line_is_shown_with_the_last_two_parts_of_its_path() -> None:
    assert LINE.file not in device_page(report(memory()))
