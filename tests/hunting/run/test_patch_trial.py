"""A patch tried: the rate and the losses of a run with it, beside those of the run before."""

from __future__ import annotations

import itertools
import json
import os
import struct
import subprocess
import sys
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gradlife.cli.hunt import quietly
from gradlife.cli.program_view import ProgramView
from gradlife.errors import UsageError
from gradlife.hunting.process.settings import HUNT, TALK, Settings
from gradlife.hunting.stores.patches import patch_of
from gradlife.model.hunt import (
    Advice,
    Amounts,
    Diagnosis,
    Finding,
    FindingKind,
    HuntReport,
    Patch,
    Proof,
    Round,
    StoredAt,
)
from gradlife.model.trace import UNHELD, Ledger, Lifetime, Trace
from gradlife.program.hunt.parent import HuntGuard
from gradlife.program.hunt.patch_trial import changed_files, patch_proof, try_texts
from gradlife.program.hunt.patched_files import Written, text_of, write_texts
from gradlife.program.hunt.proof import proven
from gradlife.program.parent import Result
from gradlife.reports.hunt.fix import fix_lines

RATE = Amounts(2.0, 1.0, 1.0, 0.0, 1000.0)
TEXT = "kept.append(loss)\n"


def finding(patch: Patch | None = None, rate: Amounts = RATE, mark: str = "a") -> Finding:
    trace = Trace("Tensor", "", Lifetime.HELD, (), (), Ledger(1, ()))
    named = Diagnosis("GL402", "a list grows", "", Advice(""))
    stored = StoredAt("train.py", 1, TEXT.strip())
    return Finding(
        FindingKind.GROWTH, Lifetime.HELD, named, trace, rate, fingerprint=mark, patch=patch, stored_at=stored
    )


def report(*findings: Finding, rounds: int = 3) -> HuntReport:
    return HuntReport("train.py", "s", 5, (Round(5, RATE),) * rounds, findings)


class Program:
    """A program that is run in no process: it writes the losses that it is given, one row for each run."""

    def __init__(self, folder: Path, *runs: Sequence[float], after: HuntReport | None = None, status: int = 0) -> None:
        self._runs = [*runs]
        self._after = Result(status, after if after is not None else report(), was_killed=status > 128)
        self.sources: list[dict[str, str]] = []
        self.settings = Settings("train.py", trial=str(folder))
        self._write(str(folder))

    def _write(self, folder: str) -> None:
        values = self._runs.pop(0)
        Path(folder, "losses.1").write_bytes(struct.pack(f"<{len(values)}d", *values))

    def run(self, settings: Settings) -> Result[HuntReport]:
        sources = Path(settings.trial, "sources.json")
        self.sources.append(json.loads(sources.read_text()) if sources.exists() else {})
        self._write(settings.trial)
        return self._after


def test_equal_losses_and_no_growth_are_a_proof(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(TEXT)
    patch = patch_of("train.py", TEXT, TEXT.replace("(loss)", "(loss.item())"))
    program = Program(tmp_path, [1.0, 0.5], [1.0, 0.5, 0.25])
    [found] = proven(report(finding(patch)), program.settings, program.run).findings
    assert found.proof == Proof("train.py:1 changed", RATE, Amounts(), True, "2 losses are the same")
    assert program.sources == [{str(tmp_path / "train.py"): "kept.append(loss.item())\n"}]
    assert Path("train.py").read_text() == TEXT


def test_another_loss_is_no_proof(tmp_path: Path) -> None:
    program = Program(tmp_path, [1.0, 0.5], [1.0, 0.75], [1.0, 0.5])
    found = try_texts({}, program.settings, program.run)
    assert (found.is_same, found.losses) == (False, "loss 2 is 0.75 instead of 0.5")
    assert not patch_proof(finding(), found, report()).is_sufficient


def test_losses_that_differ_by_themselves_say_nothing(tmp_path: Path) -> None:
    program = Program(tmp_path, [1.0, 0.5], [1.0, 0.75], [1.0, 0.625])
    found = try_texts({}, program.settings, program.run)
    assert (found.is_same, found.losses) == (True, "its losses differ from run to run")


def test_a_program_without_losses_is_judged_by_its_growth(tmp_path: Path) -> None:
    program = Program(tmp_path, [], [])
    found = try_texts({}, program.settings, program.run)
    assert (found.is_same, found.losses) == (True, "")
    assert patch_proof(finding(), found, report()).is_sufficient


@pytest.mark.parametrize("mark", ["a", "b"])
def test_growth_that_is_still_there_is_told(tmp_path: Path, mark: str) -> None:
    program = Program(tmp_path, [float("nan")], [float("nan")], after=report(finding(mark=mark)))
    proof = patch_proof(finding(), try_texts({}, program.settings, program.run), report())
    assert (proof.is_sufficient, proof.after, proof.note) == (False, RATE, "1 loss is the same")


OTHER = Amounts(4.0, 2.0, 2.0, 0.0, 2000.0)


@pytest.mark.parametrize(
    ("rate_after", "is_proven"),
    [(OTHER, True), (replace(OTHER, bytes=2040.0), True), (replace(OTHER, bytes=2100.0), False)],
)
def test_a_second_leak_that_was_there_before_does_not_disprove_a_fix(
    tmp_path: Path, rate_after: Amounts, is_proven: bool
) -> None:
    """A working fix was "not proven" if the program had another leak."""
    before = report(finding(), finding(mark="other", rate=OTHER))
    program = Program(tmp_path, [1.0], [1.0], after=report(finding(mark="other", rate=rate_after)))
    proof = patch_proof(finding(), try_texts({}, program.settings, program.run), before)
    assert (proof.is_sufficient, proof.after) == (is_proven, Amounts() if is_proven else rate_after)


@pytest.mark.parametrize(("malloc", "is_proven"), [(21_000.0, True), (1_000.0, False)])
def test_memory_without_an_owner_that_a_leak_hid_does_not_disprove_its_fix(
    tmp_path: Path, malloc: float, is_proven: bool
) -> None:
    unheld = finding(mark="unheld", rate=Amounts(bytes=20_000.0))
    unheld = replace(unheld, trace=replace(unheld.trace, object=UNHELD))
    before = replace(report(finding()), rounds=(Round(5, RATE, malloc),) * 3)
    program = Program(tmp_path, [1.0], [1.0], after=report(unheld))
    assert patch_proof(finding(), try_texts({}, program.settings, program.run), before).is_sufficient is is_proven


def test_a_run_without_rounds_proves_nothing(tmp_path: Path) -> None:
    program = Program(tmp_path, [], [], after=report(rounds=1))
    assert not patch_proof(finding(), try_texts({}, program.settings, program.run), report()).is_sufficient


@pytest.mark.parametrize(("before", "is_proven"), [(0, False), (None, False), (1, True)])
def test_a_patch_that_makes_the_program_fail_is_no_proof(tmp_path: Path, before: int | None, is_proven: bool) -> None:
    failed = replace(report(), trouble="the program ended with TypeError after 9 counted steps")
    program = Program(tmp_path, [1.0], [1.0], after=failed, status=1)
    proof = patch_proof(
        finding(), try_texts({}, program.settings, program.run), replace(report(), script_status=before)
    )
    words = "with this change the program ended with TypeError after 9 counted steps"
    assert (proof.is_sufficient, proof.note) == (is_proven, "1 loss is the same" if is_proven else words)


def test_a_patch_with_which_a_signal_kills_the_program_is_no_proof(tmp_path: Path) -> None:
    """A killed program has no exit status of its own in the report."""
    killed = replace(report(), trouble="killed by signal 11 at 0.4 of 8.0 GiB")
    program = Program(tmp_path, [1.0], [1.0], after=killed, status=139)
    proof = patch_proof(finding(), try_texts({}, program.settings, program.run), replace(report(), script_status=0))
    assert (proof.is_sufficient, proof.note) == (False, "with this change killed by signal 11 at 0.4 of 8.0 GiB")


def test_a_patch_with_which_the_program_exits_otherwise_is_no_proof(tmp_path: Path) -> None:
    program = Program(tmp_path, [1.0], [1.0], status=3)
    proof = patch_proof(finding(), try_texts({}, program.settings, program.run), replace(report(), script_status=0))
    assert (proof.is_sufficient, proof.note) == (False, "with this change the program ended with exit status 3")


def test_a_program_that_reads_its_input_is_not_said_to_fail_by_the_patch(tmp_path: Path) -> None:
    """The second run waited for input at an invisible prompt, or ended the first one's session."""
    failed = replace(report(), trouble="the program ended with EOFError after 0 counted steps")
    program = Program(tmp_path, [1.0], [1.0], after=failed, status=1)
    proof = patch_proof(finding(), try_texts({}, program.settings, program.run), report())
    words = "the program reads its input, which a second run does not have"
    assert (proof.is_sufficient, proof.note) == (False, f"{words}: {failed.trouble}")


def test_a_second_run_has_neither_prompt_nor_input(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    class Guarded(HuntGuard):
        def run(self) -> Result[HuntReport]:
            seen.append((self._settings.method, self._silence))
            return Result(0, None, was_killed=False)

    monkeypatch.setattr("gradlife.cli.hunt.HuntGuard", Guarded)
    quietly(Namespace(memory_limit=None, at_rss=0.9), ProgramView("hunting train.py"))(
        Settings("train.py", method=TALK)
    )
    assert seen == [(HUNT, subprocess.DEVNULL)]


def test_a_file_that_has_changed_since_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text("other\n")
    with pytest.raises(UsageError, match=r"the patch of train\.py does not fit"):
        changed_files([finding(patch_of("train.py", TEXT, "kept.append(1)\n"))])


def test_a_patch_that_does_not_fit_any_more_leaves_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file was edited while the hunt ran, and the whole report was lost."""
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text("other\n")
    program = Program(tmp_path, [1.0])
    [found] = proven(
        report(finding(patch_of("train.py", TEXT, "kept.append(1)\n"))), program.settings, program.run
    ).findings
    assert found.proof is not None
    assert (found.proof.is_sufficient, found.proof.has_rate) == (False, False)
    note = "the patch of train.py does not fit: line 1 and those around it have changed (try: hunt again)"
    assert found.proof.note == f"the change could not be tried: {note}"


@pytest.mark.parametrize(
    ("encoding", "cookie", "end"),
    [("utf-8", "", "\r\n"), ("latin-1", "# -*- coding: latin-1 -*-", "\n"), ("utf-8-sig", "", "\n")],
    ids=["CRLF", "latin-1", "byte order mark"],
)
def test_a_source_keeps_its_encoding_and_its_line_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str, cookie: str, end: str
) -> None:
    monkeypatch.chdir(tmp_path)
    text = f"{cookie}\nname = 'Zoë'\n{TEXT}".replace("\n", end)
    after = text.replace("(loss)", "(loss.item())")
    Path("train.py").write_bytes(text.encode(encoding))
    texts = changed_files([finding(patch_of("train.py", text, after))])
    assert write_texts(texts, {path: text_of(path) for path in texts}) == Written(("train.py",))
    assert Path("train.py").read_bytes() == after.encode(encoding)


LATIN = """
from pathlib import Path
from gradlife.hunting.process.changed_sources import change_sources
change_sources({str(Path("module.py")): "# coding: latin-1\\nname = 'Zo\u00eb'"})
import module
print(ascii(module.name))
"""


@pytest.mark.usefixtures("folder_on_path")
def test_a_changed_source_is_imported_in_its_own_encoding(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_bytes("# coding: latin-1\nname = 'é'".encode("latin-1"))
    done = subprocess.run([sys.executable, "-c", LATIN], cwd=tmp_path, capture_output=True, text=True, timeout=900)
    assert done.stdout == "'Zo\\xeb'\n", done.stderr


CHANGED = """
import sys
from pathlib import Path

from gradlife.hunting.process.changed_sources import change_sources, source_of

module = Path("module.py")
change_sources({str(module): "name = 'changed'"})
import module as imported, beside
print(imported.name, beside.name, source_of("module.py"), source_of("beside.py"))
"""


@pytest.mark.usefixtures("folder_on_path")
def test_a_changed_source_is_imported_in_the_place_of_its_file_and_of_its_cached_code(tmp_path: Path) -> None:
    for name in ("module", "beside"):
        (tmp_path / f"{name}.py").write_text(f"name = '{name}'")
    compile_all = [sys.executable, "-m", "compileall", "-q", str(tmp_path)]
    subprocess.run(compile_all, check=True, timeout=900)
    done = subprocess.run([sys.executable, "-c", CHANGED], cwd=tmp_path, capture_output=True, text=True, timeout=900)
    assert done.stdout == "changed beside b\"name = 'changed'\" b\"name = 'beside'\"\n", done.stderr


def test_a_source_that_is_a_link_stays_one_and_nothing_else_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, link = tmp_path / "shared" / "train.py", tmp_path / "work" / "train.py"
    for path in (real, link):
        path.parent.mkdir()
    real.write_text("old\n")
    real.chmod(0o640)
    link.symlink_to(real)
    monkeypatch.chdir(tmp_path)
    assert write_texts({str(link): "new\n"}, {str(link): "old\n"}) == Written(("work/train.py",))
    assert (link.is_symlink(), real.read_text(), real.stat().st_mode & 0o777) == (True, "new\n", 0o640)


@pytest.mark.parametrize("place", ["train.py", "package/train.py"])
def test_a_link_out_of_the_working_folder_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """A file of another project was changed."""
    real, work = tmp_path / "other" / "train.py", tmp_path / "work"
    for folder in (real.parent, work):
        folder.mkdir()
    real.write_text("old\n")
    (work / "train.py").symlink_to(real)
    (work / "package").symlink_to(real.parent)
    monkeypatch.chdir(work)
    found = write_texts({str(work / place): "new\n"}, {str(work / place): "old\n"})
    assert (found.files, found.others, real.read_text()) == ((), (place,), "old\n")
    assert found.trouble.startswith(f"{place} is a link to {real}, outside of the working folder (try: cd there, or ")


def test_a_file_with_two_names_is_not_changed_under_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file, other = tmp_path / "train.py", tmp_path / "other.py"
    file.write_text("old\n")
    other.hardlink_to(file)
    found = write_texts({str(file): "new\n"}, {str(file): "old\n"})
    assert (found.files, file.read_text(), other.read_text()) == ((), "old\n", "old\n")
    assert found.trouble.startswith("train.py has 2 names (hard links), and a new file would have one (try: ")


def test_a_changed_file_keeps_its_owner_mode_and_attributes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "train.py"
    file.write_text("old\n")
    file.chmod(0o751)
    owner = (4711, 4712) if os.geteuid() == 0 else (os.geteuid(), os.getegid())
    os.chown(file, *owner)
    has_attributes = hasattr(os, "setxattr")
    try:
        os.setxattr(file, "user.note", b"mine")
    except (AttributeError, OSError):
        has_attributes = False
    assert write_texts({str(file): "new\n"}, {str(file): "old\n"}) == Written(("train.py",))
    now = file.stat()
    assert (file.read_text(), (now.st_uid, now.st_gid), now.st_mode & 0o7777) == ("new\n", owner, 0o751)
    assert not has_attributes or os.getxattr(file, "user.note") == b"mine"


def test_a_file_that_may_not_be_written_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its folder may allow what the file does not."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "train.py"
    file.write_text("old\n")
    monkeypatch.setattr("os.access", lambda path, mode: mode != os.W_OK)
    found = write_texts({str(file): "new\n"}, {str(file): "old\n"})
    assert (found.files, file.read_text()) == ((), "old\n")
    assert found.trouble == "cannot write train.py: permission denied (try: gradlife hunt --patch FILE)"


def test_an_owner_that_cannot_be_kept_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "train.py"
    file.write_text("old\n")
    if os.geteuid() == 0:
        os.chown(file, 4711, 4712)
    else:
        pytest.skip("only root gives files away")

    def refused(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("os.chown", refused)
    found = write_texts({str(file): "new\n"}, {str(file): "old\n"})
    assert (found.trouble, file.read_text(), [*tmp_path.iterdir()]) == (
        "cannot write train.py: its owner and group cannot be kept (try: gradlife hunt --patch FILE)",
        "old\n",
        [file],
    )


@pytest.fixture
def three(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, str], dict[str, str]]:
    """The new texts of three files, and the old ones, which they have."""
    monkeypatch.chdir(tmp_path)
    before = {str(tmp_path / f"{name}.py"): f"old {name}\n" for name in "abc"}
    for path, text in before.items():
        Path(path).write_text(text)
    return {path: text.replace("old", "new") for path, text in before.items()}, before


def texts_here() -> dict[str, str]:
    """The texts of all files in the working folder, also of those that should not stay."""
    return {path.name: path.read_text() for path in sorted(Path().iterdir())}


def failing(function: Any, at: int) -> Any:
    """The function, which fails in its call number ``at``."""
    calls = itertools.count(1)

    def call(*arguments: Any) -> Any:
        if next(calls) == at:
            raise OSError(28, "No space left on device")
        return function(*arguments)

    return call


def test_if_one_file_cannot_be_written_none_is(three: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one was changed, and the report named the command that would change it."""
    monkeypatch.setattr("os.chmod", failing(os.chmod, 2))
    found = write_texts(*three)
    assert (found.files, found.others, found.sentence) == ((), ("a.py", "b.py", "c.py"), "no file was changed")
    assert found.trouble == "cannot write b.py: no space left on device (try: gradlife hunt --patch FILE)"
    assert texts_here() == {f"{name}.py": f"old {name}\n" for name in "abc"}


def test_if_the_last_step_of_one_file_fails_it_is_said_which_were_changed(
    three: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.replace", failing(os.replace, 2))
    found = write_texts(*three)
    assert (found.files, found.others, found.sentence) == (
        ("a.py",),
        ("b.py", "c.py"),
        "a.py changed; b.py, c.py not changed",
    )
    assert found.trouble == "cannot write b.py: no space left on device (try: gradlife hunt --patch FILE)"
    assert texts_here() == {"a.py": "new a\n", "b.py": "old b\n", "c.py": "old c\n"}
    assert str(last_line(found)) == "not fixed: a.py changed; b.py, c.py not changed"


def last_line(written: Written) -> object:
    """The last line of the report of a fix."""
    return [*fix_lines([], written.sentence, "", not written.others)][-1]


def test_what_was_edited_while_the_fix_was_tried_is_not_lost(three: Any) -> None:
    """The fix is tried in a run of the program, which may take hours."""
    Path("c.py").write_text("edited\n")
    found = write_texts(*three)
    assert (found.files, found.trouble) == ((), "c.py has changed since the fix was tried (try: hunt again)")
    assert texts_here() == {"a.py": "old a\n", "b.py": "old b\n", "c.py": "edited\n"}
