from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import junitparser
import pytest

from fabricated_hunts import CLEAN
from gradlife.output import AppendedFile, OutputFile, open_output
from gradlife.reports.formats.json.document import hunt_text
from sarif_rules import wrong_in
from written import besides_files

Gradlife = Callable[..., tuple[int, str, str]]
FAKE = ("--backend", "fake", "fake:fake-leaky")
EARLIER = '{"format": "gradlife.run/1"}'
FORMATS = ("json", "junit", "markdown", "sarif")

LEAK = """
history = []


def step():
    history.append(bytearray(100000))
"""


@pytest.fixture(autouse=True)
def outside_of_github(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITHUB_ACTIONS", "GITHUB_WORKSPACE", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)


def files_in(folder: Path) -> list[str]:
    """Options that write every format, each to a file of its name."""
    return [word for name in FORMATS for word in (f"--{name}", str(folder / name))]


def check_files(folder: Path, status: int) -> None:
    """Each file is what it says it is, and they agree."""
    assert json.loads((folder / "json").read_text("utf-8"))["exit_status"] == status
    document = junitparser.JUnitXml.fromstring((folder / "junit").read_bytes())
    assert bool(document.failures or document.errors) == bool(status)
    assert (folder / "markdown").read_text("utf-8").startswith("## gradlife")
    assert wrong_in(json.loads((folder / "sarif").read_text("utf-8"))) == []


def test_one_run_writes_every_format(gradlife: Gradlife, stories: str, tmp_path: Path) -> None:
    status, output, errors = gradlife("run", stories, *FAKE, *files_in(tmp_path))
    assert (status, besides_files(errors)) == (0, "")
    assert "Totals" in output
    check_files(tmp_path, 0)


def test_what_is_found_is_in_every_format(
    run_broken: Callable[..., tuple[str, tuple[int, str, str]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _, (status, output, _) = run_broken("--github", *files_in(tmp_path))
    assert status == 1
    check_files(tmp_path, 1)
    root = ElementTree.parse(tmp_path / "junit").getroot()
    assert (root.get("failures"), root.get("errors"), root.get("skipped")) == ("1", "2", "1")
    (run,) = json.loads((tmp_path / "sarif").read_text("utf-8"))["runs"]
    assert [one["ruleId"] for one in run["results"]] == ["contradiction", "story-failed", "story-failed"]
    commands = [line for line in output.splitlines() if line.startswith("::")]
    assert [line.partition(" ")[0] for line in commands] == ["::error"] * 3
    assert output.splitlines()[-3:] == commands


def test_a_hunt_writes_every_format(gradlife: Gradlife, tmp_path: Path) -> None:
    (tmp_path / "leak.py").write_text(LEAK, encoding="utf-8")
    status, output, _ = gradlife("hunt", "--github", *files_in(tmp_path), f"{tmp_path}/leak.py::step")
    assert status == 1
    check_files(tmp_path, 1)
    assert output.splitlines()[-1].startswith("::error ")
    (run,) = json.loads((tmp_path / "sarif").read_text("utf-8"))["runs"]
    finding = json.loads((tmp_path / "json").read_text("utf-8"))["findings"][0]
    results = [(one["ruleId"], one["partialFingerprints"]["gradlife/v1"]) for one in run["results"]]
    notices = str(run["invocations"][0]["toolExecutionNotifications"])
    assert results == [(finding["code"], finding["fingerprint"])] or finding["fingerprint"] in notices


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_on_standard_output_is_alone_there(gradlife: Gradlife, stories: str, name: str) -> None:
    status, output, errors = gradlife("run", stories, *FAKE, f"--{name}", "-")
    assert (status, besides_files(errors)) == (0, "")
    assert output.startswith({"json": "{", "junit": "<?xml", "markdown": "## gradlife run: clean", "sarif": "{"}[name])
    assert "Totals" not in output


def test_annotations_leave_standard_output_to_the_format_that_has_it(
    gradlife: Gradlife, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    status, output, errors = gradlife("run", f"{broken}::wrong", "--backend", "fake", "--json", "-")
    assert status == 1
    assert json.loads(output)["exit_status"] == 1
    assert errors.startswith("::error title=contradicted%3A wrong::on fake%0Ax, value")


@pytest.mark.parametrize(("value", "count"), [("true", 1), ("false", 0), ("", 0)])
def test_annotations_are_printed_on_github_by_themselves(
    gradlife: Gradlife, broken: str, monkeypatch: pytest.MonkeyPatch, value: str, count: int
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", value)
    _, output, _ = gradlife("run", f"{broken}::wrong", "--backend", "fake")
    assert output.count("\n::error ") == count


@pytest.mark.parametrize("command", ["run", "hunt"])
@pytest.mark.parametrize("name", FORMATS)
def test_a_file_that_cannot_be_written_is_refused_before_the_work_is_begun(
    gradlife: Gradlife, tmp_path: Path, command: str, name: str
) -> None:
    target = tmp_path / "target.py"
    target.write_text("import pathlib; pathlib.Path(__file__ + '.begun').touch()", encoding="utf-8")
    kept = tmp_path / "kept"
    kept.write_text(EARLIER, encoding="utf-8")
    other = "junit" if name == "json" else "json"
    bad = tmp_path / "no" / "file"
    status, output, errors = gradlife(command, f"--{other}", str(kept), f"--{name}", str(bad), str(target))
    assert (status, output) == (2, "")
    assert errors.startswith(f"gradlife: error: cannot write {bad}: no such file or directory (try: ")
    assert errors.count("\n") == 1
    assert kept.read_text("utf-8") == EARLIER
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept", "target.py"]


def test_two_formats_in_one_place_are_refused(gradlife: Gradlife, stories: str, tmp_path: Path) -> None:
    status, _, errors = gradlife("run", stories, "--json", "-", "--junit", "-")
    assert (status, errors) == (
        2,
        "gradlife: error: --json and --junit both go to standard output (try: a file for each)\n",
    )
    (tmp_path / "link").symlink_to(tmp_path / "x")
    status, _, errors = gradlife("run", stories, "--sarif", str(tmp_path / "x"), "--markdown", str(tmp_path / "link"))
    assert status == 2
    assert "--markdown and --sarif both go to" in errors
    assert gradlife("run", stories, *FAKE, "--json", "/dev/null", "--junit", "/dev/null")[0] == 0


@pytest.mark.parametrize("name", ["junit", "markdown", "sarif"])
def test_fidelity_has_no_such_format(gradlife: Gradlife, name: str, tmp_path: Path) -> None:
    status, _, errors = gradlife("run", "--fidelity", f"--{name}", str(tmp_path / "file"))
    assert (status, errors.partition(" (")[0]) == (2, f"gradlife: error: --fidelity does not go with --{name}")


def test_a_comparison_of_two_reports_has_no_other_format(gradlife: Gradlife, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(hunt_text(CLEAN), encoding="utf-8")
    words = ("hunt", "--verify", str(tmp_path / "a.json"), "--junit", str(tmp_path / "x"), str(tmp_path / "a.json"))
    status, output, errors = gradlife(*words)
    assert (status, output) == (2, "")
    assert errors.startswith("gradlife: error: --verify of two reports has no --junit (try: ")


def test_a_disk_that_is_full_costs_no_other_format(gradlife: Gradlife, stories: str, tmp_path: Path) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    junit = tmp_path / "junit"
    status, output, errors = gradlife("run", stories, *FAKE, "--json", "/dev/full", "--junit", str(junit))
    assert status == 3
    assert "Totals" in output
    assert besides_files(errors).startswith(
        "gradlife: error: the report could not be written to /dev/full: no space left on device"
    )
    assert junitparser.JUnitXml.fromstring(junit.read_bytes()).tests == 6


def test_the_summary_of_a_job_is_added_to(
    gradlife: Gradlife, stories: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("# Before", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert gradlife("run", stories, *FAKE, "--markdown", str(summary))[0] == 0
    assert gradlife("run", stories, *FAKE, "--markdown", str(summary))[0] == 0
    text = summary.read_text("utf-8")
    assert text.startswith("# Before\n## gradlife run: clean\n")
    assert text.count("## gradlife run: clean") == 2


def test_only_the_summary_is_added_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary"))
    assert type(open_output(str(tmp_path / "summary"))) is AppendedFile
    assert type(open_output(str(tmp_path / "other"))) is OutputFile
    with open_output(str(tmp_path / "summary")) as output:
        output.write("new é")
    assert (tmp_path / "summary").read_text("utf-8") == "new é"
    (tmp_path / "other").write_text("long before", encoding="utf-8")
    assert gradlife_error(tmp_path, monkeypatch) == "is a folder"


def gradlife_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Why a summary that is a folder cannot be written."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(folder))
    with pytest.raises(Exception, match="cannot write") as caught, open_output(str(folder)):
        pass
    return str(caught.value).partition(" (")[0].rpartition(": ")[2]


def test_a_script_keeps_its_output_and_the_annotations_go_beside_it(tmp_path: Path) -> None:
    script = tmp_path / "short.py"
    script.write_text("print('own output')", encoding="utf-8")
    command = [sys.executable, "-m", "gradlife", "hunt", "--github", str(script)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert (result.returncode, result.stdout) == (3, "own output\n")
    assert result.stderr.splitlines()[-1].startswith("::warning title=gradlife hunt could not tell::")
