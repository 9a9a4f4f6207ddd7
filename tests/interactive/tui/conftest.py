"""The snapshot that the tests go through."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from explorers import SCRIPT


@pytest.fixture(scope="session")
def heap_file(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The snapshot of the program."""
    folder: Path = tmp_path_factory.mktemp("tui")
    (folder / "shop.py").write_text(SCRIPT, encoding="utf-8")
    command = [sys.executable, "-m", "gradlife", "snapshot", "--user-text", "-o", "shop.glheap", "shop.py"]
    subprocess.run(command, cwd=folder, check=True, timeout=900)
    return str(folder / "shop.glheap")
