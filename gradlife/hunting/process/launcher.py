"""Python processes that a launcher such as `accelerate launch` starts.

Each joins the hunt, or the recording of a peak, as it starts. The first that takes steps claims it. Its report is left
in the folder of the settings.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from gradlife.hunting.process.settings import Settings

#: The environment variable with the settings that a new Python process joins with.
VARIABLE = "GRADLIFE_LAUNCHED_HUNT"

#: The module whose `join` a new Python process calls.
JOINED_BY = "gradlife.program.launched"

#: The file with the ID of the process that takes the steps, which is the one that created it.
CLAIM = "claim"

#: The module that each Python imports as it starts. It also imports the environment's own module of that name.
SITECUSTOMIZE = """\
import sys
own = sys.modules.pop("sitecustomize")
sys.path[:] = [path for path in sys.path if path != {folder!r}]
try:
    import sitecustomize
except ImportError:
    sys.modules["sitecustomize"] = own
words = getattr(sys, "orig_argv", [])[:4]
is_old = sys.version_info < (3, 11)  # a Python that gradlife does not run on
if not is_old and ("-c" not in words or {variable!r} in __import__("os").environ):  # not a process of multiprocessing
    try:
        from {module} import join
    except ImportError:  # a Python without gradlife
        pass
    else:
        join()
"""


def follow_children(settings: Settings) -> None:
    """Make each Python that this process starts or becomes join with these settings."""
    follow_programs(settings.folder)
    os.environ[VARIABLE] = settings.for_others().dump()


def follow_programs(root: str) -> None:
    """Make each Python that this process starts call `join`. ``root``: the folder of the settings."""
    folder = os.path.join(root, "site")
    if os.path.exists(folder):
        return
    os.makedirs(folder)
    Path(folder, "sitecustomize.py").write_text(
        SITECUSTOMIZE.format(folder=folder, variable=VARIABLE, module=JOINED_BY), encoding="utf-8"
    )
    paths = [folder, *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)


def claim(folder: str) -> bool:
    """Claim the steps for this process if no other has; return whether they are this process's."""
    path = os.path.join(folder, CLAIM)
    with suppress(OSError):
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        os.write(descriptor, str(os.getpid()).encode())
        os.close(descriptor)
        return True
    return is_claimed_by(folder) == os.getpid()


def is_claimed_by(folder: str) -> int | None:
    """Return the ID of the process that takes the steps; None while there is none."""
    with suppress(OSError, ValueError):
        return int(Path(folder, CLAIM).read_text(encoding="ascii"))
    return None


def is_reporter(folder: str, is_launched: bool) -> bool:
    """Whether this process writes the report: the one that took steps, else the launcher."""
    owner = is_claimed_by(folder)
    return not is_launched if owner is None else owner == os.getpid()
