"""The first function of a started worker: a fork server, or a child that does one job."""

from __future__ import annotations

from typing import Any

from gradlife.runner.worker.boot import package_folders
from gradlife.runner.worker.child import do
from gradlife.runner.worker.serve import serve


def started(order: dict[str, Any]) -> None:
    """Run a started worker."""
    folders = package_folders()
    folders += [folder for folder in order["package"] if folder not in folders]
    if order["role"] == "serve":
        serve(order["descriptor"], order["module"])
    else:
        do(order["job"], order["descriptor"])
