"""The page of formats lists every JSON format that the sources write, and variables that they read."""

from __future__ import annotations

import re

from gradlife.attach.server import VARIABLE as SERVE
from gradlife.environments.places import FOLDER_VARIABLE
from sources import ROOT

PAGE = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")

#: Files of pickled tensors of the engine: no JSON.
OTHER_FORMATS = {"gradlife.tensors/1"}


def formats_in(text: str) -> set[str]:
    return set(re.findall(r"gradlife\.[a-z-]+/\d+", text)) - OTHER_FORMATS


def test_all_json_formats_are_listed() -> None:
    named = re.compile(r"_?FORMAT = b?\"(gradlife\.[^\"\\]+)")
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "gradlife").rglob("*.py")]
    assert formats_in(PAGE) == {name for text in sources for name in named.findall(text)} - OTHER_FORMATS


def test_the_variables_that_are_listed_are_read() -> None:
    listed = re.findall(r"`(GRADLIFE_\w+)", PAGE)
    assert listed == [SERVE, FOLDER_VARIABLE, "GRADLIFE_PROFILE"]
