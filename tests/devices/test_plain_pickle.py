"""Pickles are read as plain containers; nothing in them is looked up or called."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest

from gradlife.devices.plain_pickle import AllocatorFileError, is_pickle, read_pickle


def test_plain_containers_are_read(tmp_path: Path) -> None:
    content = {"segments": [{"pool": (0, 1), "name": "x", "sizes": [1, 2], "share": 0.5, "none": None}]}
    (tmp_path / "file.pickle").write_bytes(pickle.dumps(content))
    assert read_pickle(str(tmp_path / "file.pickle")) == content


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_no_function_is_called(tmp_path: Path, protocol: int) -> None:
    class Call:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.mkdir, (str(tmp_path / "made"),)

    (tmp_path / "file.pickle").write_bytes(pickle.dumps({"segments": [Call()]}, protocol))
    with pytest.raises(AllocatorFileError, match=r"it asks for posix\.mkdir; only plain containers are read"):
        read_pickle(str(tmp_path / "file.pickle"))
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "ends too early"),
        (b"\x80\x04", "ends too early"),
        (b"\x80\xff.", "unsupported pickle protocol: 255"),
        (b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\xff", "a frame is longer than the file"),
        (b"\x80\x04}(]K\x01u.", "has a key that is no text"),
        (b"\x80\x04j\xff\xff\xff\xff.", "the memo lacks a value"),
        (b"\x80\x04\x82\x01.", "asks for something outside of it; only plain containers are read"),
        (b"\x80\x05\x97.", "an operation is of no known kind"),
        (b"\x80\x02(ios\nsystem\n.", "it asks for os.system; only plain containers are read"),
        (b"\x80\x02U\x01aQ.", "it refers to something outside of the file"),
    ],
)
def test_a_damaged_file_is_refused_in_one_line(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "file.pickle"
    path.write_bytes(content)
    with pytest.raises(AllocatorFileError, match=words) as caught:
        read_pickle(str(path))
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_file_is_known_by_its_first_byte(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(pickle.dumps({}))
    (tmp_path / "b").write_bytes(b"gradlife")
    (tmp_path / "empty").write_bytes(b"")
    assert [is_pickle(str(tmp_path / name)) for name in ("a", "b", "empty", "absent", ".")] == [True] + 4 * [False]


def test_a_pipe_is_not_read_to_see_what_it_is(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert not is_pickle(str(tmp_path / "pipe"))
