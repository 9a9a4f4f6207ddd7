"""Every row of the table of expectations has a program that needs it, and a look-alike that is still a leak."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("numpy")

from expected_programs import CLEAN, CODES, NATIVE_TESTS, PROGRAMS, SCRIPTS, SUITE, TESTS  # noqa: E402
from gradlife.hunting.findings.expectations import EXPECTATIONS  # noqa: E402
from gradlife.hunting.findings.severity import Room, graded  # noqa: E402
from gradlife.model.hunt import Severity  # noqa: E402
from gradlife.reports.hunt.expectations import markdown_lines  # noqa: E402
from plugin_suites import run_suite  # noqa: E402
from sources import ROOT  # noqa: E402
from step_evidence import evidence, judged  # noqa: E402

#: Bytes of memory that the programs may still use.
FREE = 1 << 33


@pytest.mark.whole
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_judged_as_the_table_says(name: str) -> None:
    make, row = PROGRAMS[name]
    step = make()  # a queue is asked for its size while it lives
    found, expected = judged(evidence(step, 5, 7, 11, 13, 17), FREE)
    rows = {one.kind for one in expected} | {one.expectation for one in found if one.expectation}
    leaks = [one for one in graded(found, Room(FREE, 1e6)) if one.severity is not Severity.NOTE]
    assert (rows, bool(leaks)) == (({row}, False) if row else (set(), True))


@pytest.mark.whole
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_is_judged_as_the_table_says(name: str, tmp_path: Path) -> None:
    source, row = SCRIPTS[name]
    (tmp_path / "program.py").write_text(source)
    command = [sys.executable, "-m", "gradlife", "hunt", "--json", "report.json", "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=900)
    report = json.loads((tmp_path / "report.json").read_text())
    rows = {one["kind"] for one in report["explained"]}  # a compiler's tables and a library's are beside some
    assert (report["verdict"], done.returncode) in ({("leak", 1), ("leak", 0)} if row == "" else {("clean", 0)})
    assert row in rows if row not in {"", CLEAN} else row == "" or rows == set()
    assert name not in CODES or CODES[name] in {one["code"] for one in report["findings"]}


@pytest.mark.whole
def test_tests_are_judged_as_the_table_says(tmp_path: Path) -> None:
    """The first steps of an optimizer were a leak, though the documentation said otherwise."""
    ran = run_suite(tmp_path, "--leaks", test_suite=SUITE)
    found = {name: ran.checked(name) for name in TESTS}
    rows = {name: {one["kind"] for one in each["explained"]} for name, each in found.items()}
    assert rows == {name: {row} if row else set() for name, row in TESTS.items()}
    assert {name for name, each in found.items() if each["findings"]} == {
        name for name, row in TESTS.items() if not row
    }


def test_each_row_has_a_program_and_a_look_alike() -> None:
    expected = {name: row for name, (_, row) in (*PROGRAMS.items(), *SCRIPTS.items())} | TESTS | NATIVE_TESTS
    rows = {row.name: (expected.get(row.leak), expected.get(row.alike)) for row in EXPECTATIONS}
    assert rows == {row.name: ("", row.name) for row in EXPECTATIONS}


def test_the_page_about_hunts_has_the_table() -> None:
    page = (ROOT / "docs" / "hunting.md").read_text()
    table = "\n".join(markdown_lines(EXPECTATIONS))
    assert f"<!-- begin: expectations -->\n\n{table}\n\n<!-- end: expectations -->" in page
