"""The library that makes allocations fail: compiled once, preloaded into a child, and armed there."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).with_name("faults.cpp")
KINDS = ("python", "native")
PATH = "GRADLIFE_FAULTS"


def compile_injector(folder: Path) -> Path:
    """Compile the library for this interpreter. Raises RuntimeError without a compiler or with another libc."""
    compiler = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None)
    if compiler is None or not sys.platform.startswith("linux"):
        raise RuntimeError("allocation failures need Linux, glibc and a C++ compiler")
    library = folder / "faults.so"
    include = f"-I{sysconfig.get_paths()['include']}"
    flags = ["-std=c++17", "-O1", "-shared", "-fPIC", "-pthread", "-fno-builtin-malloc", include]
    subprocess.run([compiler, *flags, str(SOURCE), "-o", str(library), "-ldl"], check=True, timeout=900)
    return library


def environment(library: Path) -> dict[str, str]:
    """Return the environment of a child in which allocations can fail."""
    return {**os.environ, "LD_PRELOAD": str(library), PATH: str(library)}


@dataclass(frozen=True)
class Injector:
    """Arms the preloaded library."""

    library: Any

    @staticmethod
    def load() -> Injector:
        spec = importlib.util.spec_from_file_location("faults", os.environ[PATH])
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return Injector(module)

    def run(self, kind: str, number: int, action: Callable[[], Any]) -> tuple[Any, BaseException | None, bool]:
        """Run the action while its n-th allocation fails. Return its result or error, and whether it had that many
        allocations.
        """
        result, raised = None, None
        arm, disarm = self.library.arm, self.library.disarm
        arm(kind, number)
        try:
            result = action()
        except BaseException as error:
            raised = error
        finally:
            fired = disarm()
        return result, raised, fired
