"""Pickles of a few bytes that ask for gigabytes or for hours: each is refused in one line, in a moment."""

from __future__ import annotations

import pickle
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from allocator_files import block, frame, segment, snapshot
from gradlife.devices.allocator_state import allocator_state
from gradlife.devices.plain_pickle import AllocatorFileError, read_pickle
from work_done import lines_run

Gradlife = Callable[..., tuple[int, str, str]]

#: The bytes of each pickle, and why it is refused.
HOSTILE = {
    "a memo of 34 GB": (b"\x80\x02Nr\xff\xff\xff\xff.", "the memo has a larger number than the file has bytes"),
    "a memo in words": (b"\x80\x02Np4294967295\n.", "the memo has a larger number than the file has bytes"),
    "an array of 100 GB": (b"\x80\x05\x96" + (100 << 30).to_bytes(8, "little") + b".", "ends too early"),
    "bytes of 4 GB": (b"\x80\x02B\xff\xff\xff\xffx.", "ends too early"),
    "a text of 8 EB": (b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7fx.", "ends too early"),
    "a frame of 100 GB": (
        b"\x80\x04\x95" + (100 << 30).to_bytes(8, "little") + b"N.",
        "a frame is longer than the file",
    ),
    "a long integer": (b"\x80\x02\x8b\x40\x00\x00\x00" + b"\x7f" * 64 + b".", "an integer of more than 16 bytes"),
    "keys with one hash": (pickle.dumps({n * (2**61 - 1): 0 for n in range(9)}), "has a key that is no text"),
    "a key without an end": (b"\x80\x02}" + b")" + b"2\x86" * 60 + b"Ns.", "has a key that is no text"),
    "a set": (pickle.dumps({1, 2}), "has a set"),
    "a state": (b"\x80\x02}Nb.", "asks for something outside of it"),
    "an extension": (b"\x80\x02\x82\x01.", "asks for something outside of it"),
    "a missing value": (b"\x80\x02h\x05.", "the memo lacks a value"),
    "nothing on the stack": (b"\x80\x02.", "a value is missing"),
    "no mark": (b"\x80\x02Nt.", "a mark is missing"),
    "an unknown operation": (b"\x80\x02\xff.", "an operation is of no known kind"),
    "no end": (b"\x80\x02N", "ends too early"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_pickle_that_asks_for_more_than_it_has_is_refused(gradlife: Gradlife, tmp_path: Path, name: str) -> None:
    data, why = HOSTILE[name]
    (tmp_path / "x.pickle").write_bytes(data)
    status, output, errors = gradlife("open", str(tmp_path / "x.pickle"))
    assert (status, output, errors.count("\n")) == (2, "", 1)
    assert why in errors


@pytest.mark.allocator  # the limit is less than the shadow of a sanitizer
def test_nine_bytes_take_no_gigabytes(tmp_path: Path) -> None:
    (tmp_path / "x.pickle").write_bytes(HOSTILE["a memo of 34 GB"][0])

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))

    command = [sys.executable, "-m", "gradlife", "open", str(tmp_path / "x.pickle")]
    done = subprocess.run(command, preexec_fn=limit, capture_output=True, text=True, timeout=900)
    assert done.returncode == 2
    assert "larger number than the file has bytes" in done.stderr


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_what_python_writes_is_read(tmp_path: Path, protocol: int) -> None:
    shared = [frame("train.py", 7)]
    content = {
        "segments": [
            {"blocks": shared, "again": shared, "sizes": (1, 2**40, -1, 2**63 - 1, 1.5, None, True, "é" * 300)}
        ],
        "tuples": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)],
        "many": list(range(3000)),
    }
    path = tmp_path / "x.pickle"
    path.write_bytes(pickle.dumps(content, protocol))
    assert read_pickle(str(path)) == content


def shared_blocks(count: int) -> Any:
    blocks = [block(1) for _ in range(count)]
    return {"segments": [{"address": n, "total_size": count, "blocks": blocks} for n in range(count)]}


def shared_traces(count: int) -> Any:
    entries = [{"action": "alloc", "size": 1}] * count
    return {"segments": [], "device_traces": [entries] * count}


def test_lists_that_stand_in_two_places_are_refused() -> None:
    for content in (shared_blocks(3), shared_traces(3)):
        with pytest.raises(AllocatorFileError, match="a list of it is in two places"):
            allocator_state(content)


def nested(depth: int) -> Any:
    found: Any = ()
    for _ in range(depth):
        found = (found, found)
    return found


@pytest.mark.parametrize("field", ["state", "size", "address", "frames"])
def test_a_value_without_an_end_is_refused_at_once(field: str) -> None:
    endless = {**block(1), field: nested(60)}
    if field == "frames":
        endless["frames"] = [{"filename": nested(60), "line": 1, "name": "f"}]
    with pytest.raises(AllocatorFileError, match="no state of a caching allocator: TypeError: tuple where"):
        allocator_state({"segments": [{"address": 0, "total_size": 8, "blocks": [endless]}]})


def private(count: int) -> Any:
    """A private pool of one segment, whose blocks share one stack: its name was looked for in all blocks of each block."""
    stack = [frame(f"/a/{n}.py", n) for n in range(64)]
    blocks = [{**block(8), "frames": stack} for _ in range(count)]
    return snapshot(segment(0, *blocks, segment_pool_id=(1, 0)))


def many_segments(count: int) -> Any:
    return snapshot(*(segment(n << 20, block(8), device=n % 128) for n in range(count)))


def one_segment(count: int) -> Any:
    return snapshot(segment(0, *(block(8, "inactive" if n % 2 else "active_allocated") for n in range(count))))


def many_lines(count: int) -> Any:
    return snapshot(segment(0, *(block(8, "active_allocated", frame(f"/a/{n}.py", n)) for n in range(count))))


@pytest.mark.parametrize("make", [private, many_segments, one_segment, many_lines])
@pytest.mark.parametrize("option", ["--all", "--html", "--json"])
def test_the_work_is_in_proportion_to_the_size(
    gradlife: Gradlife, tmp_path: Path, make: Callable[[int], Any], option: str
) -> None:
    """Four times as much is four times the work, not sixteen times."""
    words = [option] if option == "--all" else [option, str(tmp_path / "page")]
    path, statuses, lines = tmp_path / "x.pickle", [], []
    for count in (500, 2_000):
        path.write_bytes(pickle.dumps(make(count)))
        lines.append(lines_run(lambda: statuses.append(gradlife("open", str(path), *words)[0])))
    assert statuses == [0, 0]
    assert lines[1] < 5 * lines[0]


def test_more_devices_than_pytorch_numbers_are_refused() -> None:
    with pytest.raises(AllocatorFileError, match="device 128, of at most 128"):
        allocator_state(snapshot(segment(0, block(1), device=128)))


def test_blocks_are_no_larger_than_their_segment_and_a_segment_of_no_bytes_is_none() -> None:
    """The picture of a device divided by the largest of its segments: nothing."""
    with pytest.raises(AllocatorFileError, match="blocks are larger than their segment"):
        allocator_state({"segments": [{"address": 0, "total_size": 0, "blocks": [block(1)]}]})
    assert allocator_state(snapshot(segment(0), segment(0, block(0)))).segments == ()


@pytest.mark.parametrize("size", [2**64 - 1, 2**54])
def test_a_size_that_no_memory_has_is_refused(size: int) -> None:
    """A page divided by what was left of it after a size of 2^64 - 1: nothing."""
    for content in (snapshot(segment(0, block(size))), snapshot(segment(0, *(block(2**52) for _ in range(4))))):
        with pytest.raises(AllocatorFileError, match="larger than any memory"):
            allocator_state(content)
