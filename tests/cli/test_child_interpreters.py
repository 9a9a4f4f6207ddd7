from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gradlife.model import codec
from interpreters import TORCH, make_environment
from written import besides_files

Gradlife = Callable[..., tuple[int, str, str]]


def test_another_interpreter_is_a_system_as_any_other(gradlife: Gradlife, stories: str, tmp_path: Path) -> None:
    name = "torch@" + make_environment(tmp_path / "env", torch=TORCH)
    file = tmp_path / "run.json"
    status, output, errors = gradlife("run", stories, "--backend", name, "--against", "fake", "--json", str(file))
    assert (status, besides_files(errors)) == (0, "")
    assert f"[2]{name}torch1.1.0" in "".join(output.split())
    report = codec.loads(file.read_text(encoding="utf-8"))
    assert [(system.name, system.version) for system in report.systems] == [(name, "1.1.0"), ("fake", "1.0")]
    assert {run.outcome for run in report.runs} == {"ok"}
    status, _, errors = gradlife("run", stories, "--backend", "fake", "--against", name)
    assert (status, errors) == (0, "")


def test_an_interpreter_that_cannot_be_had_is_one_line_before_anything_runs(
    gradlife: Gradlife, stories: str, tmp_path: Path
) -> None:
    bare = make_environment(tmp_path / "bare")
    for name, message in {
        f"torch@{bare}": f"{bare} has no torch (try: gradlife env add NAME --python PATH torch==VERSION)",
        f"torch@{tmp_path}": f"{tmp_path} is a folder without bin/python (try: give the path of a Python interpreter)",
        "torch@": "'torch@' names no interpreter (try: torch@PATH, or torch@NAME of an environment: gradlife env list)",
        "tosch@x": "unknown framework 'tosch' (try: torch)",
        "torch@nowhere": "unknown environment 'nowhere' (try: see gradlife env list, or give a path such as ./venv/bin/python)",
    }.items():
        assert gradlife("run", stories, "--backend", name) == (2, "", f"gradlife: error: {message}\n")


def test_the_folder_of_an_environment_stands_for_its_interpreter(
    gradlife: Gradlife, stories: str, tmp_path: Path
) -> None:
    make_environment(tmp_path / "env", torch=TORCH)
    status, output, _ = gradlife("run", stories, "--backend", f"torch@{tmp_path / 'env'}")
    assert status == 0
    assert "@env" in output
