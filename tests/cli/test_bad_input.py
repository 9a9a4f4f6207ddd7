from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from gradlife.backends import torch
from gradlife.runner import api

Gradlife = Callable[..., tuple[int, str, str]]


def one_error(outcome: tuple[int, str, str]) -> str:
    """The one line on standard error of a usage error."""
    status, output, errors = outcome
    assert status == 2
    assert output == ""
    assert len(errors.splitlines()) == 1
    assert errors.startswith("gradlife: error: ")
    assert errors.endswith(")\n")
    return errors.removeprefix("gradlife: error: ").rstrip()


def test_an_unknown_command_has_its_nearest_ones(gradlife: Gradlife) -> None:
    assert one_error(gradlife("explian", "x")) == "unknown command 'explian' (try: explain)"
    assert one_error(gradlife("frobnicate")) == "unknown command 'frobnicate' (try: gradlife help)"


def test_an_unknown_option_points_to_the_help(gradlife: Gradlife) -> None:
    assert one_error(gradlife("run", "--frob")) == "unrecognized arguments: --frob (try: gradlife --help)"
    assert one_error(gradlife("explain")).endswith("(try: gradlife explain --help)")


def test_an_unknown_backend_has_its_nearest_ones(gradlife: Gradlife, stories: str) -> None:
    assert one_error(gradlife("run", stories, "--backend", "fake:fake-leeky")).startswith(
        "unknown backend 'fake:fake-leeky' (try: fake:fake-leaky"
    )


@pytest.mark.parametrize(
    ("system", "message"),
    [
        ("recorded:missing.py", "unknown recording 'missing.py' (try: one of "),
        ("torch@/missing/python.py", "/missing/python.py does not start: no such file or directory"),
    ],
)
def test_a_system_whose_name_ends_like_a_file_of_stories_is_a_system(
    gradlife: Gradlife, stories: str, system: str, message: str
) -> None:
    assert one_error(gradlife("run", stories, "--backend", "fake", system)).startswith(message)


def test_an_unknown_scenario_has_its_nearest_ones(gradlife: Gradlife, stories: str) -> None:
    message = one_error(gradlife("run", f"{stories}::tensor_droped", "--backend", "fake"))
    assert message.startswith("unknown scenario 'tensor_droped' (try: tensor_dropped")


def test_a_file_that_is_no_scenario(gradlife: Gradlife, tmp_path: Path) -> None:
    file = tmp_path / "plain.py"
    file.write_text("x = 1\n", encoding="utf-8")
    message = one_error(gradlife("run", str(file), "--backend", "fake"))
    assert re.search(r"plain\.py is not a scenario file: it declares no scenario \(try: ", message)


def test_two_scenarios_of_one_name(gradlife: Gradlife, stories: str, tmp_path: Path) -> None:
    copy = tmp_path / "shop" / "copy.py"
    copy.write_text(Path(stories).read_text(encoding="utf-8"), encoding="utf-8")
    message = one_error(gradlife("list", str(tmp_path / "shop")))
    assert message.startswith("two scenarios are named tensor_dropped (try: rename one of ")


def test_a_keyword_that_matches_nothing(gradlife: Gradlife, stories: str) -> None:
    assert one_error(gradlife("list", stories, "-k", "nothing")).startswith("no scenario matches 'nothing' (try: ")


def test_a_keyword_that_cannot_be_read(gradlife: Gradlife, stories: str) -> None:
    assert one_error(gradlife("list", stories, "-k", "a and")).startswith("cannot read the expression 'a and' (try: ")


def test_a_missing_torch_is_named_with_what_installs_it(
    gradlife: Gradlife, stories: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "is_installed", lambda: False)
    hint = "pip install 'gradlife[torch]'; or run without it: --backend mini:torch-2.13"
    assert one_error(gradlife("run", stories, "--against", "torch")) == f"PyTorch is not installed (try: {hint})"
    assert "or run without it" not in one_error(gradlife("run", stories, "--backend", "torch"))


@pytest.fixture
def nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails a test in which a story would be run."""

    def run(*arguments: object, **options: object) -> object:
        raise AssertionError("a story was run although its report cannot be written")

    monkeypatch.setattr(api, "run", run)


@pytest.mark.usefixtures("nothing_runs")
def test_an_output_in_no_folder_is_refused_before_anything_runs(
    gradlife: Gradlife, stories: str, tmp_path: Path
) -> None:
    path = tmp_path / "missing" / "run.json"
    message = one_error(gradlife("run", stories, "--backend", "fake", "--json", str(path)))
    assert message.startswith(f"cannot write {path}: no such file or directory (try: ")


@pytest.mark.usefixtures("nothing_runs")
def test_a_folder_is_no_output(gradlife: Gradlife, stories: str, tmp_path: Path) -> None:
    message = one_error(gradlife("run", stories, "--backend", "fake", "--json", str(tmp_path)))
    assert message.startswith(f"cannot write {tmp_path}: is a folder (try: ")


@pytest.mark.usefixtures("nothing_runs")
@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_output_is_refused_and_left_as_it_is(gradlife: Gradlife, stories: str, tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    file.write_text("precious", encoding="utf-8")
    file.chmod(stat.S_IRUSR)
    message = one_error(gradlife("run", stories, "--backend", "fake", "--json", str(file)))
    assert message.startswith(f"cannot write {file}: permission denied (try: ")
    assert file.read_text(encoding="utf-8") == "precious"


@pytest.mark.usefixtures("nothing_runs")
def test_an_output_on_a_read_only_file_system_is_refused(gradlife: Gradlife, stories: str) -> None:
    if not os.path.exists("/proc/self"):
        pytest.skip("no /proc")
    assert one_error(gradlife("run", stories, "--json", "/proc/self/run.json")).startswith("cannot write ")


def test_a_disk_that_is_full_at_the_end_costs_neither_the_report_nor_the_exit_status(
    gradlife: Gradlife, stories: str
) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full")
    status, output, errors = gradlife("run", stories, "--backend", "fake", "--json", "/dev/full")
    assert status == 3
    assert "Totals" in output
    assert errors.startswith("gradlife: error: the report could not be written to /dev/full: no space left")


def test_a_memory_limit_of_400_digits_is_no_size(gradlife: Gradlife) -> None:
    assert "is not a size: 500M, 8G" in one_error(gradlife("hunt", "--memory-limit", "9" * 400, "train.py"))


@pytest.mark.parametrize(("kind", "words"), [(4, "is a core file, whose objects are not read"), (2, "")])
def test_a_core_file_is_named_as_what_it_is(gradlife: Gradlife, tmp_path: Path, kind: int, words: str) -> None:
    path = tmp_path / "core.1234"
    path.write_bytes(b"\x7fELF\x02\x01\x01".ljust(16, b"\0") + kind.to_bytes(2, "little") + bytes(100))
    status, _, errors = gradlife("open", str(path))
    assert (status, f"gradlife: error: {path} {words}" in errors) == (2, True)
    assert ("core file" in errors) == bool(words)
