"""The probe of interpreter exit: lines printed while the interpreter ends and modules may be gone.

Reads: nothing; a finalizer of the story calls `say_at_exit`, and the process that started the interpreter reads the
lines and the exit status. Cannot see: lines after file descriptor 2 was closed. Cost: one write.
"""

from __future__ import annotations

import os
from typing import Callable

#: The prefix of such a line on standard error.
EXIT_MARK = "@@ "


def say_at_exit(text: str, _write: Callable[[int, bytes], int] = os.write, _mark: str = EXIT_MARK) -> None:
    """Write a line using only its defaults: this module's globals may be gone."""
    _write(2, (_mark + text + "\n").encode("utf-8", "replace"))
