"""Run scenario files in this process and print their readings, one JSON object per line.

    python -m gradlife.runner.worker FILE[::NAME] ... --in-process --module torch

For authors of scenarios; everyone else wants `gradlife run`.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
from typing import Any

from gradlife.runner.worker.framework import describe, load_framework
from gradlife.runner.worker.story_file import load_file
from gradlife.runner.worker.story_run import run_story


def main(arguments: list[str] | None = None) -> int:
    """Run the command line of the worker."""
    parser = argparse.ArgumentParser(prog="python -m gradlife.runner.worker", description=__doc__)
    parser.add_argument("paths", nargs="+", metavar="FILE[::NAME]")
    parser.add_argument("--in-process", action="store_true", required=True, help="run the stories in this process")
    parser.add_argument("--module", default="torch", help="the framework's module: torch or gradlife.engine")
    parser.add_argument("--profile", default=None, help="the profile of gradlife.engine")
    parser.add_argument("--brief", action="store_true", help="one short line a reading, without counts and memory")
    options = parser.parse_args(arguments)
    fw = load_framework(options.module, options.profile)
    gc.freeze()  # hide the framework's own objects from the collector
    current = getattr(fw, "current_profile", None)
    profile = current().name if current is not None else describe(fw, options.module)["profile"]
    job: dict[str, Any] = {"system": options.profile or options.module, "profile": profile}
    for path in options.paths:
        file, _, name = path.partition("::")
        for story in load_file(file):
            if name in ("", story.name):
                print(json.dumps({"kind": "scenario", "name": story.name}) if not options.brief else "\n" + story.name)
                run_story(story, fw, job, show_briefly if options.brief else show)
    return 0


def show(record: dict[str, Any]) -> None:
    """Print one record as a JSON line."""
    print(json.dumps(record, ensure_ascii=False))


def show_briefly(record: dict[str, Any]) -> None:
    """Print one record for a reader."""
    if record["kind"] != "reading":
        print("  " + "  ".join("{}={}".format(*item) for item in record.items()))
    elif record["probe"] not in ("memory", "live", "events"):
        print("  {stage:28} {probe:10} {subject:32} {value}".format(**record))


if __name__ == "__main__":
    sys.exit(main())
