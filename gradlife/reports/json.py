"""Reports for machines: versioned JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict

from gradlife._version import __version__
from gradlife.model import RunReport, ScenarioInfo, codec

LIST_FORMAT = "gradlife.list/1"


def run_text(report: RunReport) -> str:
    """A run as `gradlife.run/1`."""
    return codec.dumps(report)


def list_text(stories: Iterable[ScenarioInfo]) -> str:
    """Scenarios, with everything that they declare, as `gradlife.list/1`: one line a scenario."""
    lines = ",\n".join(json.dumps(asdict(story), ensure_ascii=False) for story in stories)
    return f'{{\n"format": "{LIST_FORMAT}",\n"gradlife": "{__version__}",\n"scenarios": [\n{lines}\n]\n}}\n'
