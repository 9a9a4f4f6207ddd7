"""The commits between two, each checked out in a worktree of its own: the user's checkout is never touched."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gradlife.bisection.followed import Surroundings
from gradlife.errors import GradlifeError, UsageError, shortened
from gradlife.model.bisection import Candidate

#: Variables that a hook of git sets, and that would make git work elsewhere.
GIT_VARIABLES = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR")

#: No hook of the repository runs.
QUIET = ("-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false")

#: Digits of a commit's name.
DIGITS = 10

#: What a repository with a package has at its root. The worktree's package goes before one that is installed in place.
PACKAGE_FILES = ("pyproject.toml", "setup.py", "setup.cfg")


class Repository:
    """A git repository, seen from the working folder."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        try:
            self.root = self._git("rev-parse", "--show-toplevel")
        except FileNotFoundError:
            raise UsageError("bisecting commits needs git", "install git") from None
        except UsageError as error:
            raise UsageError(error.message, "cd to the repository of the program") from None
        self.prefix = self._git("rev-parse", "--show-prefix")

    def commit(self, name: str) -> Candidate:
        """Return the commit of a name such as ``v1.2`` or ``HEAD~3``. Raises UsageError."""
        try:
            key = self._git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        except UsageError:
            raise UsageError(f"{shortened(name)!r} is no commit of {self.root}", "git log --oneline") from None
        return self._candidate(key)

    def between(self, good: Candidate, bad: Candidate) -> list[Candidate]:
        """Return the commits after the good one up to the bad one, oldest first. Raises UsageError if there are none.

        Commits of the main line, where the good one is on it: a merge then stands for its branch.
        """
        if good.key == bad.key:
            raise UsageError(f"{good.name} is both the good end and the bad one", "an earlier good commit")
        if self._lacks(good, bad):
            hint = (
                f"gradlife bisect {bad.name} {good.name} -- hunt ..."
                if not self._lacks(bad, good)
                else "git merge-base"
            )
            raise UsageError(f"{good.name} does not come before {bad.name}", hint)
        line = self._keys("--first-parent", f"{good.key}..{bad.key}")
        parents = self._git("rev-list", "--parents", "--max-count=1", line[0]).split()[1:]
        keys = line if good.key in parents[:1] else self._keys("--ancestry-path", f"{good.key}..{bad.key}")
        return [self._candidate(key) for key in keys]

    @contextmanager
    def worktree(self) -> Iterator[Worktree]:
        """Make a worktree, and remove it at the end."""
        with tempfile.TemporaryDirectory(prefix="gradlife-bisect-", ignore_cleanup_errors=True) as folder:
            place = os.path.join(os.path.realpath(folder), Path(self.root).name)
            self._git(*QUIET, "worktree", "add", "--quiet", "--detach", "--no-checkout", place)
            try:
                yield Worktree(self, place)
            finally:
                self._git("worktree", "remove", "--force", "--force", place)

    def is_merge(self, commit: Candidate) -> bool:
        """Whether a commit has several parents."""
        return len(self._git("rev-list", "--parents", "--max-count=1", commit.key).split()) > 2

    def _lacks(self, one: Candidate, other: Candidate) -> bool:
        """Whether one commit is not in the history of another."""
        return self._git("merge-base", one.key, other.key) != one.key

    def _keys(self, *words: str) -> list[str]:
        return self._git("rev-list", "--reverse", "--topo-order", *words).split()

    def _candidate(self, key: str) -> Candidate:
        title, date = self._git("log", "--max-count=1", "--format=%s%x00%as", key).split("\0")
        return Candidate(key[:DIGITS], key, title, date)

    def _git(self, *words: str) -> str:
        return run_git(self._folder, *words)


class Worktree:
    """A worktree in which one commit after the other is checked out."""

    def __init__(self, repository: Repository, folder: str) -> None:
        self._repository = repository
        self.folder = folder

    def place(self, commit: Candidate) -> Surroundings:
        """Check a commit out, without anything that earlier ones left. Raises GradlifeError if that is not possible."""
        try:
            run_git(self.folder, *QUIET, "checkout", "--quiet", "--force", "--detach", commit.key)
            run_git(self.folder, *QUIET, "clean", "--quiet", "-ffdx")
        except UsageError as error:
            raise GradlifeError(error.message) from None
        folder = os.path.join(self.folder, self._repository.prefix)
        if not os.path.isdir(folder):
            raise GradlifeError(f"there is no folder {self._repository.prefix}")
        return Surroundings(sys.executable, folder, self._environment())

    def _environment(self) -> dict[str, str]:
        """Return variables with which the worktree's modules go before those of the user's checkout."""
        environment = own_environment()
        root = Path(self._repository.root)
        entries = environment.get("PYTHONPATH", "").split(os.pathsep)
        moved = [
            os.path.join(self.folder, Path(entry).relative_to(root)) if is_in(entry, root) else entry
            for entry in entries
        ]
        has_package = any(Path(self.folder, name).exists() for name in PACKAGE_FILES)
        folders = [name for name in (os.path.join(self.folder, "src"), self.folder) if os.path.isdir(name)]
        parts = [*(folders if has_package else []), *(entry for entry in moved if entry)]
        return {**environment, **({"PYTHONPATH": os.pathsep.join(parts)} if parts else {})}


def is_in(entry: str, root: Path) -> bool:
    """Whether a folder lies in another."""
    return os.path.isabs(entry) and Path(entry).is_relative_to(root)


def own_environment() -> dict[str, str]:
    """Return the environment variables without those of a hook of git."""
    return {name: value for name, value in os.environ.items() if name not in GIT_VARIABLES}


def run_git(folder: str, *words: str) -> str:
    """Run git and return what it prints. Raises UsageError with its last line."""
    environment = {**own_environment(), "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    done = subprocess.run(["git", "-C", folder, *words], capture_output=True, env=environment, stdin=subprocess.DEVNULL)
    output, errors = (text.decode("utf-8", "replace").strip("\n") for text in (done.stdout, done.stderr))
    if done.returncode != 0:
        last = next(reversed(errors.splitlines()), f"status {done.returncode}")
        raise UsageError(
            f"git {words[0] if not words[0].startswith('-') else 'here'}: {last.removeprefix('fatal: ')}", ""
        )
    return output
