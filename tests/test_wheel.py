"""The contents of the wheel and the source distribution: everything that gradlife reads beside its code, and no more."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

from sources import ROOT

pytest.importorskip("scikit_build_core", reason="no build backend here: nothing was packed")

BUILD = """
import sys
from scikit_build_core.build import build_sdist, build_wheel
settings = {"wheel.cmake": "false", "build-dir": sys.argv[1] + "/cmake"}  # nothing is compiled
build_sdist(sys.argv[1], settings)
build_wheel(sys.argv[1], settings)
"""

#: Files of the package that are no code, and what reads them.
DATA = ("*.html", "*.css", "*.js", "*.json", "*.toml", "*.tcss", "*.pyi", "py.typed")


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both."""
    folder = tmp_path_factory.mktemp("packed")
    command = [sys.executable, "-c", BUILD, str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(packed: Path) -> zipfile.ZipFile:
    (file,) = packed.glob("*.whl")
    return zipfile.ZipFile(file)


@pytest.fixture(scope="module")
def sdist(packed: Path) -> set[str]:
    """The names of the files in the source distribution, without the folder that all are in."""
    (file,) = packed.glob("*.tar.gz")
    with tarfile.open(file) as archive:
        return {member.name.partition("/")[2] for member in archive if member.isfile()}


def data_files() -> set[str]:
    """Return the data files beside the code of the package."""
    found = {path for pattern in DATA for path in (ROOT / "gradlife").rglob(pattern)}
    return {path.relative_to(ROOT).as_posix() for path in found}


def test_the_wheel_holds_templates_recordings_tables_and_the_mark_of_types(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    assert data_files() - names == set()
    assert {"gradlife/py.typed", "gradlife/recordings/torch-1.1.0.json", "gradlife/patterns/known_leaks.toml"} <= names
    assert any(name.startswith("gradlife/reports/html/templates/") for name in names)


def test_the_wheel_holds_every_module_and_nothing_but_gradlife(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    modules = {path.relative_to(ROOT).as_posix() for path in (ROOT / "gradlife").rglob("*.py")}
    assert modules - names == set()
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"gradlife"}
    assert not [name for name in names if "__pycache__" in name or name.endswith((".cpp", ".hpp"))]


def test_the_wheel_knows_its_version_and_how_it_is_licensed(wheel: zipfile.ZipFile) -> None:
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    metadata = message_from_bytes(wheel.read(name))
    code = wheel.read("gradlife/_version.py").decode()
    assert f'__version__ = "{metadata["Version"]}"' in code
    compile(code, "_version.py", "exec", dont_inherit=True)
    assert metadata["License-Expression"] == "MIT"
    assert metadata["Requires-Python"] == "<3.16,>=3.11"


def test_the_source_distribution_can_build_itself(sdist: set[str]) -> None:
    needed = {"pyproject.toml", "CMakeLists.txt", "PKG-INFO", "tools/version_of_tag.py", "README.md", "LICENSE"}
    cpp = {path.relative_to(ROOT).as_posix() for path in (ROOT / "csrc").rglob("*.?pp")}
    stories = {path.relative_to(ROOT).as_posix() for path in (ROOT / "scenarios").rglob("*.py")}
    assert (needed | cpp | stories | data_files()) - sdist == set()
    assert not [name for name in sdist if name.startswith((".ci", "build/", ".venv"))]


def test_changelog_fragments_are_named_as_towncrier_reads_them() -> None:
    kinds = {"added", "changed", "fixed", "removed"}
    names = [path.name for path in (ROOT / "changelog.d").iterdir() if path.name != "README.md"]
    wrong = [name for name in names if name.count(".") != 2 or name.split(".")[1] not in kinds or name[-3:] != ".md"]
    assert wrong == []
