"""Every change between releases has a name, declared in one folder: nothing else compares release numbers."""

from __future__ import annotations

import re
from pathlib import Path

from sources import ROOT

COMPARISON = re.compile(r"\brelease\w*\)*\s*(?:<=?|>=?|==|!=)\s*\w+")


def comparisons(csrc: Path) -> list[str]:
    """Lines of C++ that compare a release, outside the folder of policies."""
    return [
        f"{path.relative_to(csrc).as_posix()}: {line.strip()}"
        for path in sorted(csrc.rglob("*.?pp"))
        if path.parent.name != "policy"
        for line in path.read_text("utf-8").splitlines()
        if COMPARISON.search(line.partition("//")[0])
    ]


def test_no_release_is_compared_outside_the_policies() -> None:
    assert comparisons(ROOT / "csrc") == []


def test_a_comparison_of_releases_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "policy").mkdir()
    (tmp_path / "policy" / "traits.hpp").write_text("bool known = policy.release >= 200;\n", encoding="utf-8")
    (tmp_path / "node.cpp").write_text("if (policy().release < 113) return;\n// release < 113\n", encoding="utf-8")
    assert comparisons(tmp_path) == ["node.cpp: if (policy().release < 113) return;"]
