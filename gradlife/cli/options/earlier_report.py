"""Reads the report of an earlier run, with which this one is compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from gradlife.errors import UsageError
from gradlife.model.codec import CodecError
from gradlife.model.from_json import document_text
from gradlife.output import reason

Report = TypeVar("Report")


def read_earlier(path: str, loads: Callable[[str], Report], command: str) -> Report:
    """Read a report that ``command --json`` wrote. Raises `UsageError`, with that command as its remedy."""
    remedy = f"{command} --json FILE TARGET makes one"
    try:
        return loads(document_text(path))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {reason(error)}", remedy) from None
    except CodecError as error:
        raise UsageError(f"{path}: {error.message}", error.hint or remedy) from None
    except ValueError as error:
        raise UsageError(f"{path}: {error}", remedy) from None
