"""The promises of an installed gradlife: entry points, version, and a cheap import."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import distribution

import pytest

import gradlife
from leftovers import run_script
from sources import ROOT

HEAVY = {"torch", "numpy", "rich", "jinja2", "psutil", "textual", "pytest", "argparse", "asyncio", "gradlife._engine"}


def modules_after(statement: str) -> set[str]:
    script = f"import sys; before = set(sys.modules)\n{statement}\nprint(*sorted(set(sys.modules) - before))"
    result = run_script(script)
    assert result.returncode == 0, result.stderr
    return set(result.stdout.split())


def test_the_version_is_the_same_everywhere() -> None:
    assert gradlife.__version__ == distribution("gradlife").version


def test_the_command_and_the_pytest_plugin_are_declared() -> None:
    found = {(point.group, point.name, point.value) for point in distribution("gradlife").entry_points}
    assert found == {
        ("console_scripts", "gradlife", "gradlife.cli:main"),
        ("pytest11", "gradlife", "gradlife.pytest_plugin.plugin"),
    }


def test_every_entry_point_loads() -> None:
    for point in distribution("gradlife").entry_points:
        assert point.load() is not None


def test_importing_gradlife_loads_nothing_heavy() -> None:
    loaded = modules_after("import gradlife")
    assert loaded & HEAVY == set()
    assert len(loaded) < 40


@pytest.mark.parametrize("module", ["gradlife.scenario", "gradlife.model.codec"])
def test_values_and_scenarios_load_nothing_heavy(module: str) -> None:
    assert modules_after(f"import {module}") & HEAVY == set()


def test_the_pytest_plugin_adds_only_itself_to_pytest() -> None:
    loaded = modules_after("import pytest; before = set(sys.modules)\nimport gradlife.pytest_plugin.plugin")
    assert {name for name in loaded if not name.startswith("gradlife")} == set()
    assert loaded & HEAVY == set()


def test_the_plugin_names_the_version_in_the_header(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.stdout.fnmatch_lines([f"gradlife: {gradlife.__version__}"])


def test_a_checkout_that_was_never_built_says_so_in_one_line() -> None:
    result = run_script("import sys; sys.modules['gradlife._engine'] = None\nimport gradlife.engine")
    assert result.returncode == 1
    message = "the compiled extension gradlife._engine is missing (try: make build"
    assert result.stderr.strip().splitlines()[-1].startswith(f"gradlife.errors.ExtensionMissingError: {message}")


def test_every_pinned_version_is_exact_and_local_to_no_machine() -> None:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert [pin for pin in pins if not re.fullmatch(r"[A-Za-z0-9_.-]+==[0-9][0-9A-Za-z.]*", pin)] == []


def test_every_direct_dependency_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["torch"], *extras["test"], *extras["dev"], *extras["release"]]
    pinned = {normalised(line.split("==")[0]) for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines()}
    assert {normalised(re.split(r"[<>=!~\[ ;]", text)[0]) for text in wanted} <= pinned


def normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
