"""The known differences, each with its reason. `docs/robustness.md` has them, too, in the same words."""

from __future__ import annotations

HUNTS = ("hunt", "lines")
RUNS = (*HUNTS, "peak", "follow", "snapshot")
ALL = (*RUNS, "attach", "pytest")

#: Of all programs: what differs, the doors, and why.
ALWAYS: dict[str, tuple[tuple[str, ...], str]] = {
    "depth": (RUNS, "gradlife runs the program's code from Python functions of its own: 4 to 8 frames are below it"),
    "descriptors": (ALL, "snapshots, pipes and sockets of gradlife are open, with numbers from 800 on"),
    "next descriptor": (("follow",), "a file that gradlife opens has the lowest free number for a moment"),
    "finders": (ALL, "`sys.meta_path` has finders that find nothing themselves: gradlife hears of imports by them"),
    "environment": (HUNTS, "processes that the program starts are hunted in: PYTHONPATH and GRADLIFE_* tell them"),
    "collector": (
        ALL,
        "births are heard through one more function in `gc.callbacks`, a few steps run without the collector, and what a"
        " service had before a hunt is frozen for its time",
    ),
    "traced": (HUNTS, "the return of the training function is heard by a profile function where there is none"),
    "children": (("follow",), "a copy of the process reads the heap at that moment; `os.wait` does not return it"),
    "argv": (("pytest",), "the option `--leaks` is in it"),
    "orig_argv": (("pytest",), "the option `--leaks` is in it"),
}

#: Of single programs: the program and what differs, the doors, and why.
SINGLE: dict[tuple[str, str], tuple[tuple[str, ...], str]] = {
    ("environment", "output"): (
        HUNTS,
        "processes that the program starts are hunted in: PYTHONPATH and GRADLIFE_* tell them",
    ),
    ("arguments", "output"): (("pytest",), "the option `--leaks` is in it"),
    ("arguments", "errors"): (("pytest",), "the option `--leaks` is in it"),
    ("finalizers_that_print", "output"): (
        ("pytest",),
        "the collector runs after the test: what waits for it goes then, and not as the process ends",
    ),
    ("hooks", "errors"): (
        (*HUNTS, "peak", "follow"),
        "a function of gradlife is around `Tensor.backward`: a warning that counts frames names the line below",
    ),
}


def is_known(program: str, name: str, door: str) -> bool:
    """Whether a difference is in a table."""
    rows = (ALWAYS.get(name), SINGLE.get((program, name)))
    return any(row is not None and door in row[0] for row in rows)
