from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gradlife.errors import ScenarioError, UnknownNameError
from gradlife.runner import discover as module
from gradlife.runner.discover import Story, discover

WriteStory = Callable[..., str]

TWO = """
@scenario(title="one", origin=["o/r#1"], expects=[Expect("x", (1, 2), probe="value")], differs=[Differs("x", because="why")])
def one(lab):
    '''The story.'''

@one.fixed(title="two", fix="do so")
def two(lab):
    pass
"""


def ids(stories: tuple[Story, ...]) -> list[str]:
    return [story.info.id for story in stories]


def test_a_file_gives_its_scenarios_with_all_that_they_declare(write_story: WriteStory) -> None:
    one, two = discover([write_story(TWO, "hooks/file.py")])
    assert (one.info.id, one.info.suite, one.info.title, one.info.origin) == ("hooks/one", "hooks", "one", ("o/r#1",))
    assert (one.info.story, one.info.fixed_of, two.info.fixed_of, two.info.fix) == ("The story.", None, "one", "do so")
    assert one.info.expects[0].value == [1, 2]
    assert one.info.differs[0].because == "why"
    assert one.info.line == 5


def test_a_name_after_the_file_picks_one(write_story: WriteStory) -> None:
    assert ids(discover([write_story(TWO) + "::two"])) == ["suite/two"]


def test_an_unknown_name_is_answered_with_the_nearest(write_story: WriteStory) -> None:
    with pytest.raises(UnknownNameError, match=r"^unknown scenario 'tow' .*two"):
        discover([write_story(TWO) + "::tow"])


def test_a_folder_gives_the_scenario_files_in_it(write_story: WriteStory, tmp_path: Path) -> None:
    write_story('@scenario(title="b")\ndef b(lab): pass\n', "b/b.py")
    write_story('@scenario(title="a")\ndef a(lab): pass\n', "a/a.py")
    write_story("raise ValueError", "a/_helper.py")
    (tmp_path / "a" / "other.py").write_text("raise ValueError")
    assert ids(discover([str(tmp_path)])) == ["a/a", "b/b"]


def test_a_scenario_named_twice_on_the_command_line_is_run_once(write_story: WriteStory) -> None:
    path = write_story(TWO)
    assert ids(discover([path + "::two", path])) == ["suite/two", "suite/one"]


def test_without_a_path_the_built_in_scenarios_are_found_by_name(
    write_story: WriteStory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_story(TWO)
    monkeypatch.setattr(module, "builtin_folder", lambda: tmp_path)
    assert ids(discover()) == ["suite/one", "suite/two"]
    assert ids(discover(["two"])) == ["suite/two"]
    assert ids(discover(["suite/one"])) == ["suite/one"]
    with pytest.raises(UnknownNameError, match=r"^unknown scenario 'suite/on' .*suite/one"):
        discover(["suite/on"])


def test_the_built_in_scenarios_of_a_checkout_are_beside_the_package() -> None:
    assert module.builtin_folder().name in ("scenarios", "_scenarios")


def test_two_scenarios_of_one_name_are_refused(write_story: WriteStory, tmp_path: Path) -> None:
    write_story(TWO, "a/a.py")
    write_story(TWO, "b/b.py")
    with pytest.raises(ScenarioError, match=r"^two scenarios are named one .*rename one of .*a/a.py:5 and .*b/b.py:5"):
        discover([str(tmp_path)])


def test_two_scenarios_of_one_name_in_one_file_are_refused(write_story: WriteStory) -> None:
    text = '@scenario(title="a")\ndef a(lab): pass\n'
    with pytest.raises(
        ScenarioError, match=r"^two scenarios are named a .*rename one of .*story.py:4 and .*story.py:6"
    ):
        discover([write_story(text + text)])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n", "it declares no scenario"),
        ("x = = 1\n", "SyntaxError: invalid syntax"),
        ("\nraise ValueError('no')\n", "ValueError: no (line 5)"),
        ("import no_such_module\n", "ModuleNotFoundError: No module named 'no_such_module' (line 4)"),
        ("sys.exit(0)\n", "SystemExit: 0 (line 4)"),
        ("os._exit(3)\n", "loading it ended the process (exit code 3)"),
        ("os.kill(os.getpid(), signal.SIGSEGV)\n", "loading it ended the process (exit code -11)"),
        ("os.write(2, b'x' * 10**6)\nos._exit(0)\n", "loading it ended the process (exit code 0)"),
        ('@scenario(title="a", needs="hoks")\ndef a(lab): pass\n', "ValueError: a needs 'hoks', which is none of"),
        ('@scenario(title="a", expects=[1])\ndef a(lab): pass\n', "TypeError: "),
        ("@scenario(title=a)\ndef a(lab): pass\n", "NameError: name 'a' is not defined (line 4)"),
        (
            '@scenario(title="a", expects=[Expect("x", "alive", on=("torch-2.13",))])\ndef a(lab): pass\n',
            "TypeError: Expect: on must be a str, not tuple",
        ),
        (
            '@scenario(title="a", differs=[Differs("x", between=("a", "b"))])\ndef a(lab): pass\n',
            "TypeError: Differs: between must be a str, not tuple",
        ),
        (
            '@scenario(title="a", origin=[22983])\ndef a(lab): pass\n',
            "TypeError: scenario a: origin 1 must be a str, not int",
        ),
        (
            '@scenario(title="a", pattern=101)\ndef a(lab): pass\n',
            "TypeError: scenario a: pattern must be a str, not int",
        ),
    ],
)
def test_a_file_that_is_no_scenario_file_is_one_clear_line(write_story: WriteStory, text: str, message: str) -> None:
    path = write_story(text)
    with pytest.raises(ScenarioError) as caught:
        discover([path])
    assert str(caught.value).startswith(f"{path} is not a scenario file: {message}")
    assert "\n" not in str(caught.value)
    assert caught.value.exit_status == 2


def test_a_file_that_never_finishes_loading_is_refused(
    write_story: WriteStory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOAD_LIMIT", 0.3)
    with pytest.raises(ScenarioError, match=r"is not a scenario file: loading it took more than 0.3 s$"):
        discover([write_story("time.sleep(60)\n")])


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "binary.py"
    path.write_bytes(b"\x00\xff\xfe")
    with pytest.raises(ScenarioError, match=r"binary.py is not a scenario file: "):
        discover([str(path)])


def test_a_missing_file_is_one_clear_line() -> None:
    with pytest.raises(
        ScenarioError, match=r"^there is no file no/such/file.py \(try: a file of scenarios, or gradlife list\)$"
    ):
        discover(["no/such/file.py"])


def test_a_folder_without_scenarios_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"^no scenario in "):
        discover([str(tmp_path)])


def test_loading_leaves_nothing_in_the_folder(write_story: WriteStory, tmp_path: Path) -> None:
    discover([write_story(TWO)])
    assert [path.name for path in (tmp_path / "suite").iterdir()] == ["story.py"]


def test_what_is_no_scenario_file_in_a_folder_is_left_out(write_story: WriteStory, tmp_path: Path) -> None:
    """A dangling link, as an editor leaves it, ended in a traceback; a file that only tells of scenarios in an error."""
    write_story(TWO, "a.py")
    (tmp_path / ".#b.py").symlink_to("nowhere")
    (tmp_path / "c.py").mkdir()
    (tmp_path / "named.py").write_text("# see gradlife.scenario\n", encoding="utf-8")
    (tmp_path / "none.py").write_text("from gradlife.scenario import Lab\n", encoding="utf-8")
    assert len(discover([str(tmp_path)])) == 2
