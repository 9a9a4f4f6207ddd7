from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gradlife.backends import registry, torch
from gradlife.model import codec

Gradlife = Callable[..., tuple[int, str, str]]


def test_stories_are_run_and_compared(gradlife: Gradlife, stories: str) -> None:
    status, output, errors = gradlife("run", stories, "--backend", "fake", "fake:fake-leaky")
    assert (status, errors) == (0, "")
    assert "  tensor_dropped +1 (x) del   never*" in output.splitlines()
    assert output.splitlines()[-1] == "  clean: 6 declarations met, 0 contradicted, 0 runs failed, 0 unavailable"


def test_one_story_of_a_file_is_run(gradlife: Gradlife, stories: str) -> None:
    status, output, _ = gradlife("run", f"{stories}::size_read", "--backend", "fake")
    assert status == 0
    assert "  1 story on 1 system: " in output


def test_where_torch_is_not_installed_its_recording_stands_in(
    gradlife: Gradlife, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (torch, registry):
        monkeypatch.setattr(module, "is_installed", lambda: False)
    status, output, errors = gradlife("run", "ctx_keeps_output")
    assert status == 0
    assert errors == (
        "PyTorch is not installed here; recorded:torch-2.13.0 stands in for it (pip install 'gradlife[torch]')\n"
    )
    assert "*      differs from recorded:torch-2.13.0" in output
    assert "  clean: " in output.splitlines()[-1]


def test_systems_that_are_named_have_no_stand_in(gradlife: Gradlife, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "is_installed", lambda: False)
    assert gradlife("run", "ctx_keeps_output", "--backend", "mini:torch-2.13")[2] == ""


def test_a_keyword_selects_stories(gradlife: Gradlife, stories: str) -> None:
    _, output, _ = gradlife("run", stories, "-k", "tensor and not made", "--backend", "fake")
    assert "  1 story on 1 system: " in output


def test_a_path_behind_backends_is_a_path(gradlife: Gradlife, stories: str) -> None:
    status, output, _ = gradlife("run", "--backend", "fake", f"{stories}::size_read")
    assert status == 0
    assert "  1 story on 1 system: " in output


def test_against_names_the_system_in_the_first_column(gradlife: Gradlife, stories: str) -> None:
    _, output, _ = gradlife("run", stories, "--backend", "fake", "--against", "fake:fake-leaky")
    assert output.splitlines()[1].startswith("  [1] fake:fake-leaky")
    assert "*      differs from fake:fake-leaky" in output


def test_many_stories_are_summed_up_and_full_shows_each(gradlife: Gradlife, tmp_path: Path) -> None:
    head = "from gradlife.scenario import scenario\n"
    body = "".join(
        f"@scenario(title='t')\ndef story_{number}(lab):\n    lab.value('n', 1)\n    lab.stage('end')\n"
        for number in range(31)
    )
    file = tmp_path / "many.py"
    file.write_text(head + body, encoding="utf-8")
    _, output, _ = gradlife("run", str(file), "--backend", "fake", "--in-process")
    assert output.splitlines()[0].startswith("31 stories on 1 system: ")
    assert len(output.splitlines()) < 15
    _, output, _ = gradlife("run", str(file), "--backend", "fake", "--in-process", "--full")
    assert sum(line.startswith("  story_") for line in output.splitlines()) == 31


def test_stage_detail_shows_every_stage(gradlife: Gradlife, stories: str) -> None:
    _, output, _ = gradlife("run", stories, "--backend", "fake", "--stage-detail")
    assert "  at 'made'" in output.splitlines()
    assert "  expiry    x.storage" in output


def test_a_contradiction_a_crash_and_a_hang_are_found_and_the_rest_goes_on(
    run_broken: Callable[..., tuple[str, tuple[int, str, str]]],
) -> None:
    limit, (status, output, errors) = run_broken()
    assert (status, errors) == (1, "")
    assert "    x, value at 'counted': declared 1, got 2" in output
    assert "    killed by SIGABRT" in output
    assert f"    not done after {limit} s" in output
    assert output.splitlines()[-1] == ("  FOUND: 0 declarations met, 1 contradicted, 2 runs failed, 1 unavailable")


def test_a_run_without_readings_could_not_tell(gradlife: Gradlife, broken: str) -> None:
    status, output, _ = gradlife("run", f"{broken}::not_here", "--backend", "fake")
    assert status == 3
    assert output.splitlines()[-1].startswith("  could not tell: ")


def test_stories_can_be_run_in_this_process(gradlife: Gradlife, stories: str) -> None:
    status, output, _ = gradlife("run", stories, "--backend", "fake", "--in-process")
    assert status == 0
    assert "noise on stdout" in output


def test_json_goes_to_a_file(gradlife: Gradlife, stories: str, tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    status, output, _ = gradlife("run", stories, "--backend", "fake", "--json", str(file))
    report = codec.loads(file.read_text(encoding="utf-8"))
    assert status == 0
    assert "Totals" in output
    assert [scenario.name for scenario in report.scenarios] == ["tensor_dropped", "tensor_not_made", "size_read"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.json", "shop"]


def test_json_on_standard_output_is_alone_there(gradlife: Gradlife, stories: str) -> None:
    status, output, errors = gradlife("run", stories, "--backend", "fake", "--json", "-")
    assert (status, errors) == (0, "")
    assert json.loads(output)["format"] == "gradlife.run/1"


def test_json_has_the_findings_and_the_exit_status(gradlife: Gradlife, broken: str) -> None:
    status, output, _ = gradlife("run", f"{broken}::wrong", "--backend", "fake", "--json", "-")
    document = json.loads(output)
    assert status == document["exit_status"] == 1
    assert [(one["declared"], one["got"], one["because"]) for one in document["contradictions"]] == [
        (1, 2, "so it is said")
    ]


def test_a_timeline_without_events_says_so(gradlife: Gradlife, stories: str) -> None:
    status, output, _ = gradlife("run", f"{stories}::size_read", "--backend", "fake", "--timeline")
    assert status == 0
    assert "  no events were recorded: only the mini engine records any" in output


def test_a_timeline_of_many_stories_is_refused(gradlife: Gradlife, tmp_path: Path) -> None:
    head = "from gradlife.scenario import scenario\n"
    body = "".join(f"@scenario(title='t')\ndef story_{number}(lab): pass\n" for number in range(5))
    file = tmp_path / "many.py"
    file.write_text(head + body, encoding="utf-8")
    status, _, errors = gradlife("run", str(file), "--backend", "fake", "--timeline")
    assert status == 2
    assert errors.startswith("gradlife: error: --timeline draws up to 4 stories, and 5 are chosen (try: ")


@pytest.mark.parametrize("text", ["0", "-1", "soon", "nan", "inf"])
def test_a_time_limit_is_a_number_of_seconds(gradlife: Gradlife, stories: str, text: str) -> None:
    status, _, errors = gradlife("run", stories, f"--time-limit={text}")
    assert status == 2
    assert f"argument --time-limit: {text!r} is not a number of seconds" in errors


def test_a_folder_with_the_name_of_a_system_is_not_taken_for_stories(
    gradlife: Gradlife, stories: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clone of PyTorch has a folder `torch`."""
    (tmp_path / "fake").mkdir()
    monkeypatch.chdir(tmp_path)
    status, output, errors = gradlife("run", stories, "--backend", "fake")
    assert (status, errors) == (0, "")
    assert " on 1 system: " in output
