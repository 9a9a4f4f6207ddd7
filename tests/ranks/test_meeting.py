"""The end of a run whose ranks are not all there: the others wait in vain, and the report names them."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fabricated_hunts import CLEAN
from gradlife.errors import EXIT_COULD_NOT_TELL, UsageError
from gradlife.hunting.process.rank import Rank, join_run, rank_of, write_result
from gradlife.model import hunt_codec
from gradlife.ranks import meeting
from gradlife.ranks.meeting import ENDING, Hurry, Meeting, hurrying
from gradlife.ranks.merge import merge
from gradlife.ranks.rank_report import reports_in
from gradlife.ranks.run_folder import RunFolder, folder_for


def ended_rank(folder: Path, rank: Rank) -> None:
    """Leave the files of a rank that ended."""
    own = join_run(str(folder), rank)
    Path(own, "end").write_text(hunt_codec.dumps(CLEAN))
    write_result(own, 0)


def settled(folder: Path, rank: Rank, patience: float) -> int | None:
    """Return what the rank settles on, where every verdict is that of the merged report."""
    waiting = Meeting(RunFolder(str(folder), is_private=True), rank, patience, Hurry())
    return waiting.settle(lambda: merge(reports_in(str(folder)), rank.world_size).exit_status)


def test_ranks_that_never_joined_are_named_and_the_run_is_not_called_clean(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A rank on another machine, without a folder that both share: the status was 0 after ten minutes."""
    for number in (0, 1):
        ended_rank(tmp_path, Rank(number, 4))
    assert settled(tmp_path, Rank(1, 4), patience=0.001) == EXIT_COULD_NOT_TELL
    assert capsys.readouterr().err == (
        "gradlife: ranks 2-3 of 4 never joined the run (try: --run-folder FOLDER, one that all machines share)\n"
    )
    assert settled(tmp_path, Rank(0, 4), patience=0.001) == EXIT_COULD_NOT_TELL
    assert capsys.readouterr().err == ""


def test_a_rank_that_still_runs_is_the_one_to_merge(tmp_path: Path) -> None:
    ended_rank(tmp_path, Rank(0, 3))
    join_run(str(tmp_path), Rank(1, 3))  # this process
    assert settled(tmp_path, Rank(0, 3), patience=0.001) is None


def test_a_rank_that_failed_does_not_wait_for_those_that_have_not_joined_yet(tmp_path: Path) -> None:
    ended_rank(tmp_path, Rank(0, 2))
    assert settled(tmp_path, Rank(0, 2), patience=0.0) is None


def test_ranks_that_number_themselves_on_several_machines_need_a_folder() -> None:
    environ = {
        "RANK": "2",
        "WORLD_SIZE": "3",
        "SLURM_PROCID": "2",
        "SLURM_STEP_NUM_TASKS": "3",
        "SLURM_TASKS_PER_NODE": "2,1",
    }
    rank = rank_of(environ)
    assert rank is not None
    with pytest.raises(UsageError, match="ranks on several machines need a folder that they share"):
        folder_for(rank, None, environ)


@pytest.fixture
def hangups_ignored() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in ENDING}
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("hangups_ignored")
def test_a_hangup_that_nohup_ignores_does_not_shorten_the_wait() -> None:
    with hurrying() as hurry:
        signal.raise_signal(signal.SIGHUP)
        assert hurry.deadline is None
        signal.raise_signal(signal.SIGTERM)
        assert hurry.deadline is not None


def on_another_machine(folder: Path, rank: Rank, status: int) -> None:
    """Leave the files of a rank that ended on another machine."""
    own = Path(join_run(str(folder), rank))
    member = json.loads((own / "member.json").read_text())
    (own / "member.json").write_text(json.dumps({**member, "host": "another"}))
    write_result(str(own), status)


def meeting_of(folder: Path, rank: Rank, hurry: Hurry) -> Meeting:
    return Meeting(RunFolder(str(folder)), rank, 1e9, hurry)


def test_a_rank_that_failed_on_another_machine_is_not_expected_to_merge(tmp_path: Path) -> None:
    """It had ended; the others waited for it until their launcher killed them."""
    on_another_machine(tmp_path, Rank(0, 2), status=1)
    ended_rank(tmp_path, Rank(1, 2))
    assert meeting_of(tmp_path, Rank(1, 2), Hurry())._is_first(is_late=False)
    write_result(str(tmp_path / "rank-00000"), 0)
    assert not meeting_of(tmp_path, Rank(1, 2), Hurry())._is_first(is_late=False)


def test_a_rank_in_a_hurry_waits_less_for_one_on_another_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(meeting, "GRACE", 1e9)
    monkeypatch.setattr(meeting, "HURRIED", 0.0)
    on_another_machine(tmp_path, Rank(0, 2), status=0)
    ended_rank(tmp_path, Rank(1, 2))
    hurry = Hurry()
    hurry.begin(signal.SIGTERM, None)
    assert meeting_of(tmp_path, Rank(1, 2), hurry).settle(lambda: 7) == 7


def test_a_rank_that_gives_up_says_how_to_merge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(meeting, "GRACE", 0.0)
    for rank in (Rank(0, 2), Rank(1, 2)):
        ended_rank(tmp_path, rank)
    (tmp_path / "merging").touch()  # by a rank that is gone
    assert meeting_of(tmp_path, Rank(1, 2), Hurry()).settle(lambda: 7) is None
    assert capsys.readouterr().err == f"gradlife: no rank has merged the reports: gradlife merge {tmp_path}\n"


def joined_by_child(folder: Path) -> int:
    """The exit status of a child that joins as rank 0 and ends; this process is its launcher."""
    child = os.fork()
    if not child:
        try:
            RunFolder(str(folder)).join(Rank(0, 2))
        except UsageError:
            os._exit(2)
        finally:
            os._exit(1 if sys.exc_info()[0] else 0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="launchers are known on Linux")
def test_a_launcher_that_starts_its_ranks_again_finds_their_folder_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """torchrun does when a node joins or leaves, without counting a restart: "has reports of an earlier run"."""
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
    assert joined_by_child(tmp_path) == 0
    (tmp_path / "merged.json").write_text('{"status": 0}')
    assert joined_by_child(tmp_path) == 0
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith("earlier-")] == ["rank-00000"]
    with pytest.raises(UsageError, match="has reports of an earlier run"):
        RunFolder(str(tmp_path)).join(Rank(0, 2))  # another launcher's
    monkeypatch.delenv("TORCHELASTIC_RUN_ID")
    assert joined_by_child(tmp_path) == 2  # a shell starts one run after another
