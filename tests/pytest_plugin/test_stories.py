"""Scenario files that pytest collects: a test for each story on each system, message in a child, failing in the story's words."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from textwrap import dedent

import pytest

from gradlife.backends.registry import DEFAULT_BACKENDS
from gradlife.pytest_plugin.scenarios import systems
from plugin_suites import Ran, run_suite

STORIES = '''
    """Stories of tensors, run on the fake framework."""

    import os
    from pathlib import Path

    from gradlife.scenario import Expect, scenario

    Path(__file__).with_name("loaded").open("a").write(f"{os.getpid()} {os.getppid()}\\n")


    @scenario(
        title="a tensor is dropped",
        origin=["pytorch/pytorch#25340"],
        pattern="GL101",
        expects=[Expect("x", "del", because="nobody else holds it")],
    )
    def tensor_dropped(lab):
        """The only name of a tensor goes. One of the frameworks keeps it."""
        x = lab.tensor()
        lab.watch("x", x)
        lab.stage("made")
        del x
        lab.stage("dropped", all_names_gone=True)


    @tensor_dropped.fixed(title="a tensor is never made", fix="make none", expects=[Expect("x", 3, probe="value")])
    def tensor_not_made(lab):
        """No tensor, no leak."""
        lab.value("x", 3)
        lab.stage("done")


    @scenario(title="it fails")
    def raises(lab):
        """A story that does not come to its end."""
        print("it was here")
        raise ValueError("no such thing")


    @scenario(title="it dies")
    def crashes(lab):
        """A story that takes its child down."""
        os.abort()


    @scenario(title="it can't be run", needs="hooks")
    def needs_hooks(lab):
        """Nothing has hooks here."""
'''
FILES = {
    "stories": STORIES,
    "helpers": "from gradlife.scenario import Expect\n\nKNOWN = [Expect('x', 'del')]\n",
    "_private": "from gradlife.scenario import scenario\n\nraise ValueError('not to be loaded')\n",
    "speaks_of_it": '"""It speaks of gradlife.scenario only."""\n\nraise ValueError("not to be loaded")\n',
    "test_own": "from gradlife import scenario\n\ndef test_of_pytest():\n    assert scenario.COLLECTED\n",
}
BACKENDS = ("--gradlife-backend=fake", "--gradlife-backend=fake:fake-leaky")


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    folder = tmp_path_factory.mktemp("files") / "stories"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / f"{name}.py").write_text(dedent(text), encoding="utf-8")
    return run_suite(folder, *BACKENDS, "--leaks")


def test_each_story_is_a_test_on_each_system(ran: Ran) -> None:
    words = {
        name: [ran.outcomes.get(f"stories.py::{name}[{system}]", "-") for system in ("fake", "fake:fake-leaky")]
        for name in ("tensor_dropped", "tensor_not_made", "raises", "crashes")
    }
    assert words == {
        "tensor_dropped": ["PASSED", "FAILED"],
        "tensor_not_made": ["PASSED", "PASSED"],
        "raises": ["FAILED", "FAILED"],
        "crashes": ["FAILED", "FAILED"],
    }
    assert ran.outcomes["test_own.py::test_of_pytest"] == "PASSED"
    assert len(ran.outcomes) == 9


def test_a_contradiction_is_reported_in_words_with_the_path_to_all_readings(ran: Ran) -> None:
    assert (
        "CONTRADICTED stories/tensor_dropped on fake:fake-leaky\n"
        "  x, liveness at 'dropped': declared del, got never\n"
        "  declared because nobody else holds it\n"
        "\n"
        "every reading: gradlife run stories.py::tensor_dropped --backend fake:fake-leaky --stage-detail\n"
    ) in ran.text


def test_a_story_that_does_not_end_well_says_how(ran: Ran) -> None:
    assert "  ValueError: no such thing (line 38)\n  printed last: it was here\n" in ran.text
    assert "  killed by SIGABRT\n" in ran.text


def test_what_a_system_lacks_skips_the_story_with_the_reason_at_its_place(ran: Ran) -> None:
    assert "SKIPPED [2] stories.py:47: needs hooks: Pack and unpack hooks" in ran.text


def test_stories_are_no_tests_that_outlive_anything(ran: Ran) -> None:
    assert [one["nodeid"] for one in ran.report["tests"]] == ["test_own.py::test_of_pytest"]


@pytest.mark.usefixtures("folder_on_path")
def test_a_file_of_stories_is_loaded_in_children_only(tmp_path: Path) -> None:
    ran = run_suite(tmp_path, *BACKENDS[:1], "-p", "pids", "stories.py", "-k", "tensor", pids=PIDS, stories=STORIES)
    assert ran.outcomes == {
        "stories.py::tensor_dropped[fake]": "PASSED",
        "stories.py::tensor_not_made[fake]": "PASSED",
    }
    loaded = [line.split()[0] for line in (tmp_path / "loaded").read_text().splitlines()]
    assert len(loaded) == 3  # to list what there is, then for each story
    assert (tmp_path / "pid").read_text() not in loaded


PIDS = """
    import os
    from pathlib import Path

    Path("pid").write_text(str(os.getpid()))
"""


def test_stories_are_selected_by_pattern_origin_and_name(tmp_path: Path) -> None:
    for words in (["-k", "GL101 and not not_made"], ["stories.py::tensor_dropped[fake]"]):
        ran = run_suite(tmp_path, *BACKENDS[:1], *words, stories=STORIES)
        assert ran.outcomes == {"stories.py::tensor_dropped[fake]": "PASSED"}


def test_a_file_that_can_not_be_loaded_is_an_error_of_collection_in_a_line(tmp_path: Path) -> None:
    ran = run_suite(tmp_path, *BACKENDS, broken="from gradlife.scenario import scenario\n\nraise ValueError('oh')\n")
    assert "broken.py is not a scenario file: ValueError: oh (line 3)" in ran.text
    assert "Traceback" not in ran.text
    assert ran.status == 2


def test_a_file_without_stories_is_one_where_it_is_named(tmp_path: Path) -> None:
    assert run_suite(tmp_path, *BACKENDS, helpers=FILES["helpers"]).status == 5
    named = run_suite(tmp_path, *BACKENDS, "helpers.py")
    assert "helpers.py is not a scenario file: it declares no scenario" in named.text
    assert named.status == 2


def test_a_system_that_there_is_not_is_refused_before_anything_is_collected(tmp_path: Path) -> None:
    ran = run_suite(tmp_path, "--gradlife-backend=fake:fake-leakier", stories=STORIES)
    assert "ERROR: gradlife: unknown backend 'fake:fake-leakier' (try: fake:fake-leaky" in ran.text
    assert ran.status == 4
    assert not (tmp_path / "loaded").exists()


def test_without_a_choice_stories_are_run_on_what_the_command_line_compares(tmp_path: Path) -> None:
    ran = run_suite(tmp_path, "--collect-only", "-q", stories=STORIES)
    shown = [line.partition("[")[2].rstrip("]") for line in ran.text.splitlines() if "::tensor_dropped[" in line]
    assert tuple(shown) == DEFAULT_BACKENDS


def test_a_test_that_takes_a_backend_runs_once_for_each(tmp_path: Path) -> None:
    suite = "def test_takes_one(gradlife_backend):\n    assert gradlife_backend.startswith('fake')\n"
    ran = run_suite(tmp_path, *BACKENDS, test_suite=suite)
    assert ran.outcomes == {
        "test_suite.py::test_takes_one[fake]": "PASSED",
        "test_suite.py::test_takes_one[fake:fake-leaky]": "PASSED",
    }


@pytest.mark.whole
def test_stories_are_divided_among_workers(tmp_path: Path) -> None:
    ran = run_suite(tmp_path, *BACKENDS, "-n2", stories=STORIES, plugins=("xdist",))
    assert sorted(ran.outcomes.values()) == ["FAILED"] * 5 + ["PASSED"] * 3


def test_pytorch_is_left_out_where_it_is_not_installed_unless_it_was_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    words = "PyTorch is not installed (try: pip install 'gradlife[torch]')"
    assert systems.system("torch", is_named=False) == systems.System("torch", trouble=words)
    with pytest.raises(pytest.UsageError, match="gradlife: PyTorch is not installed"):
        systems.system("torch", is_named=True)
