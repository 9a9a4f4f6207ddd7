"""Temporary folders: those of commands that were killed are removed by the next one, and no others."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from gradlife.hunting.process.own_folders import FOLLOW, HUNT, LOCK, OwnFolder, keep_folder, remove_abandoned

#: Makes a folder and ends in this way, or keeps one that it is given.
HOLDER = """\
import os, sys
from gradlife.hunting.process.own_folders import HUNT, OwnFolder, keep_folder
if sys.argv[1:]:
    keep_folder(sys.argv[1])
    print("keeps it", flush=True)
    sys.stdin.read()
else:
    folder = OwnFolder(HUNT)
    print(folder.name, flush=True)
    os.kill(os.getpid(), 9)
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which this process and those that it starts make their temporary folders."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def sweep() -> None:
    """Remove what a new command would remove."""
    remove_abandoned.__wrapped__(tempfile.gettempdir())


def killed() -> Path:
    """Return the folder of a command that was killed."""
    done = subprocess.run([sys.executable, "-c", HOLDER], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == -9
    return Path(done.stdout.strip())


def test_the_folder_of_a_command_that_was_killed_is_removed_by_the_next_one() -> None:
    left = killed()
    (left / "report").write_text("a report")
    assert left.exists()
    sweep()
    assert not left.exists()


def test_a_folder_in_use_stays_and_is_removed_at_its_end(temporary: Path) -> None:
    with OwnFolder(HUNT) as folder:
        sweep()
        assert os.listdir(folder) == [LOCK]
    assert os.listdir(temporary) == []


def test_a_folder_stays_as_long_as_the_program_that_outlives_its_watcher() -> None:
    left = killed()
    program = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(left)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert program.stdout is not None
    assert program.stdout.readline() == "keeps it\n"
    sweep()
    assert left.exists()
    program.communicate()
    sweep()
    assert not left.exists()


def test_what_only_looks_like_an_own_folder_stays(temporary: Path) -> None:
    """A folder without a lock may be of an older gradlife, which is running; a link leads anywhere."""
    (temporary / f"{HUNT}unlocked").mkdir()
    (temporary / f"{HUNT}file").write_text("")
    (temporary / "elsewhere").mkdir()
    (temporary / "elsewhere" / LOCK).write_text("")
    (temporary / f"{HUNT}link").symlink_to(temporary / "elsewhere")
    (temporary / f"{HUNT}linked-lock").mkdir()
    (temporary / f"{HUNT}linked-lock" / LOCK).symlink_to(temporary / "elsewhere" / LOCK)
    before = sorted(path.name for path in temporary.rglob("*"))
    sweep()
    assert sorted(path.name for path in temporary.rglob("*")) == before


def test_a_folder_for_a_socket_is_removed_in_its_own_place(tmp_path: Path, temporary: Path) -> None:
    place = tmp_path / "short"
    place.mkdir()
    left = killed().rename(place / f"{FOLLOW}abandoned")
    with OwnFolder(FOLLOW, str(place)) as folder:
        assert (Path(folder).parent, left.exists(), os.listdir(temporary)) == (place, False, ["short"])


def test_a_folder_that_is_no_own_one_cannot_be_kept(tmp_path: Path) -> None:
    keep_folder(str(tmp_path))
    assert os.listdir(tmp_path) == []
