"""Environments are made by pip from local wheels here; an interrupted one continues, a mistake is one line."""

from __future__ import annotations

import fcntl
import os
import platform
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from gradlife.environments import add as adding
from gradlife.environments.add import add, remove
from gradlife.environments.install import InstallError
from gradlife.environments.listing import listed
from gradlife.environments.places import environments_folder
from gradlife.environments.records import FILE, environments, interpreter_of, read_record
from gradlife.errors import UnknownNameError, UsageError
from interpreters import TORCH, make_script, old_python

Wheel = Callable[..., None]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for environments, and nothing of an index."""
    for variable in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("GRADLIFE_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "environments"


@pytest.fixture
def wheel(tmp_path: Path) -> Wheel:
    """Writes a wheel of one module where pip looks."""

    def write(name: str, version: str, source: str, python: str = "py3") -> None:
        info = f"{name}-{version}.dist-info"
        with zipfile.ZipFile(tmp_path / f"{name}-{version}-{python}-none-any.whl", "w") as archive:
            archive.writestr(f"{name}.py", source)
            archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
            archive.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {python}-none-any\n")
            archive.writestr(f"{info}/RECORD", "")

    return write


def refusal(name: str, base: str, *packages: str) -> UsageError:
    with pytest.raises(UsageError) as caught:
        add(name, base, packages)
    assert "\n" not in caught.value.message
    assert caught.value.hint
    return caught.value


@pytest.mark.whole
def test_an_environment_is_made_listed_found_and_removed(
    wheel: Wheel, home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    wheel("torch", "1.1.0", TORCH)
    wheel("numpy", "1.16.6", "")
    made = add("old", sys.executable, ["torch==1.1.0", "numpy==1.16.6"])
    assert (made.framework, made.version, made.python, made.is_ready) == (
        "torch",
        "1.1.0",
        platform.python_version(),
        True,
    )
    assert "Successfully installed numpy-1.16.6 torch-1.1.0" in capfd.readouterr().err
    assert interpreter_of("old") == str(home / "old" / "bin" / "python")
    (info,) = listed()
    assert (info.name, info.path, info.packages) == ("old", str(home / "old"), ("torch==1.1.0", "numpy==1.16.6"))
    assert info.bytes > 100_000

    inode = os.stat(home / "old" / FILE).st_ino
    assert add("old", sys.executable, ["torch==1.1.0", "numpy==1.16.6"]) == made
    assert os.stat(home / "old" / FILE).st_ino == inode
    error = refusal("old", sys.executable, "torch==1.2.0")
    assert error.message == (
        f"old exists already, with torch==1.1.0 numpy==1.16.6 on Python {platform.python_version()}"
    )
    remove("old")
    assert listed() == ()
    assert list(home.iterdir()) == []


@pytest.mark.whole
def test_an_environment_of_an_older_python(wheel: Wheel) -> None:
    wheel("torch", "1.1.0", TORCH)
    assert add("old", old_python(7), ["torch==1.1.0"]).python.startswith("3.7.")


@pytest.mark.whole
def test_what_was_broken_off_goes_on_when_it_is_typed_again(
    wheel: Wheel, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel("torch", "1.1.0", TORCH)

    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(adding, "install", interrupted)
        with pytest.raises(KeyboardInterrupt):
            add("old", sys.executable, ["torch==1.1.0"])
    (known,) = environments()
    assert not known.is_ready
    with pytest.raises(UsageError) as caught:
        interpreter_of("old")
    assert caught.value.message == "the installation of old was interrupted"
    assert caught.value.hint == f"gradlife env add old --python {sys.executable} torch==1.1.0"
    config = home / "old" / "pyvenv.cfg"
    before = config.stat().st_mtime_ns
    assert add("old", sys.executable, ["torch==1.1.0"]).is_ready
    assert config.stat().st_mtime_ns == before


@pytest.mark.whole
def test_a_release_that_there_is_not_for_this_python_is_a_mistake_and_leaves_nothing(wheel: Wheel, home: Path) -> None:
    wheel("torch", "1.1.0", TORCH, python="cp27")
    error = refusal("old", sys.executable, "torch==1.1.0")
    assert isinstance(error, InstallError)
    assert error.message.startswith("pip could not install torch==1.1.0: ERROR: Could not find a version")
    assert error.message.endswith("ERROR: No matching distribution found for torch==1.1.0")
    assert error.hint == "a version for this Python, or a Python for this version: --python PATH"
    assert error.exit_status == 2
    assert list(home.iterdir()) == []


@pytest.mark.whole
def test_a_framework_that_does_not_import_leaves_the_rest_to_be_added(wheel: Wheel, home: Path) -> None:
    wheel("torch", "1.1.0", "import numpy\n" + TORCH)
    wheel("numpy", "1.16.6", "")
    error = refusal("old", sys.executable, "torch==1.1.0")
    assert error.message == "old does not import torch: ModuleNotFoundError: No module named 'numpy'"
    assert (home / "old" / FILE).exists()
    assert add("old", sys.executable, ["torch==1.1.0", "numpy==1.16.6"]).is_ready


@pytest.mark.whole
def test_an_environment_without_a_framework_is_none(wheel: Wheel) -> None:
    wheel("numpy", "1.16.6", "")
    error = refusal("old", sys.executable, "numpy==1.16.6")
    assert error.message == "old has neither torch nor oneflow"


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "-a", "a b", "ä", "a" * 65, ".removing-a", "a\n"])
def test_a_bad_name_is_refused(name: str, home: Path) -> None:
    assert "is not a valid name for an environment" in refusal(name, sys.executable, "torch").message
    assert not home.exists()


@pytest.mark.parametrize("package", ["", " ", "-r", "--index-url=x"])
def test_an_option_is_no_package(package: str) -> None:
    assert refusal("old", sys.executable, package).message == f"{package!r} is not a package"


def test_a_base_that_is_no_interpreter_is_one_line(tmp_path: Path, home: Path) -> None:
    nowhere = str(tmp_path / "nowhere")
    assert refusal("old", nowhere, "torch").message == f"{nowhere} does not start: no such file or directory"
    assert refusal("old", "no-such-python", "torch").message == "there is no command 'no-such-python'"
    silent = make_script(tmp_path / "python", "exit 3")
    assert refusal("old", silent, "torch").message == f"{silent} says nothing: it ended with exit code 3"
    assert not home.exists()


def test_a_folder_of_somebody_else_is_left_alone(home: Path) -> None:
    (home / "old").mkdir(parents=True)
    (home / "old" / "thesis.txt").write_text("all of it", encoding="utf-8")
    assert "not an environment of gradlife" in refusal("old", sys.executable, "torch").message
    with pytest.raises(UnknownNameError):
        remove("old")
    assert (home / "old" / "thesis.txt").exists()
    assert listed() == ()


def test_two_cannot_work_on_one_environment(home: Path) -> None:
    (home / "old").mkdir(parents=True)
    descriptor = os.open(home / "old", os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        assert refusal("old", sys.executable, "torch").message == "another gradlife works on old"
    finally:
        os.close(descriptor)


def test_a_record_that_cannot_be_read_is_no_environment_but_can_be_removed(home: Path) -> None:
    for text in ("", "[]", '{"name": 1}', "\xff"):
        (home / "old").mkdir(parents=True, exist_ok=True)
        (home / "old" / FILE).write_text(text, encoding="latin-1")
        assert read_record("old") is None
        assert environments() == ()
    remove("old")
    assert list(home.iterdir()) == []


@pytest.mark.whole
def test_an_unknown_environment_has_its_nearest_one(home: Path, wheel: Wheel) -> None:
    wheel("torch", "1.1.0", TORCH)
    add("old", sys.executable, ["torch==1.1.0"])
    with pytest.raises(UnknownNameError) as caught:
        remove("olt")
    assert str(caught.value) == "unknown environment 'olt' (try: old)"


def test_environments_are_in_the_users_data_folder_by_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("GRADLIFE_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert environments_folder() == tmp_path / "gradlife" / "environments"
    monkeypatch.setenv("XDG_DATA_HOME", "not/absolute")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert environments_folder() == tmp_path / ".local" / "share" / "gradlife" / "environments"
