"""The version of a build: that of the git tag, if there is one.

A provider of scikit-build-core. A source distribution has its version in PKG-INFO. In a clone, the tag v1.2.3 gives
1.2.3, and five commits later 1.2.4.dev5+gHASH. Without a tag or without git, and for an install in place, it is the
version in gradlife/_version.py.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

WRITTEN = re.compile(r'^__version__ = "(.+)"$', re.MULTILINE)
TAG = re.compile(r"v(?P<release>\d+(?:\.\d+)*)(?P<pre>(?:a|b|rc)\d+)?")
DESCRIBED = re.compile(r"(?P<tag>.+)-(?P<commits>\d+)-g(?P<hash>[0-9a-f]+)(?P<dirty>-dirty)?")


class Provider:
    """The interface that the build calls."""

    def __init__(self) -> None:
        self._is_in_place = False

    def build_state(self, state: str) -> None:
        """Receive what is being built; the build calls it first."""
        self._is_in_place = state.endswith("editable")

    def dynamic_metadata(self, settings: Mapping[str, Any], project: Mapping[str, Any]) -> dict[str, str]:
        """Return the version."""
        return {"version": written(ROOT) if self._is_in_place else version(ROOT)}


def version(root: Path) -> str:
    """Return the version of the sources in a folder."""
    return packed(root) or tagged(root) or written(root)


def written(root: Path) -> str:
    """Return the version in gradlife/_version.py."""
    found = WRITTEN.search((root / "gradlife" / "_version.py").read_text(encoding="utf-8"))
    if found is None:
        raise ValueError("gradlife/_version.py has no line __version__ = ...")
    return found[1]


def packed(root: Path) -> str:
    """Return the version of a source distribution; empty in a clone."""
    try:
        head = (root / "PKG-INFO").read_text(encoding="utf-8").partition("\n\n")[0]
    except OSError:
        return ""
    found = re.search(r"^Version: (.+)$", head, re.MULTILINE)
    return found[1].strip() if found else ""


def tagged(root: Path) -> str:
    """Return the version of the last tag and the commits since; empty if this is no clone or has no tag."""
    top = git(root, "rev-parse", "--show-toplevel")
    if not top or Path(top).resolve() != root.resolve():  # a folder inside another project's clone
        return ""
    described = DESCRIBED.fullmatch(git(root, "describe", "--tags", "--long", "--dirty", "--match", "v[0-9]*"))
    tag = TAG.fullmatch(described["tag"]) if described is not None else None
    if described is None or tag is None:
        return ""
    commits, is_dirty = int(described["commits"]), described["dirty"] is not None
    if not commits and not is_dirty:
        return tag["release"] + (tag["pre"] or "")
    return f"{coming(tag, written(root))}.dev{commits}+g{described['hash']}" + (".dirty" if is_dirty else "")


def coming(tag: re.Match[str], written: str) -> str:
    """Return the version under development after a tag: the written one if it is later, else the next one."""
    release = [int(part) for part in tag["release"].split(".")]
    later = TAG.fullmatch("v" + written)
    if later is not None and [int(part) for part in later["release"].split(".")] > release:
        return later["release"]
    if tag["pre"]:
        return tag["release"]
    return ".".join(map(str, [*release[:-1], release[-1] + 1]))


def git(root: Path, *words: str) -> str:
    """Run git and return its output; empty if it fails or is missing."""
    try:
        done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


if __name__ == "__main__":
    print(version(ROOT))
