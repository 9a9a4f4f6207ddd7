"""Rules for every test: nothing of the engine is left behind undeclared, and torch is asked for by its marker."""

from __future__ import annotations

import contextlib
import gc
import importlib.metadata
import importlib.util
import os
import signal
import sys
from collections.abc import Callable, Generator, Iterator

import pytest

from leftovers import difference, live_counts, run_in_child
from story_files import write_story as write_story

# No example has a time limit: machines are shared. What is to land is judged by the same examples each time; whoever runs
# the tests without GRADLIFE_FIXED_EXAMPLES looks for new ones.
if importlib.util.find_spec("hypothesis") is not None:
    from hypothesis import settings

    is_fixed = bool(os.environ.get("GRADLIFE_FIXED_EXAMPLES"))
    settings.register_profile("gradlife", deadline=None, derandomize=is_fixed)
    settings.load_profile("gradlife")

#: The release that the engine's usual profile imitates.
FAITHFUL_TO = "2.13."

FAILED = pytest.StashKey[bool]()

#: So many old objects are hidden. Each test adds some fifteen, of its reports, and is judged after four collections.
MANY = 1_000


def pytest_configure() -> None:
    """Load the engine before the first count. Unbuilt, it is missed by the tests that import it, not by the others.

    A shell that runs the tests in the background has them ignore SIGINT, and what they start with them: heard again here.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    with contextlib.suppress(ImportError):
        importlib.import_module("gradlife.engine")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # Those that take a minute come first: at the end one worker would wait for another that has the last of them.
    items.sort(key=lambda item: item.get_closest_marker("long") is None)
    if importlib.util.find_spec("torch") is not None:
        return skip_on_other_releases(items)
    for item in items:
        if item.get_closest_marker("torch"):
            item.add_marker(pytest.mark.skip(reason="torch is not installed: pip install 'gradlife[torch]'"))


def skip_on_other_releases(items: list[pytest.Item]) -> None:
    release = importlib.metadata.version("torch")
    if release.startswith(FAITHFUL_TO):
        return
    for item in items:
        if item.get_closest_marker("faithful"):
            item.add_marker(pytest.mark.skip(reason=f"the engine imitates torch {FAITHFUL_TO}, this is {release}"))


class Imported:
    """The number of imported modules when the collector last froze them."""

    modules = 0


def hide_what_is_imported() -> None:
    """Hide it from the collector: with torch loaded, each collection would take a third of a second."""
    # What is hidden is not counted: `gc.get_freeze_count()` goes through all of it. A test may have thawed it.
    if len(sys.modules) > Imported.modules + 50 or len(gc.get_objects(generation=2)) > MANY:
        Imported.modules = len(sys.modules)
        gc.collect()
        gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Import the tests without the collector: it would go through all of torch again and again, a third of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    hide_what_is_imported()


def declared_leaves(item: pytest.Item) -> dict[str, int]:
    marker = item.get_closest_marker("leaves")
    return {kind: count for kind, count in marker.kwargs.items() if count} if marker else {}


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """A test that leaves something runs in a child, and must leave exactly what it declares."""
    declared = declared_leaves(pyfuncitem)
    if declared:
        original = pyfuncitem.obj
        pyfuncitem.obj = lambda **arguments: run_in_child(leave, original, arguments, declared)
        try:
            return (yield)
        finally:
            pyfuncitem.obj = original
    return (yield)


def leave(test: Callable[..., object], arguments: dict[str, object], declared: dict[str, int]) -> None:
    before = live_counts()
    test(**arguments)
    left = difference(before, live_counts())
    assert left == declared, f"declares that it leaves {declared}, but leaves {left}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.when == "call":
        item.stash[FAILED] = report.failed
    return report


@pytest.fixture(autouse=True)
def nothing_left_behind(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a test that leaves live engine objects; one that failed keeps them in its traceback and is let off."""
    forget_last_failure()
    hide_what_is_imported()  # by the tests before
    before = live_counts()
    yield
    if request.node.stash.get(FAILED, True):
        return
    left = {kind: more for kind, more in difference(before, live_counts()).items() if more > 0}
    assert not left, f"left behind, undeclared: {left} (see tests/support/leftovers.py)"


def forget_last_failure() -> None:
    """Drop what the interpreter remembers of an earlier failure: its frames keep that test's objects alive."""
    for name in ("last_exc", "last_value", "last_traceback", "last_type"):
        if hasattr(sys, name):
            delattr(sys, name)


@pytest.fixture
def folder_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let programs import the modules beside them, whatever the environment of the tests says: `make asan` forbids it."""
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
