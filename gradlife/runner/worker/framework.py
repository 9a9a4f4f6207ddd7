"""Load a framework in a child and describe it."""

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
    """Import the framework with one thread, and set the engine profile if one is given."""
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
    """Return the number of threads of this process, if the system knows it."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        import threading

        return threading.active_count()


def load_numpy() -> None:
    """Import numpy now, if installed, so that no story pays for it."""
    if "numpy" not in sys.modules:
        with contextlib.suppress(ImportError):
            importlib.import_module("numpy")


def load_compiler(fw: Any, needs: str) -> None:
    """Do the imports that the parts needed by a story would do at first use.

    This saves time, and keeps the frames of these imports, which are garbage, from referring to the story's own.
    """
    if any(word.startswith(COMPILED_PARTS) for word in needs.split()):
        with contextlib.suppress(ImportError):
            importlib.import_module(fw.__name__ + "._dynamo")
