"""Arguments that name an object of a snapshot."""

from __future__ import annotations

import argparse
import re


def address_or_type(text: str) -> int | str:
    """Parse ``0x7f..`` and numbers as addresses, as ``id(obj)`` and reports print them; anything else is a type."""
    return int(text, 0) if re.fullmatch(r"0[xX][0-9a-fA-F]{1,16}|[1-9][0-9]{0,19}|0", text) else text


def count(text: str) -> int:
    """Parse a positive number of rows."""
    if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of rows")
    return int(text)
