from __future__ import annotations

from pathlib import Path

import pytest

from gradlife.runner.server import ForkServer, ServerError, parse_records
from processes import HANGS, open_descriptors

FRAMEWORK = """
import os, threading, time
__version__ = "3.2.1"
imported_by = os.getpid()
def ones(n): return [1.0] * n
"""
THREAD = "threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()\n"
STORY = """
import os
from gradlife.scenario import scenario

@scenario(title="where")
def where(lab):
    lab.value("forked", lab.fw.imported_by != os.getpid())
    lab.value("stdin", os.read(0, 1) == b"")
    lab.value("seed", hasattr(lab.fw, "manual_seed"))
"""


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "toy_framework.py").write_text(FRAMEWORK)
    (tmp_path / "threaded_framework.py").write_text(FRAMEWORK + THREAD)
    (tmp_path / "story.py").write_text(STORY)
    return {
        "do": "run", "module": "toy_framework", "engine_profile": None, "system": "toy", "profile": "toy-3.2",
        "file": str(tmp_path / "story.py"), "scenario": "where", "isolation": "fork",
    }  # fmt: skip


def values(server: ForkServer, job: dict[str, object]) -> dict[str, object]:
    ended = server.do(job, HANGS)
    assert ended.exit_code == 0, ended.output
    return {record["subject"]: record["value"] for record in ended.records if record["kind"] == "reading"}


def test_a_server_imports_its_framework_once_and_forks_a_child_for_each_job(job: dict[str, object]) -> None:
    with ForkServer("toy_framework") as server:
        assert (server.about["version"], server.about["profile"], server.about["threads"]) == (
            "3.2.1",
            "toy_framework-3.2",
            1,
        )
        for _ in range(2):
            assert values(server, job) == {"forked": True, "stdin": True, "seed": False}


def test_a_file_that_changes_between_two_jobs_is_run_as_it_is_then(job: dict[str, object], tmp_path: Path) -> None:
    with ForkServer("toy_framework") as server:
        assert values(server, job) == {"forked": True, "stdin": True, "seed": False}
        (tmp_path / "story.py").write_text(STORY.replace('"seed"', '"a longer name"'))
        assert values(server, job) == {"forked": True, "stdin": True, "a longer name": False}


def test_a_file_that_does_not_compile_fails_in_the_child_and_leaves_the_server(
    job: dict[str, object], tmp_path: Path
) -> None:
    with ForkServer("toy_framework") as server:
        (tmp_path / "story.py").write_text("x = = 1\n")
        (record,) = server.do(job, HANGS).records
        assert (record["kind"], record["error"].splitlines()[0][:12]) == ("failed", "SyntaxError:")
        (tmp_path / "story.py").write_text(STORY)
        assert values(server, job) == {"forked": True, "stdin": True, "seed": False}


def test_a_framework_that_starts_threads_gets_a_fresh_interpreter_for_each_job(job: dict[str, object]) -> None:
    job["module"] = "threaded_framework"
    with ForkServer("threaded_framework") as server:
        assert server.about["threads"] == 2
        assert values(server, job) == {"forked": False, "stdin": True, "seed": False}


def test_a_server_starts_when_it_is_first_needed_and_again_after_it_was_closed(job: dict[str, object]) -> None:
    server = ForkServer("toy_framework")
    assert values(server, job)
    server.close()
    assert values(server, job)
    server.close()
    server.close()


def test_a_framework_that_ends_its_process_on_import_is_one_error(job: dict[str, object], tmp_path: Path) -> None:
    (tmp_path / "dying_framework.py").write_text("import os; os.write(2, b'last words'); os._exit(3)")
    with pytest.raises(ServerError, match=r"^dying_framework can't be imported: last words$"):
        ForkServer("dying_framework").start()


def test_a_server_leaves_no_descriptor_open(job: dict[str, object]) -> None:
    before = open_descriptors()
    with ForkServer("toy_framework") as server:
        values(server, job)
    assert open_descriptors() <= before


@pytest.mark.parametrize(
    ("data", "records", "is_garbled"),
    [
        (b"", [], False),
        (b'{"kind": "done"}\n', [{"kind": "done"}], False),
        (b'{"kind": "done"}\n{"ki', [{"kind": "done"}], True),
        (b'[1]\n{"kind": 3}\n{}\n\xff\n', [], True),
    ],
)
def test_only_whole_records_count(data: bytes, records: list[object], is_garbled: bool) -> None:
    assert parse_records(data) == (records, is_garbled)
