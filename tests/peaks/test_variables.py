"""Variables of frames are read without a trace in them."""

from __future__ import annotations

import gc
import sys
import weakref
from typing import Any

from gradlife.peaks.recording.variables import values_of


class Value:
    """What a variable holds."""


def test_a_frame_keeps_nothing_of_the_variables_that_are_read() -> None:
    value = Value()
    alive = weakref.ref(value)
    assert values_of(sys._getframe())["value"] is value
    del value
    gc.collect()
    assert alive() is None


def test_what_the_program_has_of_its_variables_stays() -> None:
    value = Value()
    ours: dict[str, Any] = locals()
    assert values_of(sys._getframe())["value"] is value
    assert ours["value"] is value


def test_the_variables_of_a_module_stay() -> None:
    names: dict[str, Any] = {"sys": sys, "values_of": values_of}
    exec(compile("one = 1\nfound = values_of(sys._getframe())\n", "made up", "exec"), names)
    assert (names["one"], names["found"]["one"]) == (1, 1)
