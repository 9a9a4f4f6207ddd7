"""An interpreter says what it is, or one line says what it did instead."""

from __future__ import annotations

import platform
import sys
import sysconfig
import time
from pathlib import Path

import pytest

from gradlife.environments import ask_interpreter
from gradlife.environments.ask_interpreter import Interpreter, InterpreterError, ask, child_environment
from interpreters import TORCH, make_environment, make_script, old_python
from processes import open_descriptors


def refusal(path: str, framework: str = "torch") -> str:
    with pytest.raises(InterpreterError) as caught:
        ask(path, framework, "it")
    assert caught.value.exit_status == 2
    assert "\n" not in caught.value.message
    assert caught.value.hint
    return caught.value.message


def test_an_interpreter_shows_its_version_its_platform_and_its_frameworks_version(tmp_path: Path) -> None:
    path = make_environment(tmp_path / "env", torch=TORCH)
    assert ask(path, "torch") == Interpreter(
        path,
        platform.python_version(),
        f"{platform.system()} {platform.machine()}",
        sysconfig.get_config_var("SOABI"),
        ("torch",),
        "torch",
        "1.1.0",
    )


def test_without_a_framework_it_shows_which_are_there_and_imports_none(tmp_path: Path) -> None:
    path = make_environment(tmp_path / "env", oneflow="raise ValueError")
    assert ask(path).frameworks == ("oneflow",)
    assert ask(make_environment(tmp_path / "bare")).frameworks == ()


def test_an_old_interpreter_answers_too(tmp_path: Path) -> None:
    found = ask(make_environment(tmp_path / "env", old_python(7), torch=TORCH), "torch")
    assert (found.python[:4], found.version) == ("3.7.", "1.1.0")


def test_an_interpreter_without_the_framework_names_the_one_that_it_has(tmp_path: Path) -> None:
    path = make_environment(tmp_path / "env", oneflow="__version__ = '0.9.0'")
    with pytest.raises(InterpreterError) as caught:
        ask(path, "torch", "flow")
    assert str(caught.value) == "flow has no torch (try: oneflow@flow)"
    assert refusal(make_environment(tmp_path / "bare")) == "it has no torch"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import nowhere", "it does not import torch: ModuleNotFoundError: No module named 'nowhere'"),
        ("raise OSError('libcudnn.so.8:\\n gone')", "it does not import torch: OSError: libcudnn.so.8: gone"),
        ("import sys; sys.exit(3)", "it does not import torch: SystemExit: 3"),
        ("import os; os._exit(3)", "it does not import torch: it ended with exit code 3"),
        (
            "import os, signal; print('last words', flush=True); os.kill(os.getpid(), signal.SIGSEGV)",
            "it does not import torch: it was killed by SIGSEGV: last words",
        ),
        ("import os; os.closerange(3, 1024)", "it does not import torch: it ended with exit code 1: "),
        ("x = 1", "it has a torch without a version"),
        ("__version__ = 'soon'", "it has a torch without a version"),
        ("__name__ = 'oneflow.mock_torch'; __version__ = '0.9.0'", "it calls its torch 'oneflow'"),
        ("class Tensor: pass\nTensor.__module__ = 'oneflow'", "it calls its torch 'oneflow'"),
        ("__name__ = 'paddle'", "it calls its torch 'paddle'"),
    ],
)
def test_a_framework_that_is_not_what_was_asked_for_is_one_line(tmp_path: Path, source: str, message: str) -> None:
    assert refusal(make_environment(tmp_path / "env", torch=source)).startswith(message)


def test_a_framework_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ask_interpreter, "IMPORT_LIMIT", 0.5)
    path = make_environment(tmp_path / "env", torch="import time; time.sleep(3600)")
    assert refusal(path) == "it does not import torch in 0.5 s"


def test_a_framework_that_closes_the_descriptor_and_goes_on_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ask_interpreter, "END_LIMIT", 0.1)
    path = make_environment(tmp_path / "env", torch="import os, time; os.closerange(3, 1024); time.sleep(3600)")
    assert refusal(path) == "it does not import torch: it closed its answer descriptor"


def test_an_interpreter_that_says_nothing_is_given_up_with_all_that_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ask_interpreter, "START_LIMIT", 0.5)
    started = time.monotonic()
    assert refusal(make_script(tmp_path / "python", "sleep 3600 & sleep 3600")) == "it says nothing in 0.5 s"
    assert time.monotonic() - started < 1800


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_flood_of_output_is_swallowed(tmp_path: Path, stream: str) -> None:
    flood = f"import sys\nfor n in range(40000): print('x' * 100, file=sys.{stream})\n"
    assert ask(make_environment(tmp_path / "env", torch=flood + TORCH), "torch").version == "1.1.0"


def test_an_endless_flood_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ask_interpreter, "START_LIMIT", 0.5)
    assert refusal(make_script(tmp_path / "python", "while :; do echo flood; done")) == "it says nothing in 0.5 s"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("exit 0", "it says nothing: it ended with exit code 0"),
        ("echo oh; echo no >&2; exit 4", "it says nothing: it ended with exit code 4: no"),
        ("echo garbage > /dev/fd/$3", "it is not a Python interpreter"),
        ("echo [] > /dev/fd/$3", "it is not a Python interpreter"),
        ("echo {} > /dev/fd/$3", "it is not a Python interpreter"),
    ],
)
def test_what_is_no_python_is_one_line(tmp_path: Path, line: str, message: str) -> None:
    assert refusal(make_script(tmp_path / "python", line)) == message


def test_answers_of_another_implementation_and_of_an_old_version_are_refused(tmp_path: Path) -> None:
    facts = '{"python": "%s", "version": %s, "implementation": "%s", "platform": "", "abi": ""}'
    for number, (answer, message) in enumerate(
        [
            (facts % ("3.10.1", "[3, 10]", "PyPy"), "it is PyPy, which does not count references: use CPython"),
            (facts % ("3.6.15", "[3, 6]", "CPython"), "it is Python 3.6.15, and the oldest supported is 3.7"),
        ]
    ):
        file = tmp_path / f"answer{number}"
        file.write_text(answer + "\n", encoding="utf-8")
        assert refusal(make_script(tmp_path / f"python{number}", f"cat {file} > /dev/fd/$3")) == message


def test_a_path_without_an_interpreter_is_one_line(tmp_path: Path) -> None:
    assert refusal(str(tmp_path / "nowhere")) == "it does not start: no such file or directory"
    plain = tmp_path / "plain"
    plain.write_text("", encoding="utf-8")
    assert refusal(str(plain)) == "it does not start: permission denied"
    plain.chmod(0o755)
    assert refusal(str(plain)) == "it does not start: exec format error"
    assert refusal("a\0b") == "it does not start: embedded null byte"


def test_modules_of_the_folder_that_it_starts_in_have_no_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make_environment(tmp_path / "env", torch=TORCH)
    for name in ("json", "platform", "sysconfig", "torch"):
        (tmp_path / f"{name}.py").write_text("raise ValueError", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert ask(path, "torch").version == "1.1.0"


def test_a_child_gets_its_own_packages_and_the_libraries_of_their_wheels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/mine")
    libraries = tmp_path / "lib" / "python3.7" / "site-packages" / "nvidia" / "cudnn" / "lib"
    libraries.mkdir(parents=True)
    environment = child_environment(str(tmp_path / "bin" / "python"))
    assert "PYTHONPATH" not in environment
    assert environment["LD_LIBRARY_PATH"] == f"/mine:{libraries}"
    assert child_environment(sys.executable).get("LD_LIBRARY_PATH", "").startswith("/mine")


def test_asking_leaves_no_descriptor_open(tmp_path: Path) -> None:
    path = make_environment(tmp_path / "env", torch=TORCH)
    before = open_descriptors()
    ask(path, "torch")
    refusal(str(tmp_path / "nowhere"))
    assert open_descriptors() <= before


def test_threads_that_a_framework_starts_are_reported_and_those_of_its_libraries_kept_to_one(tmp_path: Path) -> None:
    text = TORCH + "import os\n__version__ = '1.' + os.environ['OPENBLAS_NUM_THREADS']\n"
    found = ask(make_environment(tmp_path / "env", torch=text), "torch")
    assert (found.version, found.is_threaded) == ("1.1", False)
    thread = "import threading, time\nthreading.Thread(target=time.sleep, args=(3600,), daemon=True).start()\n"
    assert ask(make_environment(tmp_path / "threaded", torch=thread + TORCH), "torch").is_threaded


def test_another_interpreter_opens_no_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker of an old release imports gradlife from an archive without what serving needs."""
    monkeypatch.setenv("GRADLIFE_SERVE", "1")
    assert "GRADLIFE_SERVE" not in child_environment(sys.executable)
