from __future__ import annotations

import pytest

from gradlife.reports.run.names import heading, heading_width, numbered


@pytest.mark.parametrize(
    ("name", "version", "lines"),
    [
        ("torch", "2.13.0+cpu", ("torch", "2.13.0")),
        ("mini:torch-1.10", "0.1.0", ("mini", "torch", "1.10")),
        ("mini:oneflow-0.9", "0.1.0", ("mini", "oneflow", "0.9")),
        ("mini:torch-2.13+saved_slot=owning", "", ("mini", "torch", "2.13", "+saved_slot", "=owning")),
        ("mini:torch-1.2+a=b,c=d", "", ("mini", "torch", "1.2", "+a", "=b", "+c", "=d")),
        ("mini:broken", "", ("mini", "broken")),
        ("torch@/opt/py/bin/python3.7", "1.1.0", ("torch", "1.1.0", "@python3.7")),
        ("fake", "1.0", ("fake", "1.0")),
        ("fake:fake-leaky", "1.0", ("fake", "fake-leaky")),
    ],
)
def test_a_heading_is_a_short_line_for_each_part_of_a_name(name: str, version: str, lines: tuple[str, ...]) -> None:
    assert heading(name, version) == lines


def test_a_heading_is_as_wide_as_its_widest_line() -> None:
    assert heading_width(heading("mini:oneflow-0.9")) == 7
    assert heading_width(()) == 0


def test_systems_are_numbered_from_one() -> None:
    assert numbered(2) == [("[1]",), ("[2]",)]
