"""Try gradlife on the newest PyTorch of the package index, and print on one page what differs. Run with `make newest`.

The release is installed in an environment of its own, which borrows everything else from this one. Tried on it: `gradlife
doctor`, all stories beside the newest recording, the bugs of docs/upstream and, where their folders are named, PyTorch's own
lifetime tests and the labelled programs of a corpus. The exit status is 1 if anything differs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import sysconfig
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import upstream
from gradlife.backends.recorded import PREFIX, recording_names

ROOT = Path(__file__).parents[1]
#: What doctor says on any PyTorch; the rest is about this machine.
SECTIONS = ("PyTorch", "What gradlife can read of torch", "Self check")
STANDS = upstream.PAGES / "index.md"
#: Most differences printed of each part.
SHOWN = 12


def main() -> int:
    """Print the page; 0 if nothing differs."""
    arguments = make_parser().parse_args()
    python = arguments.python or install(ROOT / "build" / "newest", arguments.torch)
    with tempfile.TemporaryDirectory(prefix="newest-") as folder:
        differences = sum(
            print_part(title, lines)
            for title, lines in (
                ("doctor", doctor(python, Path(folder))),
                ("stories", stories(python, Path(folder))),
                ("bugs of docs/upstream", bugs(python)),
                ("lifetime tests", lifetime_tests(python, arguments.tests, Path(folder))),
                ("corpus", corpus(python, arguments.corpus, Path(folder))),
            )
        )
    print(f"{differences} differences")
    return 1 if differences else 0


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="make newest", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--torch", default="torch", metavar="REQUIREMENT", help="for pip (default: %(default)s)")
    parser.add_argument(
        "--python", metavar="PATH", help="an interpreter with a PyTorch and gradlife; nothing is installed"
    )
    parser.add_argument(
        "--tests",
        type=Path,
        nargs=2,
        metavar=("HARNESS", "SOURCE"),
        help="a folder with run_torch_tests.py and open.txt, and a source tree of PyTorch",
    )
    parser.add_argument(
        "--corpus", type=Path, default=Path("corpus"), help="the labelled programs (default: %(default)s)"
    )
    return parser


def install(folder: Path, requirement: str) -> str:
    """Install the newest PyTorch, with the packages of this interpreter below it. Return the interpreter."""
    python = folder / "bin" / "python"
    borrowed = Path(sysconfig.get_path("purelib", vars={"base": str(folder)})) / "borrowed.pth"
    if not python.exists():
        venv.create(folder, with_pip=False)
    borrowed.unlink(missing_ok=True)  # pip would take the PyTorch from there
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check", "install", "--quiet"]
    if subprocess.run([*pip, "--upgrade", requirement]).returncode:
        raise SystemExit(f"{requirement} cannot be installed here; --python PATH names an interpreter that has one")
    borrowed.write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n", encoding="utf-8")
    return str(python)


def print_part(title: str, lines: Iterator[str]) -> int:
    """Print what a part is about, its first line, and then what differs. Return the number of differences."""
    print(f"{title}: {next(lines)}", flush=True)
    differences = list(lines)
    for line in differences[:SHOWN]:
        print(f"  {line}")
    if len(differences) > SHOWN:
        print(f"  and {len(differences) - SHOWN} more")
    return len(differences)


def run_python(python: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a script, or a module behind `-m`, in the environment."""
    return subprocess.run([python, *words], cwd=ROOT, capture_output=True, text=True, check=False)


def read(file: Path, ended: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """Return what a command wrote. Without a file it failed: its last line is the reason."""
    if not file.is_file() or not file.stat().st_size:
        raise SystemExit("\n".join(ended.stderr.splitlines()[-3:]) or f"exit status {ended.returncode}")
    document: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return document


def doctor(python: str, folder: Path) -> Iterator[str]:
    """Yield the release and what gradlife can read of it; then what it cannot."""
    file = folder / "doctor.json"
    document = read(file, run_python(python, "-m", "gradlife", "doctor", "--json", str(file)))
    signs = [sign for section in SECTIONS for sign in document["sections"].get(section, ())]
    release = next(sign["text"] for sign in signs if sign["name"] == "torch")
    well = [sign for sign in signs if sign["health"] == "well"]
    yield f"torch {release}; {len(well)} of {len(signs)} signs are well"
    for sign in signs:
        if sign not in well:
            yield f"{sign['name']}: {sign['text']}"


def stories(python: str, folder: Path) -> Iterator[str]:
    """Yield how many declarations hold; then contradictions, failures, and readings that the newest recording has not."""
    file = folder / "stories.json"
    newest = PREFIX + [name for name in recording_names() if name.startswith("torch-")][-1]
    words = ("-m", "gradlife", "run", "--backend", "torch", newest, "--against", newest, "--json", str(file))
    document = read(file, run_python(python, *words))
    totals = document["totals"]
    yield f"{totals['expectations_met']:,} declarations met, {totals['contradictions']} contradicted, beside {newest}"
    for one in document["contradictions"]:
        yield f"{one['scenario']} contradicts: {one['subject']}, {one['probe']}: declared {one['declared']}, got {one['got']}"
    for one in document["failures"]:
        yield f"{one['scenario']} did not finish on {one['system']}"
    recorded = {key(one): one["value"] for one in document["readings"] if one["system"] == newest}
    for one in document["readings"]:
        if one["status"] == "differs":
            what = f"{one['scenario']} at {one['stage']!r}: {one['subject']}, {one['probe']}"
            yield f"{what}: {recorded[key(one)]}, now {one['value']}"


def key(reading: dict[str, Any]) -> tuple[str, ...]:
    """Return what a reading is about."""
    return tuple(str(reading[name]) for name in ("scenario", "stage", "subject", "probe"))


def bugs(python: str) -> Iterator[str]:
    """Yield how many bugs stand; then those that the index of the pages knows otherwise."""
    lines = run_python(python, "-m", "benchmarks.upstream").stdout.splitlines()
    yield lines[-1]
    known = STANDS.read_text(encoding="utf-8").splitlines()
    yield from (line.strip() for line in lines[1:-1] if line not in known)


def lifetime_tests(python: str, folders: list[Path] | None, scratch: Path) -> Iterator[str]:
    """Yield how many of PyTorch's own tests pass; then those that end otherwise on this interpreter's PyTorch."""
    if folders is None:
        yield "not tried: --tests HARNESS SOURCE names them"
        return
    harness, source = (folder.resolve() for folder in folders)
    script, tests = str(harness / "run_torch_tests.py"), str(harness / "open.txt")
    ends: list[dict[str, str]] = []
    for interpreter in (python, sys.executable):
        file = scratch / f"tests-{len(ends)}.json"
        words = (script, "--source", str(source), "--tests", tests, "--module", "torch", "--json", str(file))
        results = read(file, run_python(interpreter, *words))["results"]
        ends.append({name: str(one["status"]) for name, one in results.items()})
    now, before = ends
    yield f"{sum(end == 'pass' for end in now.values())} of {len(now)} pass"
    for name, end in now.items():
        if end != before[name]:
            yield f"{name.rpartition('/')[2]}: {before[name]}, now {end}"


def corpus(python: str, folder: Path, scratch: Path) -> Iterator[str]:
    """Yield how many programs are judged as labelled; then those that are not."""
    if not folder.is_dir():
        yield f"not tried: there is no folder {folder} (--corpus FOLDER)"
        return
    file = scratch / "corpus.json"
    document = read(file, run_python(python, "-m", "benchmarks.corpus", str(folder.resolve()), "--json", str(file)))
    wrong = [run for run in document["runs"] if run["outcome"] != "right"]
    yield f"{len(document['runs']) - len(wrong)} of {len(document['runs'])} variants as labelled"
    for run in wrong:
        words = (run["outcome"] + ":", run["verdict"], *run["codes"], run["said"])
        yield f"{run['slug']} {run['variant']}: {' '.join(words)}".rstrip()


if __name__ == "__main__":
    sys.exit(main())
