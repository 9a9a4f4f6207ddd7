"""Hunt the mistake in a faulty engine: `python -m benchmarks.fuzz.faulty EXTENSION`.

A separate process, because a loaded extension cannot be replaced.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys

NAME = "gradlife._engine"


def load_extension(path: str) -> None:
    """Import the extension at `path` instead of the installed one."""
    spec = importlib.util.spec_from_file_location(NAME, path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} is no extension")
    module = importlib.util.module_from_spec(spec)
    sys.modules[NAME] = module
    spec.loader.exec_module(module)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz.faulty")
    parser.add_argument("extension")
    parser.add_argument("--name", default="")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=int, default=5000)
    arguments = parser.parse_args()
    load_extension(arguments.extension)
    from benchmarks.fuzz.__main__ import load_systems  # only now, because they import the engine
    from benchmarks.fuzz.bugs import PROFILE, hunted

    hunt = hunted(load_systems(PROFILE), arguments.name, arguments.seed, arguments.limit)
    print(hunt.line())
    return 0 if hunt.kind else 1


if __name__ == "__main__":
    sys.exit(main())
