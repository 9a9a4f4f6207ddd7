"""Waiting for input on file descriptors."""

from __future__ import annotations

import os
import resource

import pytest

from gradlife.readable import readable


def test_a_pipe_can_be_read_once_it_has_bytes_or_has_ended() -> None:
    reading, writing = os.pipe()
    try:
        assert readable([reading], 0) == []
        os.write(writing, b"1")
        assert readable([reading], 0) == [reading]
        os.read(reading, 1)
        os.close(writing)
        assert readable([reading]) == [reading]
    finally:
        os.close(reading)


def test_descriptors_above_those_of_select_are_waited_for() -> None:
    high = 1100
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] <= high:
        pytest.skip("no process here may have so many files open")
    reading, writing = os.pipe()
    os.dup2(reading, high)
    try:
        os.write(writing, b"1")
        assert readable([high], 0) == [high]
    finally:
        for one in (reading, writing, high):
            os.close(one)
