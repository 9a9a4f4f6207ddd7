"""The supported part of ``torch.utils``."""

import importlib
from typing import Any

from gradlife.engine.releases import UTILS
from gradlife.engine.utils import _python_dispatch as _python_dispatch, checkpoint as checkpoint, hooks as hooks


def __getattr__(name: str) -> Any:
    """Import ``weak`` on first use: a release without it cannot."""
    if name == "weak" and UTILS[name].holds():
        return importlib.import_module("gradlife.engine.utils.weak")
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
