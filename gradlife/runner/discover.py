"""Find scenarios: all of a file or folder, one by FILE::NAME, or a built-in one by its name.

Loading a scenario file runs its code, so a child process does it and returns plain data.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gradlife.errors import ScenarioError, UnknownNameError
from gradlife.model.story import Declared, DeclaredDifference, ScenarioInfo
from gradlife.runner.scenario_files import imports_scenario
from gradlife.runner.server import Ended, ForkServer
from gradlife.runner.worker.supervisor import RESULT_LIMIT

#: Time limit for loading one file, in seconds.
LOAD_LIMIT = 60.0


class NoScenarioError(ScenarioError):
    """The file declares no scenario."""


@dataclass(frozen=True, slots=True)
class Story:
    """A scenario as data, and its file."""

    info: ScenarioInfo
    path: Path


def builtin_folder() -> Path:
    """Return the folder of the built-in scenarios: in the installed package, or in the checkout."""
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "_scenarios", package.parent / "scenarios"):
        if folder.is_dir():
            return folder
    raise ScenarioError("the built-in scenarios are missing", "gradlife run FILE, or reinstall gradlife")


def discover(paths: Sequence[str] = ()) -> tuple[Story, ...]:
    """Return the scenarios that the paths name, in order; without paths the built-in ones."""
    with ForkServer("") as server:
        if not paths:
            stories = load_all(server, files_in(builtin_folder()))
        else:
            stories = [story for path in paths for story in stories_of(server, path)]
    stories = list({(story.path, story.info.line, story.info.context): story for story in stories}.values())
    refuse_duplicates(stories)
    if not stories:
        raise ScenarioError(f"no scenario in {', '.join(paths) or builtin_folder().name}")
    return tuple(stories)


def stories_of(server: ForkServer, path: str) -> list[Story]:
    """Return the scenarios that one command-line argument names."""
    file, _, name = path.partition("::")
    place = Path(file)
    if place.is_dir() and not name:
        return load_all(server, files_in(place))
    if place.is_file():
        stories = load(server, place)
        return select_named(stories, name) if name else stories
    if place.suffix == ".py" or len(place.parts) > 2:
        raise ScenarioError(f"there is no file {file}", "a file of scenarios, or gradlife list")
    return select_named(load_all(server, files_in(builtin_folder())), path)


def select_named(stories: Sequence[Story], name: str) -> list[Story]:
    """Return the scenario of this name or id. If it runs in several contexts, return one for each."""
    exact = [story for story in stories if name in (story.info.name, story.info.id)]
    found = exact[:1] or [story for story in stories if name == story.info.family]
    if not found:
        names = [known for story in stories for known in (story.info.name, story.info.id)]
        raise UnknownNameError("scenario", name, names, "gradlife list")
    return found


def files_in(folder: Path) -> list[Path]:
    """Return the scenario files of a folder: those that import gradlife.scenario and whose names do not start with `_`."""
    return [file for file in sorted(folder.rglob("*.py")) if not file.name.startswith("_") and imports_scenario(file)]


def load_all(server: ForkServer, files: Iterable[Path]) -> list[Story]:
    """Return the scenarios of the files of a folder. A file may import `gradlife.scenario` and declare none."""
    stories = []
    for file in files:
        with contextlib.suppress(NoScenarioError):
            stories += load(server, file)
    return stories


def load(server: ForkServer, file: Path) -> list[Story]:
    """Return the scenarios of one file, in file order."""
    path = file.resolve()
    ended = server.do({"do": "list", "file": str(path)}, LOAD_LIMIT)
    refuse_bad_file(file, ended)
    infos = [decode_info(record["scenario"], file) for record in ended.records if record["kind"] == "scenario"]
    if not infos:
        raise NoScenarioError(
            f"{file} is not a scenario file: it declares no scenario", "decorate a function with @scenario"
        )
    return [Story(info, path) for info in infos]


def refuse_bad_file(file: Path, ended: Ended) -> None:
    """Raise if loading a file did not finish."""
    last = ended.records[-1] if ended.records else {"kind": ""}
    if ended.timed_out:
        raise ScenarioError(f"{file} is not a scenario file: loading it took more than {LOAD_LIMIT:g} s")
    if ended.overflowed:
        raise ScenarioError(f"{file} is not a scenario file: it declares more than {RESULT_LIMIT // 2**20} MB")
    if last["kind"] == "failed":
        where = f" (line {last['line']})" if last["line"] else ""
        raise ScenarioError(f"{file} is not a scenario file: {last['error']}{where}")
    if last["kind"] != "done":
        raise ScenarioError(
            f"{file} is not a scenario file: loading it ended the process (exit code {ended.exit_code})"
        )


def decode_info(item: dict[str, Any], file: Path) -> ScenarioInfo:
    """Build a scenario from the JSON of the child that loaded it."""
    values = dict(item, file=display_path(file), origin=tuple(item["origin"]))
    values["expects"] = tuple(Declared(**expect) for expect in item["expects"])
    values["differs"] = tuple(DeclaredDifference(**differs) for differs in item["differs"])
    return ScenarioInfo(**values)


def display_path(file: Path) -> str:
    """Format a file's path for reports: relative to the working folder or the checkout, else only its name."""
    path = file.resolve()
    for base in (Path.cwd(), path.parent.parent.parent):
        if path.is_relative_to(base):
            return path.relative_to(base).as_posix()
    return path.name


def refuse_duplicates(stories: Iterable[Story]) -> None:
    """Raise if two scenarios have the same name."""
    seen: dict[str, Story] = {}
    for story in stories:
        other = seen.setdefault(story.info.name, story)
        if other is not story:
            places = " and ".join(f"{each.info.file}:{each.info.line}" for each in (other, story))
            raise ScenarioError(f"two scenarios are named {story.info.name}", f"rename one of {places}")
