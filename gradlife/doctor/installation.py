"""Signs of the installation: versions of gradlife, Python and related packages, and the compiled extensions."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import platform
import re
import shutil
import sys
from collections.abc import Iterator
from types import ModuleType

from gradlife._version import __version__
from gradlife.model.checkup import Health, Sign

VERSIONS, INSTALLATION, MACHINE = "Versions", "Installation", "This machine"

#: Packages whose versions a bug report needs. PyTorch is asked for its own version.
BESIDE = (
    *("numpy", "textual", "pytest", "pytest-xdist", "ipython", "lightning", "transformers", "triton"),
    *("objgraph", "guppy3", "memray"),
)
EXTENSIONS = {"gradlife._heap": "the heap graph", "gradlife._engine": "the mini engine"}


def versions() -> Iterator[Sign]:
    """Return the versions of gradlife, Python, the machine, and related packages."""
    yield Sign(VERSIONS, "gradlife", __version__)
    implementation, build = platform.python_implementation(), " ".join(platform.python_build())
    yield Sign(VERSIONS, "Python", f"{implementation} {platform.python_version()} ({build})", *python_health())
    library = " ".join(platform.libc_ver()).strip()
    yield Sign(VERSIONS, "platform", ", ".join(filter(None, (platform.platform(), library))), *platform_health())
    for name in requirements():
        yield required(name)
    for name in BESIDE:
        found = version_of(name)
        yield Sign(VERSIONS, name, found or "not installed", Health.WELL if found else Health.ABSENT)
    dot = shutil.which("dot")
    yield Sign(VERSIONS, "graphviz", "dot is there" if dot else "no dot", Health.WELL if dot else Health.ABSENT)


def python_health() -> tuple[Health, str]:
    """Return the health of the interpreter."""
    if platform.python_implementation() != "CPython":
        return Health.BROKEN, "use CPython: gradlife reads its objects in memory"
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return Health.BROKEN, "use the ordinary build of this Python, or PYTHON_GIL=1"
    return Health.WELL, ""


def platform_health() -> tuple[Health, str]:
    """Return the health of the operating system."""
    if sys.platform == "win32":
        return Health.BROKEN, "use Linux, macOS or WSL: Windows is not supported"
    return Health.WELL, ""


def requirements() -> list[str]:
    """Return the required packages, as listed in gradlife's metadata."""
    try:
        declared = importlib.metadata.requires("gradlife") or []
    except importlib.metadata.PackageNotFoundError:  # run from source, never installed
        return []
    return [re.split(r"[^A-Za-z0-9._-]", line)[0] for line in declared if "extra ==" not in line]


def required(name: str) -> Sign:
    """Check a required package."""
    try:
        importlib.import_module(name.lower().replace("-", "_"))
    except BaseException as error:
        text = f"cannot be imported: {one_line(error)}"
        return Sign(VERSIONS, name, text, Health.BROKEN, f"pip install --force-reinstall {name}")
    return Sign(VERSIONS, name, version_of(name) or "version unknown")


def version_of(name: str) -> str:
    """Return the installed version without importing the package; empty if missing or unreadable."""
    try:
        return str(importlib.metadata.version(name))
    except Exception:  # damaged metadata may raise anything
        return ""


def extensions() -> Iterator[Sign]:
    """Check the compiled extensions."""
    for name, what in EXTENSIONS.items():
        try:
            yield extension_sign(importlib.import_module(name), what)
        except ImportError as error:
            remedy = "make build, in a checkout; or pip install --force-reinstall gradlife"
            yield Sign(INSTALLATION, what, f"{name}: {one_line(error)}", Health.BROKEN, remedy)
    yield Sign(INSTALLATION, "installed", "in place, from a checkout" if is_editable() else "as a package")


def extension_sign(module: ModuleType, what: str) -> Sign:
    """Return the sign of a loaded extension."""
    file = module.__file__ or ""
    build = getattr(module, "_build", "")
    size = f", {os.path.getsize(file):,} bytes" if os.path.exists(file) else ""
    text = f"{os.path.basename(file)}{size}: {build or 'older than this gradlife'}"
    health, remedy = (Health.WELL, "") if build else (Health.BROKEN, "make build: it is older than the sources")
    return Sign(INSTALLATION, what, text, health, remedy)


def is_editable() -> bool:
    """Whether gradlife runs from its source tree."""
    try:
        direct = importlib.metadata.distribution("gradlife").read_text("direct_url.json")
    except Exception:
        return False
    return '"editable": true' in (direct or "") or '"editable":true' in (direct or "")


def system_files() -> Iterator[Sign]:
    """Check which files of /proc can be read. A process may read its own files without ptrace permission."""
    if sys.platform != "linux":
        yield Sign(MACHINE, "/proc", f"not on {sys.platform}", Health.ABSENT)
        return
    for path, lost in PROC_FILES.items():
        yield proc_sign(path, lost)
    yield Sign(MACHINE, "permission to trace (ptrace)", "not needed: only this process is read")


#: What is lost if a file cannot be read.
PROC_FILES = {
    "/proc/self/maps": "where memory is: no native holder can be searched for",
    "/proc/self/pagemap": "which pages are there: a search of memory takes longer",
    "/proc/self/statm": "how much memory is resident: a hunt cannot stop before the limit",
}


def proc_sign(path: str, lost: str) -> Sign:
    """Check one file of /proc."""
    try:
        with open(path, "rb", buffering=0) as file:
            file.read(8)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        return Sign(MACHINE, path, f"{why}; unknown is {lost}", Health.LESS, "mount /proc readable for this user")
    return Sign(MACHINE, path, "can be read")


def one_line(error: BaseException) -> str:
    """Format an exception as one line, without the user's home folder."""
    return " ".join(f"{type(error).__name__}: {error}".replace(os.path.expanduser("~") + os.sep, "~/").split())[:300]
