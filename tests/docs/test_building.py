"""`make docs`: no warning; and what it writes by itself."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from code_pages import pages

from gradlife.patterns import SENTENCES, patterns_of
from gradlife.patterns.known_leaks import known_leaks
from sources import ROOT

WANTED = ("sphinx", "furo", "myst_parser")


@pytest.fixture(scope="module")
def written() -> dict[str, str]:
    return pages()


@pytest.mark.whole
def test_every_code_has_a_page_with_its_reason_and_its_fix(written: dict[str, str]) -> None:
    assert set(written) == {"index", "known", *SENTENCES}
    for code in SENTENCES:
        assert written[code].startswith(f"# {code}: ")
        assert written[code].count("**What to do.**") == len(patterns_of(code))
        assert f"[{code}]({code}.md)" in written["index"]


def test_every_known_leak_is_on_the_page_of_all_and_on_those_of_its_codes(written: dict[str, str]) -> None:
    for leak in known_leaks():
        assert all(f"[{leak.link}](https://github.com/" in written[page] for page in ("known", *leak.codes))
    assert written["known"].count("\n## ") == len({leak.library for leak in known_leaks()})


@pytest.mark.whole
def test_every_code_has_a_program_that_leaks(written: dict[str, str]) -> None:
    """But for what only a device, a compiler or another process can show, what is not known, and what only a hunt sees."""
    without = {
        code for code in SENTENCES if "## The story" not in written[code] and "A program that" not in written[code]
    }
    assert without <= {
        "GL000",
        "GL524",
        "GL514",
        "GL515",
        "GL527",
        "GL529",
        "GL615",
        "GL704",
        "GL801",
        "GL802",
        "GL803",
        "GL804",
        "GL805",
        "GL806",
        "GL807",
        "GL808",
        "GL809",
        "GL901",
        "GL902",
        "GL903",
        "GL904",
        "GL905",
        "GL906",
        "GL907",
        "GL908",
        "GL909",
        "GL910",
        "GL911",
    }


def test_a_page_shows_since_which_release(written: dict[str, str]) -> None:
    assert "| torch 1.9.1 | never |" in written["GL101"]
    assert "| torch 1.10.2 | gc |" in written["GL101"]
    assert "1.10.2: [pytorch/pytorch#58271](https://github.com/pytorch/pytorch/issues/58271)" in written["GL101"]


@pytest.mark.slow
def test_the_documentation_is_built_without_a_warning(tmp_path: Path) -> None:
    missing = [name for name in WANTED if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"the documentation was not built: {', '.join(missing)} is not installed (make docs installs it)")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-n", "-q", "-b", "html", "docs", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "codes" / "GL402.html").exists()
