"""Refusals where lifetimes cannot be measured: reported at collection, never silent."""

from __future__ import annotations

import gc
import platform
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gradlife.pytest_plugin import refusals
from plugin_suites import run_suite

SUITE = """
    import pytest

    @pytest.mark.no_leaks
    def test_marked():
        pass

    def test_plain():
        pass
"""


@pytest.mark.parametrize(
    ("place", "name", "value", "words"),
    [
        (platform, "python_implementation", lambda: "PyPy", "this is PyPy, and lifetimes are measured in CPython only"),
        (
            sys,
            "abiflags",
            "t",
            "is free-threaded, and gradlife reads objects under the interpreter lock (try: the ordinary",
        ),
        (
            sys,
            "version_info",
            (3, 14, 4),
            "Python 3.14.4 has a collector that gradlife cannot read (try: Python 3.14.5 or",
        ),
        (sys, "version_info", (3, 16, 0), "what its objects look like is known from 3.11 to 3.15"),
    ],
)
def test_an_interpreter_that_is_none_to_measure_in_is_named(
    place: Any, name: str, value: Any, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert refusals.of_interpreter() == ""
    monkeypatch.setattr(place, name, value)
    assert words in refusals.of_interpreter()


def test_a_frozen_collector_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for own_of_python in (0, 375):
        monkeypatch.setattr(gc, "get_freeze_count", lambda count=own_of_python: count)
        assert refusals.of_collector() == ""
    monkeypatch.setattr(gc, "get_freeze_count", lambda: 1234)
    assert "the collector is frozen: gc.freeze() hides 1,234 objects from it" in refusals.of_collector()


def fake_config(is_forked: bool, has_forked: bool = True) -> pytest.Config:
    manager = SimpleNamespace(has_plugin=lambda name: has_forked and name == "pytest_forked")
    config = SimpleNamespace(getoption=lambda name, default: is_forked and name == "forked", pluginmanager=manager)
    return cast(pytest.Config, config)


def test_tests_that_run_in_forked_copies_are_named() -> None:
    marked = cast(pytest.Item, SimpleNamespace(keywords={"forked"}, nodeid="t.py::test_it"))
    plain = cast(pytest.Item, SimpleNamespace(keywords=set(), nodeid="t.py::test_other"))
    words = "runs in a forked copy of the process, where what it leaves behind is lost: run it without"
    assert list(refusals.of_workers(fake_config(True), [])) == [f"every test {words} --forked"]
    assert list(refusals.of_workers(fake_config(False), [plain, marked])) == [
        f"t.py::test_it {words} its marker `forked`"
    ]
    assert list(refusals.of_workers(fake_config(False, has_forked=False), [marked])) == []


@pytest.mark.parametrize(
    ("conftest", "words"),
    [
        ("import gc\ngc.freeze()", "the collector is frozen: gc.freeze() hides "),
        ("import sys\nsys.modules['gradlife._heap'] = None", "the compiled part of gradlife is missing: "),
    ],
)
def test_no_test_is_run_where_a_marked_one_can_not_be_measured(tmp_path: Path, conftest: str, words: str) -> None:
    ran = run_suite(tmp_path, conftest=conftest, test_suite=SUITE)
    assert f"gradlife can't measure here: {words}" in ran.text
    assert ran.status == (2 if "freeze" in conftest else 4)
    assert ran.outcomes == {}


def test_a_refusal_is_no_test_that_failed_last(tmp_path: Path) -> None:
    """`--lf` looked for a test named gradlife."""
    run_suite(tmp_path, conftest="import gc\ngc.freeze()", test_suite=SUITE, plugins=("cacheprovider",))
    assert not (tmp_path / ".pytest_cache" / "v" / "cache" / "lastfailed").exists()


def test_a_worker_that_can_not_measure_says_so_to_whoever_started_it(tmp_path: Path) -> None:
    ran = run_suite(tmp_path, "-n1", conftest="import gc\ngc.freeze()", test_suite=SUITE, plugins=("xdist",))
    assert "gradlife can't measure here: the collector is frozen" in ran.text
    assert ran.status == 1
    assert ran.outcomes == {}


def test_a_collector_that_a_test_freezes_leaves_its_check_without_a_result(tmp_path: Path) -> None:
    suite = "import gc\nimport gradlife.engine as torch\n\nkept = []\n\n"
    suite += "def test_freezes():\n    kept.append(torch.ones(3))\n    gc.freeze()\n    kept.append(torch.ones(3))\n"
    ran = run_suite(tmp_path, "--leaks", test_suite=suite)
    checked = ran.checked("test_freezes")
    assert (checked["verdict"], ran.status) == ("inconclusive", 1)
    assert checked["trouble"].startswith("the collector was frozen or thawed while the test ran")


def test_a_copy_of_the_process_does_not_check(tmp_path: Path) -> None:
    conftest = """
        import os, pytest

        @pytest.hookimpl(wrapper=True, tryfirst=True)
        def pytest_runtest_call(item):
            copy = os.fork()
            if copy == 0:
                try:
                    yield
                except BaseException as error:
                    print(error, flush=True)
                os._exit(0)
            os.waitpid(copy, 0)
            yield
    """
    ran = run_suite(tmp_path, "-s", conftest=conftest, test_suite=SUITE)
    assert "this test runs in a forked copy of the process that collected it" in ran.text


def test_an_unknown_mode_is_distinguished_from_a_path(tmp_path: Path) -> None:
    ran = run_suite(tmp_path, "--leaks=wrn", test_suite=SUITE)
    assert ran.status == 4
    assert "gradlife: --leaks=wrn: 'warn' or 'fail', and there is no such path either" in ran.text
    assert run_suite(tmp_path, "--leaks", "test_suite.py::test_plain").outcomes == {
        "test_suite.py::test_plain": "PASSED"
    }
