"""The campaign that records the releases: one environment at a time, what is done stays done, what fails stops nobody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from benchmarks.atlas import __main__ as atlas
from benchmarks.atlas.campaign import Campaign, Place
from benchmarks.atlas.pythons import find_python
from benchmarks.atlas.systems import System, chosen, systems

RELEASES = "1.1.0 1.2.0 1.9.1 1.10.2 1.13.1 2.9.1 2.10.0 2.12.1 2.13.0 2.14.1 2.15.0"
OLD = System("torch-1.1.0", "torch", ("torch==1.1.0",), "3.7", 10)
NEW = System("torch-2.13.0", "torch", ())
FLOW = System("oneflow-0.9.0", "oneflow", ("oneflow==0.9.0",), "3.7", 10)


class Commands:
    """Notes commands of gradlife, and fails those that begin with given words."""

    def __init__(self, *failing: str) -> None:
        self.failing = failing
        self.lines: list[str] = []

    def __call__(self, command: Sequence[str], environment: Mapping[str, str]) -> int:
        line = " ".join(command)
        self.lines.append(line)
        return 3 if line.startswith(self.failing or ("nothing",)) else 0


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "work", tmp_path / "recordings")


def campaign(place: Place, run: Commands) -> Campaign:
    return Campaign(place, {"3.7": "/py37"}, run)


def test_the_table_has_the_systems_with_their_pins() -> None:
    table = systems()
    assert {system.name for system in table} == {
        *(f"torch-{version}" for version in RELEASES.split()),
        "oneflow-0.8.0",
        "oneflow-0.9.0",
    }
    for system in table:
        framework, _, version = system.name.rpartition("-")
        assert system.framework == framework
        assert not system.packages or system.packages[0] == f"{framework}=={version}"
        assert not system.packages or (system.python and system.megabytes)


def test_each_environment_is_made_recorded_and_removed_before_the_next(place: Place) -> None:
    run = Commands()
    assert campaign(place, run).work([NEW, OLD, FLOW]) == {}
    assert run.lines == [
        f"record --backend torch -o {place.recordings / 'torch-2.13.0.json'}",
        "env add torch-1.1.0 --python /py37 torch==1.1.0",
        f"record --backend torch@torch-1.1.0 -o {place.recordings / 'torch-1.1.0.json'}",
        "env remove torch-1.1.0",
        "env add oneflow-0.9.0 --python /py37 oneflow==0.9.0",
        f"record --backend oneflow@oneflow-0.9.0 -o {place.recordings / 'oneflow-0.9.0.json'}",
        "env remove oneflow-0.9.0",
    ]


def test_options_of_recording_are_handed_on(place: Place) -> None:
    run = Commands()
    Campaign(place, {}, run, ("--rounds", "1")).work([NEW])
    assert run.lines == [f"record --backend torch -o {place.recordings / 'torch-2.13.0.json'} --rounds 1"]


def test_environments_and_downloads_are_the_campaigns_own(place: Place) -> None:
    environment = place.environment
    assert environment["GRADLIFE_HOME"] == str(place.folder / "home")
    assert environment["PIP_CACHE_DIR"] == str(place.folder / "downloads")
    place.cache.mkdir(parents=True)
    campaign(place, Commands()).work([OLD])
    assert not place.cache.exists()


def test_a_system_that_cannot_be_made_is_reported_and_the_others_go_on(place: Place) -> None:
    run = Commands("env add torch-1.1.0")
    failed = campaign(place, run).work([OLD, FLOW])
    assert failed == {"torch-1.1.0": "its environment can't be made (gradlife env add ended with 3)"}
    assert run.lines[-1] == "env remove oneflow-0.9.0"


def test_what_is_done_is_not_done_again_and_what_failed_is(place: Place) -> None:
    campaign(place, Commands("record --backend oneflow")).work([OLD, FLOW])
    run = Commands()
    work = campaign(place, run)
    assert work.work([OLD, FLOW]) == {}
    assert [line.split()[:3] for line in run.lines] == [
        ["env", "add", "oneflow-0.9.0"],
        ["record", "--backend", "oneflow@oneflow-0.9.0"],
        ["env", "remove", "oneflow-0.9.0"],
    ]
    work.forget()
    work.work([NEW])
    work.work([OLD])
    assert "env add torch-1.1.0 --python /py37 torch==1.1.0" in run.lines


def test_an_interpreter_that_is_not_there_and_a_disk_that_is_full_are_reasons(
    place: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    run = Commands()
    failed = Campaign(place, {}, run).work([OLD])
    assert failed == {"torch-1.1.0": "there is no Python 3.7 here; --python 3.7=PATH names one"}
    huge = System("torch-9", "torch", ("torch==9",), "3.7", 10**9)
    assert "MB are free" in campaign(place, run).work([huge])["torch-9"]
    assert run.lines == []


def test_the_newest_interpreter_of_a_version_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for release in ("3.7.9", "3.7.16", "3.8.18"):
        (tmp_path / "versions" / release / "bin").mkdir(parents=True)
        (tmp_path / "versions" / release / "bin" / "python3").touch()
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert find_python("3.7", {}) == str(tmp_path / "versions" / "3.7.16" / "bin" / "python3")
    assert find_python("3.7", {"3.7": "/mine"}) == "/mine"


def test_some_systems_can_be_chosen() -> None:
    assert chosen((NEW, OLD), ["torch-1.1.0"]) == (OLD,)
    with pytest.raises(SystemExit, match=r"no system torch-9; there are torch-2\.13\.0, torch-1\.1\.0"):
        chosen((NEW, OLD), ["torch-9"])


def test_it_ends_with_the_fidelity_table_and_what_was_not_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Commands("env add oneflow-0.8.0")
    monkeypatch.setattr(atlas, "run_command", run)
    monkeypatch.setattr(atlas, "Campaign", lambda place, pythons, options: Campaign(place, pythons, run, options))
    folders = ["--folder", str(tmp_path / "work"), "--recordings", str(tmp_path), "--python", "3.7=/py37"]
    status = atlas.main(["oneflow-0.8.0", *folders])
    assert status == 1
    assert run.lines[-1] == "run --fidelity"
    output = capsys.readouterr().out.splitlines()
    assert output[-1] == ("not recorded: oneflow-0.8.0: its environment can't be made (gradlife env add ended with 3)")
