"""Programs that a hunt can run: a module, a console script on PATH, and what a launcher starts."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gradlife.errors import UsageError
from gradlife.hunting.steps.targets import ModuleTarget, ScriptTarget, interpreter_of, parse

pytestmark = pytest.mark.usefixtures("folder_on_path")

#: Keeps a function a step, which is a leak without torch.
TRAIN = """\
import sys

kept = []

def step():
    kept.append(lambda: None)

def main(count):
    for _ in range(count):
        step()
    print(__name__, __file__, __package__, sys.argv, sys.path[0], sep="|")

if __name__ == "__main__":
    main(int(sys.argv[1]))
"""

#: A pool of threads is never shut down.
POOL = """\
from concurrent.futures import ThreadPoolExecutor

pool = ThreadPoolExecutor(1)
print(pool.submit(lambda: 1).result())
"""

#: Starts another Python, as launchers do, and hands its status on.
LAUNCHER = """\
import subprocess, sys
sys.exit(subprocess.run([sys.executable, *sys.argv[1:]]).returncode)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    package = tmp_path / "package"
    (package / "inner").mkdir(parents=True)
    for path in (package / "__init__.py", package / "inner" / "__init__.py"):
        path.write_text("")
    (package / "train.py").write_text(TRAIN)
    (package / "__main__.py").write_text(TRAIN)
    command(tmp_path / "bin" / "launch", f"#!{sys.executable}\n{LAUNCHER}")
    command(tmp_path / "bin" / "trains", f"#!{sys.executable}\n{TRAIN}")
    return tmp_path


def command(path: Path, text: str) -> str:
    """An executable file."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def gradlife(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(folder / "bin"), os.environ["PATH"]])
    return subprocess.run(
        [sys.executable, "-m", "gradlife", *words],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=900,
    )


def hunt(folder: Path, *words: str) -> tuple[int, str, dict[str, Any]]:
    """Exit status, the program's output, and the report."""
    done = gradlife(folder, "hunt", "--json", "report.json", *words)
    assert (folder / "report.json").exists(), done.stderr
    return done.returncode, done.stdout, json.loads((folder / "report.json").read_text())


def test_a_module_sees_what_python_m_shows_it(folder: Path) -> None:
    bare = subprocess.run(
        [sys.executable, "-m", "package.train", "120", "-x"], cwd=folder, capture_output=True, text=True, check=True
    )
    status, output, report = hunt(folder, "--step-on", "__main__:step", "-m", "package.train", "120", "-x")
    assert output == bare.stdout
    assert (status, report["verdict"], report["target"]) == (0, "leak", "-m package.train")


def test_a_package_is_run_by_its_main_module(folder: Path) -> None:
    bare = subprocess.run(
        [sys.executable, "-m", "package", "7"], cwd=folder, capture_output=True, text=True, check=True
    )
    assert gradlife(folder, "hunt", "-m", "package", "7").stdout == bare.stdout


PLACES = "import sys\nprint(type(__builtins__).__name__, __builtins__.len, *sys.path[:2])\n"


@pytest.mark.parametrize("options", [{}, {"PYTHONSAFEPATH": "1"}], ids=["plain", "safe path"])
def test_a_script_finds_its_builtins_and_its_search_path_as_in_python(folder: Path, options: dict[str, str]) -> None:
    """`__builtins__` was a dict, and with `-P` an entry of PYTHONPATH was lost."""
    (folder / "places.py").write_text(PLACES)
    env = {**os.environ, "PYTHONPATH": str(folder / "package"), **options}
    bare = subprocess.run(
        [sys.executable, "places.py"], cwd=folder, env=env, capture_output=True, text=True, check=True
    )
    for door in (["snapshot", "-o", "x.glheap"], ["hunt"]):
        done = subprocess.run(
            [sys.executable, "-m", "gradlife", *door, "places.py"], cwd=folder, env=env, capture_output=True, text=True
        )
        assert done.stdout == bare.stdout, done.stderr


def test_a_script_has_its_absolute_path_and_the_arguments_as_given(folder: Path) -> None:
    bare = subprocess.run(
        [sys.executable, "package/train.py", "7"], cwd=folder, capture_output=True, text=True, check=True
    )
    assert gradlife(folder, "hunt", "package/train.py", "7").stdout == bare.stdout


@pytest.mark.parametrize(
    ("name", "words"),
    [("nomodule", "there is no module nomodule"), ("package.inner", "package.inner is a package without a __main__")],
)
def test_a_module_that_cannot_be_run_is_one_line(folder: Path, name: str, words: str) -> None:
    for door in (["hunt"], ["snapshot", "-o", "x.glheap"]):
        done = gradlife(folder, *door, "-m", name)
        assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1), done.stderr
        assert done.stderr.startswith(f"gradlife: error: {words} (try: ")


@pytest.mark.parametrize("name", ["failing", "failing.inner"])
def test_a_module_whose_package_fails_is_one_line(folder: Path, name: str) -> None:
    """The report said that C code had ended the program, or that it had become another one."""
    (folder / "failing").mkdir()
    (folder / "failing" / "__init__.py").write_text("1 / 0\n")
    for door in (["hunt"], ["snapshot", "-o", "x.glheap"], ["peak"]):
        done = gradlife(folder, *door, "-m", name)
        assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1), done.stderr
        assert "cannot be imported: ZeroDivisionError: division by zero (try: python -m failing" in done.stderr


@pytest.mark.parametrize("name", [".inner", "package..inner", "broken"])
def test_a_name_that_is_none_and_a_module_that_is_no_python_are_one_line(folder: Path, name: str) -> None:
    (folder / "broken.py").write_text("x = = 1\n")
    done = gradlife(folder, "hunt", "-m", name)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1), done.stderr
    assert done.stderr.startswith(("gradlife: error: there is no module ", "gradlife: error: the module broken is no "))


def test_a_snapshot_of_a_module_is_taken_at_its_end(folder: Path) -> None:
    done = gradlife(folder, "snapshot", "-o", "x.glheap", "-m", "package.train", "3")
    assert (done.returncode, done.stdout.split("|")[0]) == (0, "__main__")
    assert (folder / "x.glheap").exists()


def test_a_program_that_leaves_a_thread_pool_open_ends(folder: Path) -> None:
    """The idle workers of an executor wait for a function that Python calls before it waits for threads."""
    (folder / "pool.py").write_text(POOL)
    for door in (["hunt"], ["peak"], ["snapshot", "-o", "x.glheap"]):
        done = gradlife(folder, *door, "pool.py")
        assert done.stdout == "1\n", done.stderr


EXITS = """\
import sys, types
from gradlife.program.script import run_script

program = "import sys, threading, time\\ndef train():\\n    time.sleep(0.2)\\n    print('trained')\\n"
program += "threading.Thread(target=train).start()\\nsys.exit(3)"
print(run_script(compile(program, "program.py", "exec"), types.ModuleType("__main__")).status)
"""


def test_a_script_that_calls_exit_ends_after_its_threads(tmp_path: Path) -> None:
    """Its hunt ended, and its report was made, before the thread that trains had run."""
    done = subprocess.run([sys.executable, "-c", EXITS], capture_output=True, text=True, timeout=900, cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("trained\n3\n", "")


def test_a_console_script_on_path_is_hunted_in_this_process(folder: Path) -> None:
    status, output, report = hunt(folder, "--step-on", "__main__:step", "trains", "120", "--json")
    assert output.startswith(f"__main__|{folder}/bin/trains|None|['{folder}/bin/trains', '120', '--json']|")
    assert (status, report["verdict"]) == (0, "leak")


def test_the_process_that_a_launcher_starts_is_the_one_that_is_hunted(folder: Path) -> None:
    (folder / "steps.py").write_text("import package.train as train\ntrain.main(120)\n")
    status, output, report = hunt(folder, "--step-on", "package.train:step", "launch", "steps.py")
    assert output.startswith("package.train|")
    assert (status, report["verdict"], report["target"]) == (0, "leak", "launch")
    assert "global variable 'kept'" in report["findings"][0]["trace"]["text"]


def test_a_started_process_that_cannot_fork_at_its_end_writes_its_report_itself(folder: Path) -> None:
    (folder / "steps.py").write_text(
        "import os\nimport package.train as train\ndef refuse():\n    raise RuntimeError('no fork at the end')\n"
        "train.main(120)\nos.fork = refuse\n"
    )
    status, _, report = hunt(folder, "--step-on", "package.train:step", "launch", "steps.py")
    assert (status, report["verdict"], report["target"]) == (0, "leak", "launch")


def test_a_function_of_a_started_main_module_is_counted(folder: Path) -> None:
    (folder / "steps.py").write_text(TRAIN)
    status, output, report = hunt(folder, "--step-on", "__main__:step", "launch", "steps.py", "120")
    assert output.startswith("__main__|")
    assert (status, report["verdict"], report["stepped_by"]) == (0, "leak", "call of step")


def test_a_launcher_is_followed_where_a_folder_has_its_name(folder: Path) -> None:
    (folder / "launch").mkdir()
    (folder / "steps.py").write_text(TRAIN)
    status, output, report = hunt(folder, "--step-on", "__main__:step", "launch", "steps.py", "120", "--json")
    assert output.endswith(f"['steps.py', '120', '--json']|{folder}\n")
    assert (status, report["verdict"], report["target"]) == (0, "leak", "launch")


def test_so_many_steps_end_a_started_process_with_success(folder: Path) -> None:
    (folder / "steps.py").write_text("import package.train as train\ntrain.main(10**9)\n")
    status, output, report = hunt(folder, "--steps", "60", "--step-on", "package.train:step", "launch", "steps.py")
    assert (status, output, report["verdict"]) == (0, "", "leak")


def test_a_started_process_that_fails_keeps_its_status_and_its_report(folder: Path) -> None:
    (folder / "steps.py").write_text("import package.train as train\ntrain.main(120)\nraise ValueError('late')\n")
    status, _, report = hunt(folder, "--step-on", "package.train:step", "launch", "steps.py")
    assert (status, report["verdict"]) == (1, "leak")


def test_what_is_no_script_of_this_python_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    command(tmp_path / "binary", "\x7fELF")
    command(tmp_path / "foreign", "#!/opt/other/bin/python3\n")
    with pytest.raises(UsageError, match="is no Python program"):
        parse("binary")
    with pytest.raises(UsageError, match="belongs to another Python, /opt/other/bin/python3"):
        parse("foreign")


def test_a_command_goes_before_a_file_of_its_name_that_is_no_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.chdir(tmp_path)
    path = command(tmp_path / "bin" / "tool", "#!/usr/bin/env python3\n")
    (tmp_path / "tool").write_text("settings: 1\n")
    assert parse("tool") == ScriptTarget(path, (), is_command=True)
    assert parse("./tool") == ScriptTarget("./tool", ())
    (tmp_path / "tool").write_text("#!/usr/bin/env python3\n")
    assert parse("tool") == ScriptTarget("tool", (), is_command=True)


@pytest.mark.parametrize(
    ("head", "found"),
    [
        ("#!/usr/bin/env python3\n", "python3"),
        ("#!/usr/bin/env -S python3.11 -E\n", "python3.11"),
        ("#!/a/bin/python\n", "/a/bin/python"),
        ("#!/bin/sh\n'''exec' \"/a b/bin/python3\" \"$0\" \"$@\"\n' '''\n", "/a b/bin/python3"),
        ("#!/bin/sh\n'''exec' /long/bin/python3 \"$0\" \"$@\"\n' '''\n", "/long/bin/python3"),
        ("#!/bin/sh\npython3 x\n", None),
        ("", None),
    ],
)
def test_the_interpreter_of_a_script(tmp_path: Path, head: str, found: str | None) -> None:
    assert interpreter_of(command(tmp_path / "script", head)) == found


def test_a_module_is_a_target_with_its_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert parse("-m package.train", ("--lr", "3")) == ModuleTarget("package.train", ("--lr", "3"))
    monkeypatch.setenv("PATH", str(tmp_path))
    path = command(tmp_path / "tool", "#!/usr/bin/env python3\n")
    assert parse("tool", ("x",)) == ScriptTarget(path, ("x",), is_command=True)


#: Becomes another program: itself, with another environment. A stored loss keeps its graph.
AGAIN = """\
import os, sys
if "AGAIN" not in os.environ:
    os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "AGAIN": "1"})
import torch
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
losses = []
for _ in range(100):
    optimizer.zero_grad()
    losses.append(model(torch.randn(4, 8)).sum())
    losses[-1].backward()
    optimizer.step()
"""


@pytest.mark.whole
def test_a_script_that_starts_itself_again_in_its_process_is_hunted_in(tmp_path: Path) -> None:
    """The hunt ended with "the program left no report"."""
    pytest.importorskip("torch")
    (tmp_path / "train.py").write_text(AGAIN)
    done = gradlife(tmp_path, "hunt", "--json", "report.json", "train.py")
    report = json.loads((tmp_path / "report.json").read_text())
    assert (done.returncode, report["verdict"], report["trouble"]) == (1, "leak", "")
    assert [one["code"] for one in report["findings"]] == ["GL402"]
