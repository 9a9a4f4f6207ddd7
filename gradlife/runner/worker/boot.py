"""How a worker interpreter is started: with its parent's import path, and nothing of the folder it starts in."""

from __future__ import annotations

import json
import sys
from typing import Any

_BOOT = (
    "import json, sys; order = json.loads(sys.argv[1]); sys.path[:] = order['path']; "
    "from gradlife.runner.worker.boot import started; started(order)"
)


def boot_arguments(role: str, order: dict[str, Any], executable: str = "") -> list[str]:
    """The command line of a worker in a role, `serve` or `fresh`."""
    order = dict(order, role=role, path=[entry for entry in sys.path if entry])
    return [executable or sys.executable, "-c", _BOOT, json.dumps(order)]


def started(order: dict[str, Any]) -> None:
    """First function of a started worker."""
    if order["role"] == "serve":
        from gradlife.runner.worker.serve import serve

        serve(order["descriptor"], order["module"])
    else:
        from gradlife.runner.worker.child import do

        do(order["job"], order["descriptor"])
