from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gradlife import engine
from gradlife.backends import recorded
from gradlife.doctor import child, examination, stories_recordings
from gradlife.doctor.torch import NAMES
from gradlife.environments.records import Environment, write_record
from gradlife.errors import UsageError
from gradlife.model.checkup import Checkup, Health, Sign, decode, encode
from gradlife.reports.doctor import print_checkup
from gradlife.reports.formats.json.document import checkup_text
from printing import printed

Gradlife = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADLIFE_HOME", str(tmp_path / "home"))


def doctor(folder: Path, *arguments: str, **files: str) -> subprocess.CompletedProcess[str]:
    """The doctor in a process whose path begins with these files: `torch="raise ..."`."""
    write(folder, **files)
    command = [sys.executable, "-m", "gradlife", "doctor", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "200"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900, check=False)


def write(folder: Path, **files: str) -> None:
    """Modules in a folder: torch is a package, as the real one is, `torch_file` a lone file in its place."""
    for name, source in files.items():
        file = folder / name / "__init__.py" if name == "torch" else folder / f"{name.removesuffix('_file')}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(source, encoding="utf-8")


def asked(folder: Path, monkeypatch: pytest.MonkeyPatch, **files: str) -> Checkup:
    """Return the child's signs if its path begins with these files."""
    write(folder, **files)
    monkeypatch.syspath_prepend(str(folder))
    return Checkup(tuple(child.ask_child()))


def signs_of(result: subprocess.CompletedProcess[str]) -> dict[str, Sign]:
    """Every sign of a JSON answer by its name."""
    assert "Traceback" not in result.stderr
    sections = json.loads(result.stdout)["sections"]
    return {item["name"]: decode(item) for items in sections.values() for item in items}


@pytest.mark.whole
@pytest.mark.torch
def test_a_sound_installation_is_well(tmp_path: Path) -> None:
    result = doctor(tmp_path, "--json", "-")
    signs = signs_of(result)
    assert {sign.name: sign for sign in signs.values() if sign.health is Health.BROKEN} == {}
    assert result.returncode == 0
    assert signs["planted leak"].text == "found: GL402; 4 controls right"
    assert signs["its clean twin"].text == "clean; 4 controls right"
    assert signs["lab"].text == "ctx_keeps_output is never, ctx_keeps_detached_output is del on mini:torch-1.1"
    assert {
        "gradlife",
        "Python",
        "platform",
        "numpy",
        "rich",
        "the heap graph",
        "the mini engine",
        "next edges",
    } <= set(signs)
    assert signs["the heap graph"].text.partition(": ")[2].startswith(("release build for", "debug build for"))
    assert [name for name in signs if name.startswith("recorded:")] == [f"recorded:{name}" for name in recorded.ATLAS]
    assert signs["environments"].health is Health.ABSENT


@pytest.mark.whole
@pytest.mark.scan
def test_without_torch_the_rest_is_examined_and_well(tmp_path: Path) -> None:
    result = doctor(tmp_path, "--json", "-", sitecustomize="import sys; sys.modules['torch'] = None")
    signs = signs_of(result)
    assert (result.returncode, signs["torch"].health) == (0, Health.ABSENT)
    assert signs["planted leak"].text == "found: GL512; 0 controls right"
    assert signs["its clean twin"].text == "clean; 0 controls right"
    assert "next edges" not in signs


@pytest.mark.whole
@pytest.mark.scan
@pytest.mark.parametrize(
    ("source", "name", "text", "remedy"),
    [
        (
            "raise RuntimeError('two\\nlines')",
            "torch",
            "cannot be imported: RuntimeError: two lines",
            "reinstall torch",
        ),
        ("import sys; sys.exit(7)", "torch", "cannot be imported: SystemExit: 7", "--force-reinstall torch"),
        ("from torch import nothing", "torch", "cannot be imported: ImportError", "--force-reinstall torch"),
        ("x = 1", "torch", "what is imported as torch is not PyTorch", "rename the torch.py"),
        (
            "import os; print('last words', flush=True); os.abort()",
            "examination in a child",
            "importing torch: the process was killed by SIGABRT; printed last: last words",
            "make `python -c 'import torch'` work",
        ),
        (
            "import os; os._exit(3)",
            "examination in a child",
            "importing torch: the process ended with status 3",
            "make",
        ),
    ],
)
def test_a_torch_that_breaks_is_reported_with_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, name: str, text: str, remedy: str
) -> None:
    checkup = asked(tmp_path, monkeypatch, torch=source)
    (sign,) = checkup.problems
    assert (sign.name, sign.health, checkup.exit_status) == (name, Health.BROKEN, 1)
    assert sign.text.startswith(text)
    assert remedy in sign.remedy


@pytest.mark.whole
@pytest.mark.scan
def test_a_torch_that_raises_leaves_the_rest_examined_and_no_traceback(tmp_path: Path) -> None:
    result = doctor(tmp_path, torch="raise RuntimeError('two\\nlines')")
    assert (result.returncode, result.stderr) == (1, "")
    assert "  ✘ torch: cannot be imported: RuntimeError: two lines\n    try: pip install" in result.stdout
    assert result.stdout.splitlines()[-1] == "NOT WELL: 1 thing that gradlife relies on"


@pytest.mark.scan
def test_a_file_that_stands_in_the_place_of_torch_is_to_be_renamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (sign,) = asked(tmp_path, monkeypatch, torch_file="import nowhere_to_be_found").problems
    assert sign.text.startswith("cannot be imported: ModuleNotFoundError: No module named 'nowhere_to_be_found'")
    assert sign.remedy == "rename the torch.py, or the folder torch, where you work"


@pytest.mark.whole
@pytest.mark.torch
def test_a_torch_that_never_answers_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "torch.py").write_text("import time\nwhile True:\n    time.sleep(1)\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    (sign,) = child.ask_child(time_limit=4)
    assert sign.text in ("importing torch: no answer within 4 s", "starting: no answer within 4 s")


@pytest.mark.parametrize("profile", ["torch-1.1", "torch-2.10", "torch-2.13"])
def test_a_ctx_is_read_while_its_node_lives(profile: str) -> None:
    """A release before 2.13 frees what a ctx saved as soon as the output is dropped."""
    with engine.profile(profile):
        looks = [NAMES[name][2](engine) for name in ("ctx.saved_tensors", "ctx.__dict__")]
    assert (looks[0].tolist(), looks[1]) == ([1.0, 1.0], "kept")


def test_an_extension_that_is_missing_is_one_problem_and_no_child_is_asked(
    gradlife: Gradlife, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "gradlife._engine", None)
    monkeypatch.setattr(child, "ask_child", lambda: pytest.fail("asked"))
    status, output, errors = gradlife("doctor", "--json", "-")
    problems = json.loads(output)["problems"]
    assert (status, errors) == (1, "")
    assert [(one["name"], one["health"]) for one in problems] == [("the mini engine", "broken")]
    assert problems[0]["remedy"].startswith("make build")


def test_what_an_examination_raises_is_a_sign() -> None:
    def look() -> list[Sign]:
        raise ValueError("no such luck")

    (sign,) = examination.guarded("Versions", look)  # type: ignore[arg-type]
    assert (sign.health, sign.text) == (Health.BROKEN, "the examination failed: ValueError: no such luck")


def test_wrong_input_of_an_examination_keeps_its_own_remedy() -> None:
    def look() -> list[Sign]:
        raise UsageError("GRADLIFE_PROFILE: unknown profile 'torch-2.1'", "torch-2.13")

    (sign,) = examination.guarded("Versions", look)  # type: ignore[arg-type]
    assert (sign.health, sign.text) == (Health.BROKEN, "GRADLIFE_PROFILE: unknown profile 'torch-2.1'")
    assert sign.remedy == "torch-2.13"


def test_a_damaged_or_missing_recording_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "torch-1.1.0.json").write_text("{", encoding="utf-8")
    monkeypatch.setattr(recorded, "folder", lambda: tmp_path)
    signs = {sign.name: sign for sign in stories_recordings.recordings()}
    assert signs["recorded:torch-1.1.0"].health is Health.LESS
    assert signs["recorded:torch-2.13.0"].text == "is missing"
    assert signs["recorded:torch-2.13.0"].remedy == stories_recordings.REINSTALL


def test_an_environment_without_its_interpreter_is_reported(tmp_path: Path) -> None:
    (tmp_path / "home" / "environments" / "old").mkdir(parents=True)
    write_record(Environment("old", sys.executable, ("torch==1.1.0",), "3.7.16", "torch", "1.1.0"))
    (sign,) = stories_recordings.environments()
    assert (sign.name, sign.health) == ("environment old", Health.LESS)
    assert sign.text == "torch 1.1.0 on Python 3.7.16: its interpreter is missing"
    assert sign.remedy == "gradlife env remove old, then gradlife env add old ..."


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_examined(
    gradlife: Gradlife, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gradlife.cli.doctor.examine", lambda: pytest.fail("examined"))
    status, output, errors = gradlife("doctor", "--json", str(tmp_path / "no" / "file"))
    assert (status, output) == (2, "")
    assert errors.startswith(f"gradlife: error: cannot write {tmp_path}/no/file: no such file or directory")


SICK = Checkup(
    (
        Sign("Versions", "gradlife", "0.1.0"),
        Sign("Versions", "memray", "not installed", Health.ABSENT),
        Sign("PyTorch", "next edges", "not found: edges_in_node", Health.BROKEN, "another release"),
        Sign("This machine", "malloc", "malloc reports nothing", Health.LESS, "glibc"),
    )
)


VERDICT = "NOT WELL: 1 thing that gradlife relies on; 1 thing that gradlife can do without,\n          and tells less\n"


def test_the_report_begins_with_the_verdict_and_ends_with_the_problems_and_the_verdict() -> None:
    assert printed(lambda console: print_checkup(console, SICK)) == (
        f"{VERDICT}\n"
        "Versions\n"
        "  ✔ gradlife  0.1.0\n"
        "  · memray    not installed\n"
        "\n"
        "PyTorch\n"
        "  ✘ next edges  not found: edges_in_node\n"
        "\n"
        "This machine\n"
        "  ! malloc  malloc reports nothing\n"
        "\n"
        "To fix\n"
        "  ✘ next edges: not found: edges_in_node\n"
        "    try: another release\n"
        "  ! malloc: malloc reports nothing\n"
        "    try: glibc\n"
        "\n"
        f"{VERDICT}"
    )


def test_a_section_of_many_alike_signs_takes_one_line() -> None:
    many = Checkup(tuple(Sign("Readers", f"reader {n}", "can be read") for n in range(30)))
    text = printed(lambda console: print_checkup(console, many))
    assert text.startswith("well: 30 things looked at\n\nReaders\n  ✔ 30 of 30: reader 0, reader 1, ")
    assert text.endswith("\nwell: 30 things looked at\n")


def test_json_has_the_status_the_problems_and_every_sign() -> None:
    document = json.loads(checkup_text(SICK))
    assert (document["format"], document["exit_status"]) == ("gradlife.doctor/1", 1)
    assert [one["name"] for one in document["problems"]] == ["next edges", "malloc"]
    assert list(document["sections"]) == ["Versions", "PyTorch", "This machine"]
    assert [decode(encode(sign)) for sign in SICK.signs] == list(SICK.signs)


def test_only_what_is_broken_makes_the_exit_status_1() -> None:
    assert SICK.exit_status == 1
    assert Checkup(SICK.signs[:2] + SICK.signs[3:]).exit_status == 0


def test_the_child_imports_nothing_from_the_working_folder(tmp_path: Path) -> None:
    """A `json.py` beside the user ran when the installation was examined."""
    (tmp_path / "json.py").write_text("import pathlib\npathlib.Path('it-ran').touch()\nloads = print\n")
    command = [sys.executable, "-c", child.PROGRAM, "0", "[]"]  # without a path it cannot import its own part
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=900)
    assert "No module named" in done.stderr
    assert not (tmp_path / "it-ran").exists()
