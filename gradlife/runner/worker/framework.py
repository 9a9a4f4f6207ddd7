"""Brings a framework up in a child and says what it is."""

from __future__ import annotations

import contextlib
import importlib
import os
import platform
import sys
from typing import Any

from gradlife.scenario import profile_name

#: Parts of a framework whose first use imports its compiler (torch 2.x), which takes seconds.
COMPILED_PARTS = ("optim.", "utils.checkpoint.", "checkpoint_by_hooks", "compile")


def load_framework(module: str, profile: str | None) -> Any:
    """The framework's module, with one thread, and under the engine profile if one is asked for."""
    fw = importlib.import_module(module)
    if hasattr(fw, "set_num_threads"):
        fw.set_num_threads(1)
    if profile is not None:
        fw.set_default_profile(profile)
    return fw


def describe(fw: Any, module: str) -> dict[str, Any]:
    """Describe the loaded framework for the parent."""
    version = str(getattr(fw, "__version__", ""))
    return {
        "framework": module,
        "version": version,
        "profile": profile_name(module, version),
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "threads": thread_count(),
    }


def thread_count() -> int:
    """Threads of this process, as the system counts them where it does."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        import threading

        return threading.active_count()


def load_numpy() -> None:
    """Import numpy now if it is there, so that no story pays for it."""
    if "numpy" not in sys.modules:
        with contextlib.suppress(ImportError):
            importlib.import_module("numpy")


def load_compiler(fw: Any, needs: str) -> None:
    """Import what the parts that a story needs would import at their first use.

    Not only for the time: the frames that an import leaves to the collector lead up to the story's own.
    """
    if any(word.startswith(COMPILED_PARTS) for word in needs.split()):
        with contextlib.suppress(ImportError):
            importlib.import_module(fw.__name__ + "._dynamo")
