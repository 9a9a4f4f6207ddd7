"""The first words that somebody types: each leads to a command, or to what to type."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gradlife.cli.options.late_options import add_target
from gradlife.cli.parser import COMMANDS, GROUPS, Parser, command_parser, make_parser
from gradlife.cli.project_options import FILE
from gradlife.patterns import PATTERNS, SENTENCES
from gradlife.patterns.known_leaks import known_leaks
from terminals import in_terminal

Gradlife = Callable[..., tuple[int, str, str]]

#: Lines and columns that a help may have.
LINES, COLUMNS = 40, 80


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a program that prints its arguments."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "show.py").write_text("import sys\nprint(sys.argv, sys.flags.dev_mode)\n", encoding="utf-8")
    return tmp_path


def ran(*words: str) -> str:
    done = subprocess.run([sys.executable, "-m", "gradlife", *words], capture_output=True, text=True, timeout=900)
    return done.stdout


# --- without a command ---


def test_gradlife_alone_says_what_to_type(gradlife: Gradlife) -> None:
    status, output, errors = gradlife()
    assert (status, errors) == (0, "")
    named = re.findall(r"^  gradlife (\w+) ", output, re.MULTILINE)
    assert named == ["hunt", "peak", "attach", "explain"]
    assert max(map(len, output.splitlines())) <= COLUMNS


def test_a_script_is_hunted_in(folder: Path) -> None:
    assert ran("show.py", "--lr", "1") == ran("hunt", "show.py", "--lr", "1") == "['show.py', '--lr', '1'] False\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("nosuch.py", "there is no file nosuch.py (try: gradlife hunt SCRIPT)"),
        ("--full show.py", "--full stands before a command (try: gradlife hunt --full show.py)"),
        ("help nosuch", "unknown command 'nosuch' (try: gradlife help)"),
    ],
)
def test_a_word_that_is_no_command_says_what_to_type(
    gradlife: Gradlife, folder: Path, words: str, message: str
) -> None:
    assert gradlife(*words.split()) == (2, "", f"gradlife: error: {message}\n")


# --- python before the script ---


@pytest.mark.parametrize(
    ("words", "arguments", "options"),
    [
        ("python show.py --lr 1", ["show.py", "--lr", "1"], ()),
        ("python3 -u show.py", ["show.py"], ("-u",)),
        (".venv/bin/python -X dev -Wignore show.py", ["show.py"], ("-X", "dev", "-Wignore")),
        ("python -um show", None, ()),
        ("python -m show -u", ["show", "-u"], ()),
        ("-- python -u show.py", ["show.py"], ("-u",)),
    ],
)
def test_a_leading_python_is_taken_with_its_options(
    words: str, arguments: list[str] | None, options: tuple[str, ...]
) -> None:
    parser = Parser()
    parser.add_argument("-m", dest="is_module", action="store_true")
    add_target(parser, "")
    if arguments is None:
        with pytest.raises(Exception, match="is no program in a file"):
            parser.parse_args(words.split())
        return
    args = parser.parse_args(words.split())
    assert ([args.target, *args.arguments], args.python) == (arguments, options)
    assert args.is_module == ("-m" in words)


def test_the_program_gets_the_options_of_its_python(folder: Path) -> None:
    assert ran("hunt", "python", "-X", "dev", "show.py", "7") == "['show.py', '7'] True\n"
    assert ran("snapshot", "-o", "x.glheap", "python", "show.py", "7") == "['show.py', '7'] False\n"


@pytest.mark.parametrize("words", ["python -c 1", "python", "python3.9 show.py", "python -S show.py"])
def test_a_python_that_runs_no_program_here_is_refused(gradlife: Gradlife, folder: Path, words: str) -> None:
    status, output, errors = gradlife("hunt", *words.split())
    assert (status, output, errors.count("\n")) == (2, "", 1)


# --- help ---


def help_of(gradlife: Gradlife, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as ended:
        gradlife(*words)
    assert ended.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("command", [*COMMANDS, ""])
def test_a_help_fits_a_screen(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    text = (command_parser(command) if command else make_parser(None)).format_help()
    assert len(text.splitlines()) <= LINES
    assert max(map(len, text.splitlines())) <= COLUMNS


def test_the_commands_are_grouped_and_hunt_is_the_first() -> None:
    text = make_parser(None).format_help()
    assert [line for line in text.splitlines() if line in GROUPS] == ["Find", "Look", "Learn", "Set up"]
    assert next(iter(COMMANDS)) == "hunt"
    assert all(re.search(rf"^  {name} ", text, re.MULTILINE) for name in COMMANDS)


def test_help_with_a_command_is_its_help(folder: Path) -> None:
    assert ran("help", "hunt") == ran("hunt", "--help")
    assert ran("help") == ran("--help")
    assert ran("help", "env", "add") == ran("env", "add", "--help")


@pytest.mark.parametrize("command", COMMANDS)
def test_rare_options_are_shown_by_help_all(command: str) -> None:
    short, parser = command_parser(command).format_help(), command_parser(command)
    rare = [word for action in parser.rare for word in action.option_strings]
    assert [word for word in rare if f"  {word} " in short] == []
    assert ("--help-all" in short) == bool(rare)
    if rare:
        whole = ran(command, "--help-all")
        assert [word for word in rare if word not in whole] == []


def test_a_rare_option_is_an_option_as_any_other() -> None:
    assert make_parser("hunt").parse_args(["hunt", "--lines", "train.py"]).lines


# --- codes ---


def test_every_code_is_listed_with_its_sentence(gradlife: Gradlife) -> None:
    status, output, _ = gradlife("codes", "--json", "-")
    rows = {row["code"]: row["title"] for row in json.loads(output)["codes"]}
    assert (status, rows) == (0, SENTENCES)
    assert {row.code for row in PATTERNS} <= set(rows)
    text = " ".join(gradlife("codes")[1].split())
    assert all(f"{code} {sentence}" in text for code, sentence in SENTENCES.items())


def test_codes_are_chosen_by_their_beginning_and_by_a_word(gradlife: Gradlife) -> None:
    def chosen(*words: str) -> list[str]:
        return [row["code"] for row in json.loads(gradlife("codes", *words, "--json", "-")[1])["codes"]]

    assert all(code.startswith("GL4") for code in chosen("gl4"))
    assert "GL355" in chosen("hook", "GL35")
    assert gradlife("codes", "nosuch") == (2, "", "gradlife: error: no code is about nosuch (try: gradlife codes)\n")


def test_every_known_leak_is_listed_with_how_far_it_was_checked(gradlife: Gradlife) -> None:
    status, output, _ = gradlife("codes", "--known", "--json", "-")
    rows = {row["link"]: row for row in json.loads(output)["leaks"]}
    assert (status, list(rows)) == (0, [leak.link for leak in known_leaks()])
    checked = [rows[link]["verified"] for link in ("pytorch/pytorch#58271", "pytorch/ignite#3447", "grpc/grpc#22123")]
    assert checked == ["recorded", "run", "read"]
    text = " ".join(gradlife("codes", "--known")[1].split())
    assert "<0.5.3 pytorch/ignite#3447 GL516 GL505 The handlers of an engine kept" in text
    assert "[run with 0.5.2] do: Upgrade." in text
    assert all(leak.link in text for leak in known_leaks())


def test_known_leaks_are_chosen_by_their_library_a_code_and_a_word(gradlife: Gradlife) -> None:
    def chosen(*words: str) -> list[str]:
        return [row["link"] for row in json.loads(gradlife("codes", "--known", *words, "--json", "-")[1])["leaks"]]

    assert chosen("pytorch-ignite") == ["pytorch/ignite#3447", "pytorch/ignite#476"]
    assert chosen("gl000") == ["pandas-dev/pandas#32433", "matplotlib/matplotlib#25853", "numpy/numpy#6581"]
    said = "gradlife: error: no known leak is about nosuch (try: gradlife codes --known)\n"
    assert gradlife("codes", "--known", "nosuch") == (2, "", said)


# --- the pager ---


@pytest.mark.whole
def test_a_list_on_a_terminal_goes_through_the_pager(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGER", "wc -l")
    assert int(in_terminal(folder, "codes")[1]) > len(SENTENCES)
    assert int(in_terminal(folder, "list")[1]) > 400
    for none in ("", "cat", "nosuch-pager"):
        monkeypatch.setenv("PAGER", none)
        assert "GL402" in in_terminal(folder, "codes")[1]


def test_a_list_in_a_pipe_has_no_pager(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGER", "wc -l")
    assert "GL402" in ran("codes", "GL4")


# --- completion and the manual page ---


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_has_every_command_and_option_and_its_shell_reads_it(
    gradlife: Gradlife, tmp_path: Path, shell: str
) -> None:
    status, script, _ = gradlife("completion", shell)
    assert status == 0
    words = [
        word for name in COMMANDS for action, _ in command_parser(name).options() for word in action.option_strings
    ]
    assert [name for name in COMMANDS if name not in script] == []
    long = [word for word in words if word.startswith("--")]
    assert [word for word in long if (word if shell != "fish" else f"-l {word[2:]} ") not in script] == []
    if shutil.which(shell):
        (tmp_path / "script").write_text(script, encoding="utf-8")
        done = subprocess.run([shell, "-n", str(tmp_path / "script")], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("gradlife hu", ["hunt"]),
        ("gradlife help pe", ["peak"]),
        ("gradlife hunt --pro", ["--prove"]),
        ("gradlife hunt --fail", ["--fail-on"]),
        ("gradlife sho", ["show.py"]),
    ],
)
def test_bash_completes(gradlife: Gradlife, folder: Path, typed: str, expected: list[str]) -> None:
    words = typed.split()
    script = gradlife("completion", "bash")[1]
    ask = f'COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; _gradlife; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", f"{script}\n{ask}"], capture_output=True, text=True, cwd=folder)
    assert (done.stdout.split(), done.stderr) == (expected, "")


def test_an_unknown_shell_is_refused(gradlife: Gradlife) -> None:
    assert gradlife("completion", "tcsh")[0] == 2


def test_the_manual_page_has_every_command_and_option(gradlife: Gradlife, tmp_path: Path) -> None:
    status, page, _ = gradlife("man")
    assert status == 0
    text = page.replace("\\-", "-")
    for name in COMMANDS:
        assert f'.SH "GRADLIFE {name.upper()}"' in text
        assert [
            one for action, _ in command_parser(name).options() for one in action.option_strings if one not in text
        ] == []
    if shutil.which("man") and shutil.which("groff"):
        shown = subprocess.run(["groff", "-man", "-Tascii", "-ww"], input=page, capture_output=True, text=True)
        assert (shown.returncode, shown.stderr) == (0, "")


# --- options of the project ---


UNKNOWN = "unknown option in [tool.gradlife.hunt] of pyproject.toml: '{}'"


def set_options(folder: Path, text: str) -> None:
    (folder / FILE).write_text(text, encoding="utf-8")


def test_options_of_the_project_are_found_upwards_and_the_command_line_wins(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_options(folder, '[tool.gradlife.hunt]\nfail-on = "minor"\nsteps = 60\nlines = true\n')
    (folder / "below").mkdir()
    (folder / "below" / FILE).write_text("[tool.ruff]\n", encoding="utf-8")
    (folder / "step.py").write_text("kept = []\ndef step():\n    kept.append(bytearray(9000))\n", encoding="utf-8")
    monkeypatch.chdir(folder / "below")
    done = ran("hunt", "--full", "--steps", "50", "--json", "x.json", "../step.py::step")
    note = f"Options from ../{FILE}: fail-on = minor, lines = true"
    assert done.splitlines()[-1] == note
    report = json.loads(Path("x.json").read_text(encoding="utf-8"))
    assert (report["settings"]["project"], report["fail_on"]) == (note, "minor")
    assert sum(one["steps"] for one in report["rounds"]) + report["warmup_steps"] <= 50


def test_a_list_of_the_command_line_replaces_that_of_the_project(
    gradlife: Gradlife, folder: Path, stories: str
) -> None:
    set_options(folder, '[tool.gradlife.run]\nbackend = ["fake:fake-leaky"]\n')
    assert "fake:fake-leaky" in gradlife("run", stories)[1]
    assert "fake:fake-leaky" not in gradlife("run", stories, "--backend", "fake")[1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[tool.gradlife.hunt]\nfail_on = "minor"', UNKNOWN.format("fail_on") + " (try: fail-on)"),
        ('[tool.gradlife.hunt]\nfail-on = "huge"', "pyproject.toml: [tool.gradlife.hunt] fail-on = 'huge' is no choice"),
        ('[tool.gradlife.hunt]\nsteps = "many"', "pyproject.toml: [tool.gradlife.hunt] steps: 'many' is not a number of steps"),
        ("[tool.gradlife.hunt]\nsteps = true", "pyproject.toml: [tool.gradlife.hunt] steps = True: it is a text or a number"),
        ("[tool.gradlife.hunt]\nlines = 1", "pyproject.toml: [tool.gradlife.hunt] lines = 1: it is true or false"),
        ("[tool.gradlife.hunt]\nforce = true", UNKNOWN.format("force")),
        ("[tool.gradlife.hunt]\nwrite = true", UNKNOWN.format("write")),
        ("[tool.gradlife.hnt]", "unknown table [tool.gradlife.NAME] of pyproject.toml: 'hnt' (try: hunt)"),
        ("[tool]\ngradlife = 1", "pyproject.toml: tool.gradlife is no table"),
        ("[tool.gradlife]\nhunt = 1", "pyproject.toml: tool.gradlife.hunt is no table"),
        ("[tool.gradlife.hunt", "pyproject.toml is no TOML: "),
    ],
    ids=lambda text: text.partition("\n")[2] or text[:24],
)  # fmt: skip
def test_a_wrong_option_of_the_project_is_one_line(gradlife: Gradlife, folder: Path, text: str, message: str) -> None:
    set_options(folder, text)
    status, output, errors = gradlife("hunt", "show.py")
    assert (status, output, errors.count("\n")) == (2, "", 1)
    assert errors.startswith(f"gradlife: error: {message}")


def test_a_file_of_other_tools_that_cannot_be_read_is_not_gradlife_s_business(folder: Path) -> None:
    set_options(folder, "[tool.ruff\n")
    assert ran("hunt", "show.py") == "['show.py'] False\n"


def test_an_option_of_the_project_that_does_nothing_here_is_no_error(folder: Path) -> None:
    set_options(folder, '[tool.gradlife.hunt]\nevery = "10min"\n')
    assert ran("hunt", "show.py") == "['show.py'] False\n"


def test_help_is_printed_whatever_the_project_sets(folder: Path) -> None:
    set_options(folder, "[tool.gradlife.hunt]\nnosuch = 1\n")
    assert ran("hunt", "--help").startswith("usage: gradlife hunt")
