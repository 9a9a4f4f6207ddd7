"""The plugin keeps nothing alive: objects of tests, fixtures, reports and exceptions die no later than without it.

Each suite runs in an interpreter of its own, the collector at rest but where the plugin itself calls it. What is alive is
written down after each test, by weak references that only this script has.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

SCRIPT = """
    import gc, json, sys, weakref

    import pytest

    gc.disable()
    frozen = gc.get_freeze_count()  # Python 3.12 freezes objects of its own
    watched = []
    alive = {}


    def watch(name, obj):
        try:
            watched.append((name, weakref.ref(obj)))
        except TypeError:  # an exception of Python's own
            pass
        return obj


    def living():
        return sorted(name for name, reference in watched if reference() is not None)


    class Watcher:
        @pytest.hookimpl(wrapper=True, tryfirst=True)
        def pytest_runtest_makereport(self, item, call):
            if call.excinfo is not None:
                watch(f"exception of {item.name} in {call.when}", call.excinfo.value)
                watch(f"info of {item.name} in {call.when}", call.excinfo)
            watch(f"call of {item.name}: {call.when}", call)
            report = yield
            watch(f"report of {item.name}: {call.when}", report)
            return report

        def pytest_itemcollected(self, item):
            watch(f"item {item.name}", item)

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_logfinish(self, nodeid):
            alive[f"after {nodeid}"] = living()

        @pytest.hookimpl(tryfirst=True)
        def pytest_sessionfinish(self, session):
            watch("session", session)
            watch("config", session.config)
            alive["at the end"] = living()


    def main(arguments):
        pytest.main(arguments, plugins=[Watcher()])


    if __name__ == "__main__":
        sys.modules["watching"] = sys.modules["__main__"]
        main(sys.argv[1:])
        alive["when pytest has returned"] = living()
        gc.enable()
        gc.collect()
        alive["when the collector has run"] = living()
        assert gc.get_freeze_count() <= frozen
        with open("alive.json", "w") as file:
            json.dump(alive, file)
"""

SUITE = """
    import unittest

    import gradlife.engine as torch
    import pytest
    from watching import watch

    no_leaks = pytest.mark.no_leaks(repeat=2, warmup=1)
    kept, runs = [], []

    class Owner:
        pass

    class Wrong(Exception):
        pass

    @pytest.fixture
    def batch():
        yield watch("the value of batch", torch.ones(4, requires_grad=True))

    @pytest.fixture(scope="module")
    def shared():
        yield watch("the value of shared", Owner())

    def test_passes(batch, shared):
        mine = watch("a local of test_passes", torch.ones(3))
        (batch * 2).sum().backward()

    def test_fails(batch):
        mine = watch("a local of test_fails", torch.ones(3))
        raise Wrong("its own reason")

    def test_passes_then(batch):
        mine = watch("a local of test_passes_then", torch.ones(3))

    def test_raises_in_a_cycle():
        mine = watch("a local of test_raises_in_a_cycle", torch.ones(3))
        try:
            raise Wrong("caught")
        except Wrong as error:
            caught = watch("what test_raises_in_a_cycle caught", error)
        raise KeyError("not caught")

    def test_leaks(batch):
        mine = watch("a local of test_leaks", torch.ones(3))
        kept.append(watch("what test_leaks keeps", torch.ones(3)))

    @no_leaks
    def test_is_marked_and_leaks(batch):
        mine = watch("a local of test_is_marked_and_leaks", torch.ones(3))
        kept.append(watch("what test_is_marked_and_leaks keeps", torch.ones(3)))

    def test_keeps_a_small_cycle():
        owner = watch("a cycle", Owner())
        owner.itself = owner
        owner.mine = watch("a tensor of a cycle", torch.ones(3))

    @no_leaks
    def test_is_marked(batch, shared):
        runs.append(0)
        mine = watch(f"a local of run {len(runs)}", torch.ones(3))

    @no_leaks
    def test_is_marked_and_fails(batch):
        mine = watch("a local of test_is_marked_and_fails", torch.ones(3))
        raise Wrong("its own reason")

    class TestUnit(unittest.TestCase):
        def setUp(self):
            self.mine = watch("an attribute of a case", torch.ones(3))

        def test_case(self):
            watch("a case", self)

        @no_leaks
        def test_marked_case(self):
            watch("a marked case", self)

    class TestMethods:
        def test_method(self):
            self.mine = watch("an attribute of an instance", torch.ones(3))
            watch("an instance", self)

    def test_logs(caplog):
        import logging
        logging.getLogger().warning("%s", watch("an argument of a record", torch.ones(3)))

    def test_is_last():
        pass
"""

OFF = [word for name in ("cacheprovider", "randomly", "xdist", "asyncio", "memray") for word in ("-p", f"no:{name}")]


def alive_in(folder: Path, *arguments: str) -> dict[str, set[str]]:
    """Return what was alive at each moment."""
    folder.mkdir()
    (folder / "script.py").write_text(dedent(SCRIPT), encoding="utf-8")
    (folder / "test_suite.py").write_text(dedent(SUITE), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "script.py", "-q", *OFF, *arguments],
        cwd=folder,
        env={**os.environ, "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, list[str]] = json.loads((folder / "alive.json").read_text(encoding="utf-8"))
    return {moment: set(names) for moment, names in found.items()}


#: pytest itself keeps the call and the exception of a test that fails. Without the plugin these two pass.
OF_FAILURES = {
    f"{what} of {test}{end}"
    for test in ("test_leaks", "test_is_marked_and_leaks")
    for what, end in (("exception", " in call"), ("info", " in call"), ("call", ": call"))
}


@pytest.fixture(scope="module")
def without(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    return alive_in(tmp_path_factory.mktemp("alive") / "without", "-p", "no:gradlife")


@pytest.mark.whole
@pytest.mark.parametrize("options", [(), ("--leaks", "--leaks-report=r.json"), ("--leaks-repeat=1",)])
def test_what_dies_without_the_plugin_dies_with_it(
    without: dict[str, set[str]], tmp_path: Path, options: tuple[str, ...]
) -> None:
    found = alive_in(tmp_path / "with", *options)
    assert list(found) == list(without)
    longer = {moment: names - without[moment] - OF_FAILURES for moment, names in found.items()}
    assert {moment: names for moment, names in longer.items() if names} == {}


def test_something_was_watched(without: dict[str, set[str]]) -> None:
    assert without["after test_suite.py::test_fails"] >= {
        "a local of test_fails",
        "exception of test_fails in call",
    }
    assert len([moment for moment in without if moment.startswith("after ")]) == SUITE.count("def test_")
    assert "a cycle" in without["at the end"]
    assert "a cycle" not in without["when the collector has run"]
