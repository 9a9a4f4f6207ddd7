"""Files of tensors: paths and streams, and everything in a file that is not what it should be."""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

import gradlife.engine as torch


class Mine:
    """A class that no file may bring unless it was allowed."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mine)

    __hash__ = None  # type: ignore[assignment]


def written(value: Any) -> bytes:
    file = io.BytesIO()
    torch.save(value, file)
    return file.getvalue()


def test_a_path_is_written_and_read(tmp_path: Path) -> None:
    for path in (tmp_path / "tensors.pt", str(tmp_path / "others.pt")):
        torch.save({"x": torch.ones(2)}, path)
        assert torch.load(path)["x"].tolist() == [1.0, 1.0]


def test_two_objects_follow_one_another_in_a_stream() -> None:
    stream = io.BytesIO(written(torch.ones(1)) + written(torch.zeros(1)))
    assert [torch.load(stream).item(), torch.load(stream).item()] == [1.0, 0.0]


def test_shared_memory_is_written_once() -> None:
    base = torch.zeros(10_000)
    assert len(written([base, base[1:], base.view(100, 100)])) < 41_000


def test_a_class_is_read_once_it_is_allowed() -> None:
    data = written([Mine()])
    with pytest.raises(pickle.UnpicklingError, match=r"Mine was not an allowed global by default"):
        torch.load(io.BytesIO(data))
    assert torch.load(io.BytesIO(data), weights_only=False) == [Mine()]


def test_old_releases_read_everything_by_default() -> None:
    data = written([Mine()])
    with torch.profile("torch-1.10"):
        assert torch.load(io.BytesIO(data)) == [Mine()]
        with pytest.raises(pickle.UnpicklingError):
            torch.load(io.BytesIO(data), weights_only=True)


@pytest.mark.parametrize("name", ["OrderedDict.fromkeys", "Tensor.backward", "float32.itemsize"])
def test_a_name_inside_an_allowed_class_is_not_allowed(name: str) -> None:
    module = "collections" if name.startswith("Ordered") else "gradlife.engine.tensors"
    memories = pickle.dumps([], 4)
    body = (
        pickle.PROTO
        + b"\x04"
        + b"".join(pickle.SHORT_BINUNICODE + bytes([len(text)]) + text.encode() for text in (module, name))
    )
    file = io.BytesIO(b"gradlife.tensors/1\n" + memories + body + pickle.STACK_GLOBAL + pickle.STOP)
    with pytest.raises(pickle.UnpicklingError, match="not an allowed global"):
        torch.load(file)


def test_the_list_of_memories_brings_no_classes() -> None:
    file = io.BytesIO(b"gradlife.tensors/1\n" + pickle.dumps([Mine()]) + pickle.dumps(None))
    with pytest.raises(pickle.UnpicklingError, match="a list of memories has no"):
        torch.load(file, weights_only=False)


def test_a_dtype_that_is_none_is_refused() -> None:
    file = io.BytesIO(b"gradlife.tensors/1\n" + pickle.dumps([("complex256", b"")]) + pickle.dumps(None))
    with pytest.raises(ValueError, match="no dtype 'complex256'"):
        torch.load(file)


@pytest.mark.whole
@settings(max_examples=60, deadline=None, database=None)
@given(st.data())
def test_a_damaged_file_never_does_more_than_raise(data: st.DataObject) -> None:
    whole = written({"x": torch.arange(6.0).view(2, 3)[:, 1:], "n": [1, "two"]})
    place = data.draw(st.integers(0, len(whole) - 1))
    damaged = (
        whole[:place] + bytes([data.draw(st.integers(0, 255))]) * data.draw(st.integers(0, 2)) + whole[place + 1 :]
    )
    try:
        torch.load(io.BytesIO(damaged))
    except (Exception, MemoryError):
        return


def test_an_unknown_device_is_refused() -> None:
    file = io.BytesIO(written(torch.ones(1)))
    with pytest.raises(RuntimeError, match="no device 'cuda'"):
        torch.load(file, map_location="cuda")
