"""What tests ask about processes."""

from __future__ import annotations

import time
from pathlib import Path


def is_running(pid: int) -> bool:
    """Is there such a process, and is it more than a zombie? A killed one may take a moment to go."""
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return False
        if state in "ZX":
            return False
        time.sleep(0.02)
    return True
