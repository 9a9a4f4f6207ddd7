from __future__ import annotations

import importlib.util
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

import gradlife
from sources import ROOT

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="no git here: versions of tags were not tried")


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    """The provider, as the build loads it."""
    spec = importlib.util.spec_from_file_location("version_of_tag", ROOT / "tools" / "version_of_tag.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Clone:
    """A clone of a project that is worked on as 0.1.0."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        for name in ("AUTHOR", "COMMITTER"):
            monkeypatch.setenv(f"GIT_{name}_NAME", "x")
            monkeypatch.setenv(f"GIT_{name}_EMAIL", "x@example.org")
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
        self.write("0.1.0")
        self.git("init", "--quiet")
        self.commit()

    def git(self, *words: str) -> str:
        done = subprocess.run(["git", *words], cwd=self.folder, capture_output=True, text=True, check=True, timeout=900)
        return done.stdout.strip()

    def write(self, version: str) -> None:
        (self.folder / "gradlife").mkdir(exist_ok=True)
        (self.folder / "gradlife" / "_version.py").write_text(f'__version__ = "{version}"\n', encoding="utf-8")

    def commit(self) -> str:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "a change")
        return self.git("rev-parse", "--short", "HEAD")


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clone:
    return Clone(tmp_path, monkeypatch)


def test_without_a_tag_it_is_what_the_sources_say(tool: ModuleType, clone: Clone) -> None:
    assert tool.version(clone.folder) == "0.1.0"


def test_a_tag_is_the_version(tool: ModuleType, clone: Clone) -> None:
    clone.git("tag", "v2.0.1")
    assert tool.version(clone.folder) == "2.0.1"
    clone.commit()
    clone.git("tag", "v2.1.0rc1")
    assert tool.version(clone.folder) == "2.1.0rc1"


def test_commits_after_a_tag_lead_to_the_next_version(tool: ModuleType, clone: Clone) -> None:
    clone.git("tag", "v0.1.0")
    clone.commit()
    name = clone.commit()
    assert tool.version(clone.folder) == f"0.1.1.dev2+g{name}"
    clone.git("tag", "v0.2.0rc1")
    name = clone.commit()
    assert tool.version(clone.folder) == f"0.2.0.dev1+g{name}"


def test_what_is_worked_on_is_the_next_version_where_it_is_later(tool: ModuleType, clone: Clone) -> None:
    clone.git("tag", "v0.1.0")
    clone.write("0.10.0")
    name = clone.commit()
    assert tool.version(clone.folder) == f"0.10.0.dev1+g{name}"


def test_a_change_that_is_not_committed_is_reported(tool: ModuleType, clone: Clone) -> None:
    clone.git("tag", "v0.1.0")
    (clone.folder / "gradlife" / "_version.py").write_text('__version__ = "0.1.0"  \n__version__ = "0.1.0"\n', "utf-8")
    assert tool.version(clone.folder) == f"0.1.1.dev0+g{clone.git('rev-parse', '--short', 'HEAD')}.dirty"


def test_other_tags_are_no_versions(tool: ModuleType, clone: Clone) -> None:
    for tag in ("nightly", "v1-alpha", "vnext", "1.5.0"):
        clone.git("tag", tag)
    assert tool.version(clone.folder) == "0.1.0"


def test_a_source_distribution_has_its_version_with_it(tool: ModuleType, clone: Clone) -> None:
    clone.git("tag", "v5.0.0")
    (clone.folder / "PKG-INFO").write_text("Name: gradlife\nVersion: 3.2.1\n\nVersion: 9\n", encoding="utf-8")
    assert tool.version(clone.folder) == "3.2.1"


def test_a_folder_in_somebody_elses_clone_is_none_of_its_tags(tool: ModuleType, clone: Clone) -> None:
    clone.git("tag", "v5.0.0")
    inner = clone.folder / "vendored"
    (inner / "gradlife").mkdir(parents=True)
    (inner / "gradlife" / "_version.py").write_text('__version__ = "0.4.0"\n', encoding="utf-8")
    assert tool.version(inner) == "0.4.0"


def test_without_git_it_is_what_the_sources_say(
    tool: ModuleType, clone: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone.git("tag", "v5.0.0")
    monkeypatch.setenv("PATH", "")
    assert tool.version(clone.folder) == "0.1.0"


def test_an_install_in_place_has_the_version_of_its_sources(tool: ModuleType) -> None:
    provider = tool.Provider()
    provider.build_state("metadata_editable")
    assert provider.dynamic_metadata({}, {}) == {"version": tool.written(ROOT)}
    provider.build_state("wheel")
    assert provider.dynamic_metadata({}, {}) == {"version": tool.version(ROOT)}
    assert gradlife.__version__.startswith(tool.written(ROOT).rpartition(".")[0])


def test_sources_without_a_version_are_refused(tool: ModuleType, clone: Clone) -> None:
    (clone.folder / "gradlife" / "_version.py").write_text("", encoding="utf-8")
    with pytest.raises(ValueError, match="has no line __version__"):
        tool.version(clone.folder)
