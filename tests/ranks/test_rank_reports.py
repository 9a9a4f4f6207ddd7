"""The folders of ranks are read however the ranks ended."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from fabricated_hunts import CLEAN, LEAKING
from gradlife.errors import UsageError
from gradlife.hunting.process.rank import Rank, join_run, rank_of, start_of
from gradlife.model import hunt_codec
from gradlife.model.ranks import RankEnd
from gradlife.ranks.rank_report import RankReport, SnapshotTime, has_ended, reports_in


def member(path: Path, **values: Any) -> None:
    """Who has the rank: a process that is gone."""
    path.mkdir(parents=True, exist_ok=True)
    who = {"rank": 1, "world_size": 4, "local": 1, "host": socket.gethostname(), "pid": 1, "started": "gone"}
    (path / "member.json").write_text(json.dumps({**who, **values}))


def the_one(folder: Path) -> RankReport:
    """The only rank."""
    [found] = reports_in(str(folder))
    return found


def test_a_rank_that_ended_leaves_its_last_report_and_its_figures(tmp_path: Path) -> None:
    path = tmp_path / "rank-00001"
    member(path)
    (path / "interim").write_text(hunt_codec.dumps(CLEAN))
    (path / "end").write_text(hunt_codec.dumps(LEAKING))
    (path / "log").write_text("snapshot 5 1.5 1.75\npeak 4096\nsnapshot 10 2.0")
    found = the_one(tmp_path)
    assert (found.rank, found.world_size, found.end, found.status, found.peak) == (1, 4, RankEnd.FINISHED, 0, 4096)
    assert found.snapshots == (SnapshotTime(5, 1.5, 1.75),)
    assert found.document is not None
    assert found.document["verdict"] == "leak"


def test_a_rank_whose_process_is_gone_is_lost_and_keeps_its_interim_report(tmp_path: Path) -> None:
    member(tmp_path / "rank-00001")
    (tmp_path / "rank-00001" / "interim").write_text(hunt_codec.dumps(LEAKING))
    found = the_one(tmp_path)
    assert found.end is RankEnd.LOST
    assert found.document is not None
    assert has_ended(str(tmp_path / "rank-00001"))


def test_a_last_report_that_was_cut_off_leaves_the_one_before_it(tmp_path: Path) -> None:
    path = tmp_path / "rank-00001"
    member(path)
    (path / "interim").write_text(hunt_codec.dumps(LEAKING))
    (path / "end").write_text(hunt_codec.dumps(CLEAN)[:40])
    found = the_one(tmp_path)
    assert found.document is not None
    assert (found.end, found.document["verdict"]) == (RankEnd.LOST, "leak")


def test_a_rank_whose_process_is_there_is_running(tmp_path: Path) -> None:
    join_run(str(tmp_path), Rank(1, 2))
    assert the_one(tmp_path).end is RankEnd.RUNNING
    assert not has_ended(str(tmp_path / "rank-00001"))


def test_the_number_of_a_process_that_another_has_by_now_is_not_the_rank(tmp_path: Path) -> None:
    member(tmp_path / "rank-00001", pid=os.getpid(), started=start_of(os.getpid()) + "1")
    assert the_one(tmp_path).end is RankEnd.LOST


def test_a_rank_of_another_machine_counts_as_there(tmp_path: Path) -> None:
    member(tmp_path / "rank-00001", host="another machine")
    assert the_one(tmp_path).end is RankEnd.RUNNING


def test_what_its_guard_says_of_a_rank_counts(tmp_path: Path) -> None:
    member(tmp_path / "rank-00001")
    result = {"end": "killed", "status": 137, "trouble": "killed by signal 9", "peak_bytes": 77}
    (tmp_path / "rank-00001" / "result.json").write_text(json.dumps(result))
    found = the_one(tmp_path)
    assert (found.end, found.status, found.trouble, found.peak) == (RankEnd.KILLED, 137, "killed by signal 9", 77)


def test_a_folder_of_plain_reports_has_the_ranks_that_the_names_say(tmp_path: Path) -> None:
    (tmp_path / "node2-rank-3.json").write_text(hunt_codec.dumps(LEAKING))
    (tmp_path / "node2-rank-11.json").write_text(hunt_codec.dumps(CLEAN))
    assert [one.rank for one in reports_in(str(tmp_path))] == [11, 3]


@pytest.mark.parametrize(
    ("names", "ranks"),
    [
        (("run-1718031234.json", "run-1718031299.json"), [0, 1]),
        (("rank-1-1718031234.json", "rank-0-1718031299.json"), [0, 1]),
        (("rank0_job7.json", "rank1_job7.json"), [0, 1]),
    ],
)
def test_the_time_in_a_name_is_not_a_rank(tmp_path: Path, names: tuple[str, ...], ranks: list[int]) -> None:
    """It became the world size, and all memory went to ranks that left no report."""
    for name in names:
        (tmp_path / name).write_text(hunt_codec.dumps(CLEAN))
    assert sorted(one.rank for one in reports_in(str(tmp_path))) == ranks


def test_reports_without_numbers_are_numbered_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in ("b.json", "a.json"):
        (tmp_path / name).write_text(hunt_codec.dumps(CLEAN))
    assert [one.rank for one in reports_in(str(tmp_path))] == [0, 1]


@pytest.mark.parametrize("text", ["{", "[]", '{"format": "gradlife.run/1"}'])
def test_a_file_that_is_no_report_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "rank-0.json").write_text(text)
    with pytest.raises(UsageError, match=r"rank-0.json is no report of a hunt"):
        list(reports_in(str(tmp_path)))


def test_a_folder_without_reports_and_one_that_is_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no report of a rank"):
        list(reports_in(str(tmp_path)))
    with pytest.raises(UsageError, match=r"cannot read .*nowhere"):
        list(reports_in(str(tmp_path / "nowhere")))


@pytest.mark.parametrize(
    ("environ", "rank"),
    [
        ({"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"}, Rank(3, 8, 1, 2)),
        ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}, Rank(1, 2, 0, 2)),
        ({"PMI_RANK": "1", "PMI_SIZE": "4", "MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "2"}, Rank(1, 4, 1, 2)),
        ({"SLURM_PROCID": "2", "SLURM_STEP_NUM_TASKS": "4", "SLURM_TASKS_PER_NODE": "2(x2)"}, Rank(2, 4, 0, 2)),
        ({"SLURM_PROCID": "2", "SLURM_STEP_NUM_TASKS": "3", "SLURM_TASKS_PER_NODE": "2,1"}, Rank(2, 3, 0, 2)),
        (
            {"SLURM_PROCID": "2", "SLURM_STEP_NUM_TASKS": "3", "SLURM_TASKS_PER_NODE": "2,1", "SLURM_NODEID": "1"},
            Rank(2, 3, 0, 1),
        ),
        (
            {
                "RANK": "4",
                "WORLD_SIZE": "5",
                "SLURM_PROCID": "4",
                "SLURM_STEP_NUM_TASKS": "5",
                "SLURM_TASKS_PER_NODE": "2(x2),1",
            },
            Rank(4, 5, 0, 2),
        ),
        (
            {
                "RANK": "1",
                "WORLD_SIZE": "4",
                "SLURM_PROCID": "0",
                "SLURM_STEP_NUM_TASKS": "2",
                "SLURM_TASKS_PER_NODE": "1(x2)",
            },
            Rank(1, 4, 0, 4),  # ranks of one machine, in a task of another launcher
        ),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "4"}, None),  # a batch script is no task of a step
        ({"RANK": "0", "WORLD_SIZE": "1"}, None),
        ({"RANK": "2", "WORLD_SIZE": "2"}, None),
        ({"RANK": "many", "WORLD_SIZE": "2"}, None),
        ({}, None),
    ],
)
def test_launchers_say_in_the_environment_which_rank_a_process_is(environ: dict[str, str], rank: Rank | None) -> None:
    assert rank_of(environ) == rank


def test_a_run_of_one_rank_is_a_run_where_it_was_asked_for() -> None:
    assert rank_of({"RANK": "0", "WORLD_SIZE": "1"}, least=1) == Rank(0, 1, 0, 1)
