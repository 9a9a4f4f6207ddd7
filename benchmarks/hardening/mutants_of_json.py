"""JSON files with wrong values and right seals. Run with `make json-mutants`, or with `ARGS="--count 100"`.

Each mutant is a recording, a baseline of the pytest plugin, a report of a hunt or a peak, a report of memory that ran
out, or the state of a watcher, with some values replaced, removed or nested. The file must be refused with one line, or
everything that gradlife makes of it must come, without anything that its reader would act on.
"""

from __future__ import annotations

import io
import json
import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from copy import deepcopy
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.hardening.mutants import check, run, write, wrong
from gradlife.backends import recorded
from gradlife.cli.formats import visible_text
from gradlife.cli.hunt import WRITERS as HUNT_WRITERS, compare, print_report, read_report
from gradlife.cli.peak import WRITERS as PEAK_WRITERS
from gradlife.errors import GradlifeError
from gradlife.model import hunt_codec, recording_codec
from gradlife.model.hunt import HELD
from gradlife.model.peak import codec as peak_codec
from gradlife.model.watching.out_of_memory import Growth, HeldByStep, LiveOwner, OutOfMemory, out_of_memory_in
from gradlife.program.hunt.findings_log import FORMAT as STATE_FORMAT, FindingsLog
from gradlife.pytest_plugin.outcomes import baseline
from gradlife.reports.devices.out_of_memory import print_out_of_memory
from gradlife.reports.formats.github.annotations import hunt_annotations
from gradlife.reports.peak.terminal import print_peak
from gradlife.reports.theme import make_console

sys.path.extend(
    str(Path(__file__).parents[2] / "tests" / part) for part in ("support", "peaks/support", "devices/support")
)
import fabricated_devices
import fabricated_hunts
import fabricated_peaks

STORIES = 6  # of a recording
DEEP = 100_000
UNUSUAL: tuple[Any, ...] = (
    None, True, 0, 1, -1, 2**31, 2**63, 10**400, 0.5, -0.0, 1e308, float("nan"), float("inf"), "", "0", "\x1b[31mred",
    "\u202e\u2028\r", "\n::error::x\n##[error]x", "\x9b##vso[x]\x7f", 2**53, 2**64 - 1,
    "\ud800", "<script>", "x" * 5000, [], [[]], {}, {"": None}, [None], {"a": {"b": [1]}},
)  # fmt: skip


def peak(path: Path) -> None:
    report = peak_codec.loads(path.read_text(encoding="utf-8"))
    for in_full in (False, True):
        check_printed(print_peak, report, in_full)
    write_all(PEAK_WRITERS, report)


def hunt(path: Path) -> None:
    report = read_report(str(path))
    for in_full in (False, True):
        check_printed(print_report, report, in_full)
    write_all(HUNT_WRITERS, report)
    for line in hunt_annotations(report):
        check(line, "github")
    compare(report, fabricated_hunts.EVERYTHING)
    compare(fabricated_hunts.EVERYTHING, report)


def check_printed(show: Callable[..., object], *values: Any) -> None:
    """Check what a function prints."""
    printed = io.StringIO()
    show(make_console(printed, 80), *values)
    check(printed.getvalue(), "terminal")


def write_all(writers: Any, report: Any) -> None:
    """Write a report in each format."""
    for format_, writer in writers.items():
        module, _, name = writer.partition(":")
        text = visible_text(format_, getattr(import_module(module), name)(report))
        if isinstance(text, str):
            check(text.encode("utf-8", "replace").decode(), format_)


def recording(path: Path) -> None:
    found = recorded.read(path)
    text = recording_codec.dumps(found)
    if recording_codec.dumps(recording_codec.loads(text)) != text:  # not the recordings: one may have NaN
        raise AssertionError("what was written reads differently")


def known_leaks(path: Path) -> None:
    found = baseline.read([path])
    text = baseline.dumps(found)
    [(one.words, one.has_expired) for one in found.entries.values()]
    path.write_text(text, encoding="utf-8")
    if baseline.read([path]) != found:
        raise AssertionError("what was written reads differently")


def state(path: Path) -> None:
    FindingsLog(state=str(path)).take(fabricated_hunts.EVERYTHING)


def out_of_memory(path: Path) -> None:
    report = out_of_memory_in(str(path))
    for in_full in (False, True) if report is not None else ():
        check_printed(print_out_of_memory, report, "x", in_full)


@cache
def documents() -> tuple[tuple[Callable[[Path], None], str], ...]:
    """Return each reader with a good document."""
    whole = recorded.read(recorded.folder() / "torch-2.13.0.json")
    small = replace(whole, stories=tuple(sorted(whole.stories, key=lambda one: len(one.run.readings))[-STORIES:]))
    leaks = [
        baseline.Known(f"{n:08x}", "GL402", "a list", ("t.py::t",), "known", "gh#1", "2030-01-01") for n in range(3)
    ]
    oom = OutOfMemory(
        "MemoryError: 8 GB", "12:00:00", 1, None, 1 << 30, 1 << 31, {"cpu": 1 << 20},
        (LiveOwner("global variable 'runs': list", 1 << 20),), (Growth("list", 3, 4),),
        (HeldByStep(HELD, "local variable 'out' of step, train.py:14: Tensor", 1 << 20, 2),), (fabricated_devices.memory(),),
    )  # fmt: skip
    last = {"format": STATE_FORMAT, "findings": {"7c1e09ab": {"code": "GL402", "title": "a list", "first": "2026"}}}
    return (
        (recording, recording_codec.dumps(small)),
        (known_leaks, baseline.dumps(baseline.Baseline({one.fingerprint: one for one in leaks}))),
        (hunt, hunt_codec.dumps(fabricated_hunts.EVERYTHING)),
        (peak, peak_codec.dumps(fabricated_peaks.REPORT)),
        (out_of_memory, oom.dumps()),
        (state, json.dumps(last)),
    )


def read_each_that_is_whole() -> None:
    """Read every document once: children that are forked after that have all imports and templates."""
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(io.StringIO()):
        for number, (read, text) in enumerate(documents()):
            file = Path(folder, f"{number}.json")
            file.write_text(text, encoding="utf-8")
            read(file)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every container with each key in it."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield value, key
        yield from places(item)


def mutate(document: Any, rng: random.Random) -> None:
    """Replace, remove, repeat or exchange up to three values."""
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
        found = list(places(document))
        if not found:
            return
        container, key = rng.choice(found)
        other, of = rng.choice(found)
        chance = rng.random()
        if chance < 0.6:
            container[key] = deepcopy(rng.choice(UNUSUAL))
        elif chance < 0.75:
            container[key] = json.loads(json.dumps(other[of]))
        elif chance < 0.9 or isinstance(container, dict):
            del container[key]
        else:
            container.append(container[key])


def sealed(document: Any) -> Any:
    """Make the seals of a recording right again, as far as it still has their places."""
    if isinstance(document, dict) and "stories" in document and "seal" in document:
        names = ("format", "system", "backend", "rounds")
        document["seal"] = recording_codec.seal({name: document[name] for name in names if name in document})
        stories = document["stories"] if isinstance(document["stories"], list) else []
        for item in stories:
            if isinstance(item, dict) and "readings" in item:
                item["seal"] = recording_codec._seal_of(item)
    return document


def try_mutant(seed: int, folder: Path) -> str:
    """Read one mutant and return the outcome."""
    rng = random.Random(seed)
    read, text = rng.choice(documents())
    document = json.loads(text)
    mutate(document, rng)
    file = folder / "x.json"
    text = json.dumps(sealed(document))
    if rng.random() < 0.01:
        text = text.replace('"', "[" * DEEP + '"', 1) if rng.random() < 0.5 else text[: rng.randrange(len(text))]
    write(file, text.encode())
    sys.stdout = io.StringIO()
    try:
        read(file)
    except GradlifeError as error:
        said = str(error)
        return "refused" if "\n" not in said and check(said, "an error") else "wrong: more than one line"
    except Exception as error:  # any error is a bug, and this message reports it
        return f"{wrong(error)} ({read.__name__})"
    finally:
        sys.stdout = sys.__stdout__
    return "answered"


if __name__ == "__main__":
    sys.exit(run(__doc__, try_mutant, read_each_that_is_whole))
