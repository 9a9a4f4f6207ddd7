"""The pages of a snapshot, of one object and of a difference, read as their text."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace

import pytest

from fabricated_heaps import DIFF, heap, mapped, view
from fabricated_hunts import CTX, HISTORY
from gradlife.model.heap import HeapDiff, HeldVariable, LargeObject, PathChange, TypeChange, TypeCount
from gradlife.model.heap_map import HeapMap
from gradlife.reports.html.document import diff_page, why_page
from gradlife.reports.html.heap import heap_page
from gradlife.reports.values import short_name

HOSTILE = "<script>alert(1)</script>"


def words(page: str) -> str:
    """Return the visible text, on one line."""
    text = re.sub(r"<(script|svg).*?</\1>", " ", page.partition("<body>")[2], flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


def data(page: str) -> dict[str, object]:
    """Return the data for the page's script."""
    found = re.search(r'id="heap-objects">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    read: dict[str, object] = json.loads(found[1])
    return read


def test_a_snapshot_shows_how_much_there_is_and_what_is_left_out() -> None:
    text = words(heap_page(view(), heap()))
    for part in (
        "Snapshot x.glheap Objects 1,234,567 References 2,345,678 Bytes 5 MB Storages on cuda:0 600 kB",
        "The page has 6 objects of 1,234,567, those that retain most, down to 24 levels of keepers below the roots.",
        "No root reaches 4.1 kB of all: 12 objects with what they keep.",
        "mostly tensors' storages on cuda:0 mostly tensors' storages on cpu mostly other objects",
        "never freed 4 objects, 4.1 kB, native references",
        "gradlife open run/x.glheap -i every object, asked at a prompt",
        "What could not be seen hooks in C++ are not seen",
    ):
        assert part in text


def test_an_area_is_coloured_by_the_device_on_which_most_of_it_lies() -> None:
    page = heap_page(view(), heap())
    assert re.findall(r'href="#object-(\d)" class="cell tone-(\w+)"', page)[:2] == [("1", "1"), ("2", "plain")]


def test_what_has_no_area_is_one_of_all_others() -> None:
    found = replace(heap(), reached_bytes=2_450_000)
    assert "all other holders: 1.23 MB, 50.0%" in heap_page(view(), found)


def test_the_script_gets_every_object_with_what_is_round_it() -> None:
    found = data(heap_page(view(), heap()))
    objects = found["objects"]
    assert isinstance(objects, list)
    assert (found["file"], found["first"], len(objects)) == ("run/x.glheap", 1, 6)
    assert objects[0][:6] == [1, 0, "python", 0, "number 1", "0x1010"]


def test_types_beyond_the_last_row_are_reported_in_numbers() -> None:
    page = heap_page(view(types=2100), heap())
    assert "100 more types with 0 B have no row here." not in words(page)
    assert re.search(r"100 more types with -?\S+ k?B have no row here\.", words(page))


def test_a_full_page_of_the_longest_names_is_below_5_mb() -> None:
    long = "<" * 5000
    found = heap(1300, long, long)
    types = tuple(TypeCount(f"{number}{long}", "python", 10, 1000) for number in range(9000))
    assert len(heap_page(replace(view(), types=types), found).encode()) < 5_000_000


def test_names_are_data_in_every_page() -> None:
    found = heap(6, HOSTILE, HOSTILE)
    types = (TypeCount(HOSTILE, "python", 1, 1),)
    steps = tuple(replace(one, object=HOSTILE, detail=HOSTILE, via=HOSTILE) for one in HISTORY.steps)
    change = TypeChange(HOSTILE, "python", 1, 1, 0, 0, 0, 0)
    pages = [
        heap_page(replace(view(), file=HOSTILE, types=types), found),
        why_page(replace(HISTORY, object=HOSTILE, steps=steps), HOSTILE, mapped(1, name=HOSTILE, via=HOSTILE)),
        diff_page(HeapDiff(True, (change,), (PathChange(HOSTILE, HOSTILE, 0, 1, 0, 1),)), HOSTILE, HOSTILE),
    ]
    for page in pages:
        assert HOSTILE not in page
        assert "alert(1)" in page


@pytest.mark.parametrize("name", ["\ud800", "\x00", "\u2028", "漢" * 50, "a\u202eb"])
def test_any_name_can_be_written(name: str) -> None:
    heap_page(view(), heap(6, name, name)).encode("utf-8")
    why_page(replace(CTX, object=name, detail=name), name, mapped(1, name=name)).encode("utf-8")


def test_an_empty_snapshot_has_a_page() -> None:
    text = words(heap_page(view(types=0, cycles=(), devices=()), HeapMap((), (), 0, 0, 0, 24)))
    assert "The page has 0 objects of 1,234,567" in text


def test_why_shows_the_path_the_references_and_what_is_round() -> None:
    text = words(why_page(HISTORY, "x.glheap", mapped(7)))
    for part in (
        "Why Tensor float32 [] is alive held It is held: a root reaches it.",
        "module __main__ expected a module lives as long as the process ↓ global variable 'run'",
        "Tensor float32 [] this object made in step 17, which is over",
        "1 reference list len 20 : [17]",
        "dict len 9 ['store'] 1 kB",
        "list len 8 .items_8 1 kB and 39 more",
        "gradlife open x.glheap --instances app.Store",
    ):
        assert part in text


def test_why_of_a_living_object_needs_no_file() -> None:
    text = words(why_page(CTX))
    assert "Why Tensor float32 [512, 512] is alive never It is never freed" in text
    assert "2 that no object explains" in text
    assert "Referred to by" not in text


def test_a_difference_shows_what_is_new_gone_and_grown() -> None:
    text = words(diff_page(DIFF, "a.glheap", "b.glheap"))
    for part in (
        "Difference a.glheap → b.glheap New 73, 3.01 MB Gone 7, 700 B Grown 1, +64 B Together +3.01 MB",
        "app.Order 70 2 1 +6.86 kB python",
        "app.Old 0 5 0 -500 B python",
        "module app: global variable 'shop'.orders[*] app.Order 30 100 +7 kB",
        "Paths to new objects app.Order module __main__ → global variable 'run'.history[17]",
    ):
        assert part in text
    assert "only counts can be compared" not in text


def test_a_difference_of_two_processes_says_so() -> None:
    text = words(diff_page(replace(DIFF, by_identity=False), "a", "b"))
    assert "More 73, 3.01 MB Fewer 7, 700 B" in text
    assert "The snapshots are of two processes: only counts can be compared." in text


def test_where_nothing_changed_there_is_a_word() -> None:
    assert "Nothing changed." in words(diff_page(HeapDiff(True, (), ()), "a", "b"))


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("collections.OrderedDict", "OrderedDict"),
        ("torch::StorageImpl cuda:0", "StorageImpl cuda:0"),
        ("other types", "other types"),
        ("app.Cell", "Cell"),
        ("a.f.<locals>.Inner", "Inner"),
        ("list", "list"),
        ("", ""),
    ],
)
def test_types_are_named_by_their_last_name(name: str, short: str) -> None:
    assert short_name(name) == short


def test_what_the_variables_of_the_program_hold_comes_first() -> None:
    """The page began with the interpreter's own objects, and showed `module linecache`."""
    found = heap()
    losses = LargeObject("list", "python", "len 263", found.objects[3].address, 2000, 828_000, ())
    gone = replace(losses, address=0xDEAD, retained=10)
    program = (
        HeldVariable("trainer.losses", losses, 263, 263, 1300, 263, 1052),
        HeldVariable("rest", gone, 1, 0, 0, 0, 0),
    )
    page = heap_page(view(program=program), found)
    text = words(page)
    assert "trainer.losses 828 kB list len 263 263 tensors, 1300 grad nodes, 1.05 kB in storages" in text.replace(
        "1,300", "1300"
    )
    assert text.index("What would be freed with each variable") < text.index("What retains most, by holder")
    assert data(page)["first"] == found.objects[3].node
    assert page.count(f'href="#object-{found.objects[3].node}">trainer.losses') == 1
    assert "Held by the program" not in heap_page(view(), found)
