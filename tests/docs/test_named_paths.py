"""Every path that ARCHITECTURE.md and CONTRIBUTING.md name exists, and the map names every part of the tree."""

from __future__ import annotations

import re

import pytest

from sources import ROOT

PAGES = ("ARCHITECTURE.md", "CONTRIBUTING.md")
IN_CODE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)#:]+)\)")
#: Files in the root of the repository have no slash in their names.
IN_ROOT = re.compile(r"[\w.-]+\.(?:md|toml|txt)")
#: Folders that a build makes.
BUILT = ("build/",)


def named_paths(text: str) -> set[str]:
    """Return the paths that a page names in backticks or links to."""
    in_code = {name for name in IN_CODE.findall(text) if is_path(name)}
    return in_code | set(LINK.findall(text))


def is_path(name: str) -> bool:
    """Whether the text is a path in the repository, not a command, an option or an expression."""
    if not re.fullmatch(r"[\w./-]+", name) or name.startswith(("-", "/", *BUILT)):
        return False
    return "/" in name or IN_ROOT.fullmatch(name) is not None


@pytest.mark.parametrize("page", PAGES)
def test_every_named_path_exists(page: str) -> None:
    names = named_paths((ROOT / page).read_text(encoding="utf-8"))
    assert len(names) > 10
    assert sorted(name for name in names if not (ROOT / name).exists()) == []


def test_the_map_names_every_part() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    folders = [path for part in ("gradlife", "csrc") for path in (ROOT / part).iterdir() if path.is_dir()]
    parts = [path.relative_to(ROOT).as_posix() for path in folders if path.name != "__pycache__"]
    assert [part for part in sorted(parts) if f"`{part}/" not in text] == []


def test_a_command_is_no_path() -> None:
    found = named_paths(
        "`make test`, `tests/conftest.py`, `twine check --strict`, `build/asan`, [map](ARCHITECTURE.md)"
    )
    assert found == {"tests/conftest.py", "ARCHITECTURE.md"}
