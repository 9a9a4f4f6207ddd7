"""gradlife: what keeps this object alive, and should it?

Importing this package is cheap: torch, rich and the compiled engine are imported only when used. Like everything the
child worker imports, it stays in the Python 3.7 subset.
"""

import importlib
import os

from gradlife._version import __version__
from gradlife.errors import GradlifeError, UnsupportedPythonError, UsageError
from gradlife.supported_python import objection as _objection

if _objection()[0]:
    raise UnsupportedPythonError(*_objection())

__all__ = [
    "GradlifeError",
    "UsageError",
    "__version__",
    "census",
    "device_memory",
    "diff",
    "hunt",
    "on_oom",
    "open_snapshot",
    "peak",
    "refs",
    "serve",
    "snapshot",
    "watch",
    "why",
]

#: Names that need the compiled walk.
_IN_HEAP = ("census", "diff", "open_snapshot", "refs", "snapshot", "why")

#: Names that run a program step by step.
_IN_HUNTING = ("hunt",)


def _html_of(value: object) -> str:
    """Return the HTML that a notebook shows for a report, a trace, a snapshot or a difference. Values themselves do not
    import reports.
    """
    return importlib.import_module("gradlife.reports.html.fragments").fragment(value)  # type: ignore[no-any-return]


def _html_of_snapshot(snapshot: object) -> str:
    """Return the HTML that a notebook shows for a snapshot: the largest owners and types."""
    return _html_of(importlib.import_module("gradlife.heap.views.overview").summary(snapshot))


def _difference(before: object, after: object) -> object:
    """Return the difference of two snapshots, which does not import what compares them."""
    return importlib.import_module("gradlife.heap.views.difference").difference(before, after)


def _text_of(report: object, is_full: bool = False) -> str:
    """Return a report as `print` shows it, or all of it."""
    shown = importlib.import_module("gradlife.reports.formats.plain_text").plain_text(report, is_full)
    return shown  # type: ignore[no-any-return]


def _found(name: str) -> object:
    """Import a name that is used for the first time."""
    if name in _IN_HEAP:
        return getattr(importlib.import_module("gradlife.heap"), name)
    if name == "device_memory":
        return importlib.import_module("gradlife.devices.live").device_memory
    if name == "serve":
        return importlib.import_module("gradlife.attach.server").serve
    if name == "on_oom":
        return importlib.import_module("gradlife.program.hunt.on_oom").on_oom
    if name == "watch":
        return importlib.import_module("gradlife.cli.watching.watch_report").watch
    if name in _IN_HUNTING:
        return getattr(importlib.import_module("gradlife.program.hunt.api"), name)
    if name == "peak":
        return importlib.import_module("gradlife.program.peak.api").peak
    if name == "load_ipython_extension":  # `%load_ext gradlife`
        return importlib.import_module("gradlife.interactive.notebook.magics").load_ipython_extension
    raise AttributeError(f"module 'gradlife' has no attribute {name!r}")


def __getattr__(name):  # type: ignore[no-untyped-def]
    """Import functions that need the compiled walk on first use: ``gradlife.why(obj)``, ``gradlife.refs(obj)``.

    A function that was found stays: a loop calls ``gradlife.watch()`` in every step.
    """
    found = globals()[name] = _found(name)
    return found


def __dir__():  # type: ignore[no-untyped-def]
    """Return the public names, those that are not imported yet among them."""
    return sorted(__all__)


if os.environ.get("GRADLIFE_SERVE") == "1":
    importlib.import_module("gradlife.attach.server").serve_quietly()
