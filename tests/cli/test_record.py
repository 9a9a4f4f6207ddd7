from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

Gradlife = Callable[..., tuple[int, str, str]]


@pytest.fixture
def recording(gradlife: Gradlife, stories: str, tmp_path: Path) -> Path:
    """Record the leaky fake in three stories."""
    file = tmp_path / "leaky.json"
    status, output, _ = gradlife("record", stories, "--backend", "fake:fake-leaky", "--rounds", "2", "-o", str(file))
    assert status == 0
    assert "fake-fake-leaky  fake 1.0" in output
    assert "3 stories run in 2 rounds: " in output
    return file


def refused(outcome: tuple[int, str, str]) -> str:
    """The one line of an error, without what it begins with."""
    status, output, errors = outcome
    assert (status, output, len(errors.splitlines())) == (2, "", 1)
    return errors.removeprefix("gradlife: error: ").strip()


def test_a_recording_says_what_it_is_of_and_how_it_came_about(recording: Path) -> None:
    document = json.loads(recording.read_text("utf-8"))
    assert (document["format"], document["backend"], document["rounds"]) == (
        "gradlife.recording/1",
        "fake:fake-leaky",
        2,
    )
    age = datetime.date.today() - datetime.date.fromisoformat(document["recorded"])
    assert age.days in (0, 1)  # midnight may lie between the two
    assert (document["system"]["name"], document["system"]["framework"]) == ("fake-fake-leaky", "fake")
    assert [story["story"] for story in document["stories"]] == [
        "shop/size_read", "shop/tensor_dropped", "shop/tensor_not_made",
    ]  # fmt: skip


def test_recording_twice_gives_the_same_file(gradlife: Gradlife, stories: str, recording: Path) -> None:
    before = recording.read_text("utf-8")
    assert gradlife("record", stories, "--backend", "fake:fake-leaky", "--rounds", "2", "-o", str(recording))[0] == 0
    assert re.sub(r'"recorded": ".*"', "", recording.read_text("utf-8")) == re.sub(r'"recorded": ".*"', "", before)


def test_a_recording_is_compared_with_like_a_system(gradlife: Gradlife, stories: str, recording: Path) -> None:
    name = f"recorded:{recording}"
    status, output, _ = gradlife("run", stories, "--backend", "fake", "--against", name, "--json", "-")
    report = json.loads(output)
    assert (status, report["exit_status"], report["against"]) == (0, 0, name)
    assert [system["name"] for system in report["systems"]] == ["fake", name]
    verdicts = {
        (reading["system"], reading["subject"]): (reading["value"], reading["status"])
        for reading in report["readings"]
        if (reading["probe"], reading["subject"]) == ("liveness", "x")
    }
    assert verdicts == {(name, "x"): ("never", ""), ("fake", "x"): ("del", "differs")}


def test_a_recording_is_a_system_of_its_own(gradlife: Gradlife, stories: str, recording: Path) -> None:
    status, output, _ = gradlife("run", stories, "--backend", f"recorded:{recording}")
    assert status == 0
    assert "1 contradicted" not in output
    assert "never" in output


def test_a_story_that_was_not_recorded_is_not_available_and_the_command_is_reported(
    gradlife: Gradlife, stories: str, tmp_path: Path
) -> None:
    file = tmp_path / "one.json"
    gradlife("record", f"{stories}::size_read", "--backend", "fake", "-o", str(file))
    status, output, _ = gradlife("run", stories, "--backend", f"recorded:{file}", "fake", "--json", "-")
    assert status == 0
    whys = [run["why"] for run in json.loads(output)["runs"] if run["outcome"] == "not available"]
    assert whys[0] == f"not recorded; gradlife record tensor_dropped --backend fake -o {file}"


def test_a_story_that_was_changed_is_refused_with_the_command_that_renews_it(
    gradlife: Gradlife, stories: str, recording: Path
) -> None:
    change(stories, 'lab.stage("made")', 'lab.stage("made anew")')
    error = refused(gradlife("run", stories, "--backend", f"recorded:{recording}"))
    assert error == (
        f"recorded:{recording} does not fit tensor_dropped any more: the story was changed since "
        f"(try: gradlife record tensor_dropped --backend fake:fake-leaky -o {recording})"
    )


def test_a_story_that_was_renamed_is_refused_with_the_command_that_renews_it(
    gradlife: Gradlife, stories: str, recording: Path
) -> None:
    change(stories, "def size_read", "def size_asked")
    error = refused(gradlife("run", stories, "--backend", f"recorded:{recording}"))
    assert error == (
        f"recorded:{recording} has size_asked under another name: shop/size_read "
        f"(try: gradlife record size_asked --backend fake:fake-leaky -o {recording})"
    )


def test_a_comment_is_no_change(gradlife: Gradlife, stories: str, recording: Path) -> None:
    change(stories, 'lab.stage("made")', 'lab.stage("made")  # as before')
    assert gradlife("run", stories, "--backend", f"recorded:{recording}")[0] == 0


def test_a_few_stories_are_renewed_and_the_others_stay(gradlife: Gradlife, stories: str, recording: Path) -> None:
    change(stories, 'lab.stage("made")', 'lab.stage("made anew")')
    status, output, _ = gradlife(
        "record", f"{stories}::tensor_dropped", "--backend", "fake:fake-leaky", "-o", str(recording)
    )
    assert (status, "1 story run in 3 rounds; 3 in the file" in output) == (0, True)
    assert gradlife("run", stories, "--backend", f"recorded:{recording}")[0] == 0
    text = recording.read_text("utf-8")
    assert '"made anew"' in text
    assert '"made"' not in text


def test_readings_of_two_systems_do_not_go_into_one_file(gradlife: Gradlife, stories: str, recording: Path) -> None:
    before = recording.read_text("utf-8")
    error = refused(gradlife("record", f"{stories}::size_read", "--backend", "fake", "-o", str(recording)))
    assert error.startswith(f"{recording} has readings of fake-fake-leaky (Python ")
    assert error.endswith("(try: all stories, or another file)")
    assert recording.read_text("utf-8") == before


UNSURE = '''
import os
from gradlife.scenario import scenario


@scenario(title="not the same in every round")
def unsure(lab):
    """A file remembers."""
    path = {path!r}
    rounds = os.path.getsize(path)
    with open(path, "a") as file:
        file.write("x")
    lab.value("round", rounds)
    lab.value("sure", 1)
    lab.stage("message")
'''


def test_what_is_not_the_same_in_every_round_is_called_unstable(gradlife: Gradlife, tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    memory.touch()
    story = tmp_path / "unsure.py"
    story.write_text(UNSURE.format(path=str(memory)), encoding="utf-8")
    file = tmp_path / "unsure.json"
    status, output, _ = gradlife("record", str(story), "--backend", "fake", "-o", str(file))
    assert status == 0
    assert "UNSTABLE" in output
    assert "0 or 1 or 2" in " ".join(output.split())
    _, output, _ = gradlife("run", str(story), "--backend", "fake", "--against", f"recorded:{file}", "--json", "-")
    mine = {one["subject"]: one["status"] for one in json.loads(output)["readings"] if one["system"] == "fake"}
    assert (mine["round"], mine["sure"]) == ("unstable", "same")


@pytest.mark.whole
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda text: text[: len(text) // 2], "cannot be used: no JSON: "),
        (lambda text: text.replace('"never"', '"del"'), "story shop/tensor_dropped: it was changed by hand"),
        (lambda text: text.replace("recording/1", "recording/9"), "its format is gradlife.recording/9"),
        (lambda text: "[]", "cannot be used: no recording of readings"),
        (lambda text: "", "cannot be used: no JSON: Expecting value: line 1 column 1"),
    ],
)
def test_a_spoilt_recording_is_refused_with_the_file_and_the_place(
    gradlife: Gradlife, stories: str, recording: Path, spoil: Callable[[str], str], message: str
) -> None:
    recording.write_text(spoil(recording.read_text("utf-8")), encoding="utf-8")
    error = refused(gradlife("run", stories, "--against", f"recorded:{recording}", "--backend", "fake"))
    assert error.startswith(f"the recording {recording} cannot be used: ")
    assert message in error


def test_bytes_that_are_no_text_are_refused(gradlife: Gradlife, stories: str, recording: Path) -> None:
    recording.write_bytes(b"\xff\xfe")
    error = refused(gradlife("run", stories, "--backend", f"recorded:{recording}"))
    assert error.startswith(f"the recording {recording} cannot be used: byte 0 is not UTF-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "--backend", "recorded:torch-9.9.9"], "unknown recording 'torch-9.9.9'"),
        (
            ["run", "--backend", "recorded:no/such.json"],
            "cannot read the recording no/such.json: no such file or directory",
        ),
        (["run", "--backend", "recorded:"], "unknown backend 'recorded:'"),
        (["record", "--backend", "fake"], "the following arguments are required: -o"),
        (["record", "-o", "x.json"], "the following arguments are required: --backend"),
        (
            ["record", "--backend", "fake", "--rounds", "0", "-o", "x.json"],
            "argument --rounds: '0' is not a number from 1 to 1000",
        ),
        (
            ["record", "--backend", "recorded:torch-2.13.0", "-o", "x.json"],
            "recorded:torch-2.13.0 is a recording already",
        ),
        (["record", "--backend", "fake", "-o", "no/such/x.json"], "cannot write no/such/x.json"),
        (["record", "--backend", "fake", "-k", "nothing_like_it", "-o", "-"], "no scenario matches 'nothing_like_it'"),
    ],
)
def test_a_usage_error_is_one_line(gradlife: Gradlife, arguments: list[str], message: str) -> None:
    assert refused(gradlife(*arguments)).startswith(message)


def test_a_recording_on_standard_output_is_nothing_else(gradlife: Gradlife, stories: str) -> None:
    status, output, errors = gradlife("record", stories, "--backend", "fake", "--rounds", "1", "-o", "-")
    assert status == 0
    assert json.loads(output)["system"]["name"] == "fake-1.0"
    assert "3 stories run in 1 round" in errors


def test_a_system_on_which_no_story_can_be_run_is_not_recorded(gradlife: Gradlife, broken: str, tmp_path: Path) -> None:
    file = tmp_path / "none.json"
    status, _, errors = gradlife("record", f"{broken}::not_here", "--backend", "fake", "-o", str(file))
    assert (status, file.exists()) == (3, False)
    assert "none of the stories could be run on fake" in errors


def test_a_story_that_cannot_be_run_any_more_is_renewed_in_its_file(
    gradlife: Gradlife, stories: str, recording: Path
) -> None:
    """What the file said of it before the story was changed could not be replaced."""
    change(stories, "@scenario(", '@scenario(needs="hooks", ')
    status, output, _ = gradlife(
        "record", f"{stories}::tensor_dropped", "--backend", "fake:fake-leaky", "-o", str(recording)
    )
    assert (status, "1 story run in 3 rounds; 3 in the file" in output) == (0, True)
    (story,) = [
        one for one in json.loads(recording.read_text("utf-8"))["stories"] if one["story"] == "shop/tensor_dropped"
    ]
    assert story["outcome"] == "not available"


def test_a_story_that_ends_the_process_is_recorded_as_that(gradlife: Gradlife, broken: str, tmp_path: Path) -> None:
    file = tmp_path / "crash.json"
    assert gradlife("record", f"{broken}::crash", "--backend", "fake", "-o", str(file))[0] == 0
    status, output, _ = gradlife("run", f"{broken}::crash", "--backend", f"recorded:{file}")
    assert status == 1
    assert "killed by SIGABRT" in output


def change(file: str, old: str, new: str) -> None:
    """Edit a story."""
    path = Path(file)
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
