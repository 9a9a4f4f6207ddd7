from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Gradlife = Callable[..., tuple[int, str, str]]


def test_the_stories_of_a_file_are_listed(gradlife: Gradlife, stories: str) -> None:
    status, output, errors = gradlife("list", stories)
    assert (status, errors) == (0, "")
    assert output.splitlines() == [
        "shop  2 stories, 1 repaired twin",
        "  tensor_dropped       a tensor is dropped  GL101",
        "    + tensor_not_made  a tensor is never made",
        "  size_read            a size is read",
        "",
        "2 stories, 1 repaired twin; gradlife explain NAME shows one",
    ]


def test_a_list_as_json_is_alone_on_standard_output(gradlife: Gradlife, stories: str) -> None:
    _, output, _ = gradlife("list", stories, "-k", "size", "--json", "-")
    assert [one["name"] for one in json.loads(output)["scenarios"]] == ["size_read"]


def test_a_list_as_json_goes_to_a_file_beside_the_printed_one(gradlife: Gradlife, stories: str, tmp_path: Path) -> None:
    file = tmp_path / "list.json"
    _, output, _ = gradlife("list", stories, "--json", str(file))
    assert output.startswith("shop  2 stories")
    assert len(json.loads(file.read_text(encoding="utf-8"))["scenarios"]) == 3


def test_the_stories_of_a_source_are_listed(gradlife: Gradlife) -> None:
    status, output, errors = gradlife("list", "--source", "pytorch/pytorch#147242", "--json", "-")
    assert (status, errors) == (0, "")
    listed = json.loads(output)["scenarios"]
    assert "unpack_order_under_compiled_autograd" in [one["name"] for one in listed]
    assert all("pytorch/pytorch#147242" in one["origin"] for one in listed)


def test_a_source_that_no_story_names_is_a_usage_error(gradlife: Gradlife) -> None:
    status, output, errors = gradlife("list", "--source", "pytorch/pytorch#14724")
    assert (status, output) == (2, "")
    assert "unknown source 'pytorch/pytorch#14724'" in errors


def test_the_built_in_stories_are_listed_without_a_path(gradlife: Gradlife) -> None:
    status, output, _ = gradlife("list")
    assert status == 0
    assert "  ctx_keeps_output  " in output


def test_a_story_is_explained_and_run(gradlife: Gradlife, stories: str) -> None:
    name = f"{stories}::tensor_dropped"
    status, output, errors = gradlife("explain", name, "--backend", "fake", "fake:fake-leaky")
    lines = output.splitlines()
    assert (status, errors) == (0, "")
    assert lines[0] == "a tensor is dropped"
    assert "  The only name of a tensor goes." in lines
    assert ["liveness", "x", "del", "never*"] in [line.split() for line in lines]
    assert "The fix: make none" in lines
    assert '    +lab.value("x", "none")' in lines


def test_a_story_is_explained_without_being_run(gradlife: Gradlife) -> None:
    _, output, _ = gradlife("explain", "ctx_keeps_output", "--no-run")
    assert "  It was not run." in output.splitlines()


@pytest.mark.parametrize("name", ["story.py", "story.py::leaks", "./story.py", "leaks", "missing.py", "story.py/"])
def test_a_file_is_not_imported_to_be_described(
    gradlife: Gradlife, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for file in ("story.py", "leaks"):
        Path(file).write_text(
            "import pathlib\npathlib.Path('it-ran').touch()\nfrom gradlife.scenario import scenario\n"
        )
    status, output, errors = gradlife("explain", name, "--no-run")
    assert (status, output, errors.count("\n")) == (2, "", 1)
    assert ("is a file, which runs when it is imported" in errors) is (name != "missing.py")
    assert not Path("it-ran").exists()


def test_a_file_with_several_stories_is_asked_back_about(gradlife: Gradlife, stories: str) -> None:
    status, output, errors = gradlife("explain", stories)
    assert (status, output) == (2, "")
    assert f"{stories} has 3 stories (try: {stories}::NAME with one of tensor_dropped, " in errors


def test_a_pattern_is_explained_with_its_stories(gradlife: Gradlife) -> None:
    status, output, _ = gradlife("explain", "gl101")
    assert status == 0
    assert output.startswith("GL101  ctx keeps an output of its own Function")
    assert "  ctx_keeps_output  ctx keeps its own output" in output.splitlines()


def test_an_unknown_pattern_has_its_nearest_ones(gradlife: Gradlife) -> None:
    status, _, errors = gradlife("explain", "GL999")
    assert status == 2
    assert errors.startswith("gradlife: error: unknown pattern 'GL999' (try: ")


def test_a_story_about_a_design_is_explained_on_its_own_profile_only(gradlife: Gradlife) -> None:
    status, output, _ = gradlife("explain", "node_weak_at_construction")
    lines = [" ".join(line.split()) for line in output.splitlines()]
    assert status == 0
    assert "value output has a grad_fn no" in lines
    declared = lines[lines.index("What each profile is declared to do") + 1]
    assert declared.startswith("torch-1.2+function_ownership=weak_at_construction output has a grad_fn")
    assert not any("torch-2.13" in line for line in lines)
