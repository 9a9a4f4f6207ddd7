"""Hunt, peak and out of memory on a device, with their figures. Run with `make gpu`; without a GPU it says so and ends.

``--device NAME --import MODULE`` runs the same on another device that torch knows after the import, which is how the
checks themselves are tested.
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

PROGRAMS = Path(__file__).parent / "programs"

ONLY_CUDA = "not checked: only CUDA has it"

#: Nothing here takes that long.
HANGS = 900.0


@dataclass(frozen=True)
class Check:
    """One thing that was tried."""

    name: str
    figure: str
    is_right: bool


@dataclass(frozen=True)
class Place:
    """The device, and how large the programs are on it."""

    device: str
    imports: str
    width: int
    steps: int
    live_mb: int
    piece_mb: int

    def program(self, folder: Path, name: str) -> str:
        """Return the path of a program, behind the import that makes the device known."""
        source = (PROGRAMS / f"{name}.py").read_text("utf-8")
        path = folder / f"{name}.py"
        more = f"import torch\nimport {self.imports}\n" if self.imports else "import torch\n"
        path.write_text(source.replace("import torch\n", more, 1), "utf-8")
        return str(path)


def python(*words: str, allowed: Sequence[int] = (0,)) -> str:
    """Run Python; return what it printed. Raises CalledProcessError for another exit status."""
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=HANGS)
    if done.returncode not in allowed:
        raise subprocess.CalledProcessError(done.returncode, words, done.stdout, done.stderr)
    return done.stdout


def gradlife(command: str, folder: Path, *words: str) -> dict[str, Any]:
    """Run a command of gradlife; return its JSON report."""
    report = folder / f"{command}.json"
    python("-m", "gradlife", command, "--json", str(report), *words, allowed=(0, 1))
    found: dict[str, Any] = json.loads(report.read_text("utf-8"))
    return found


def clean_training(place: Place, folder: Path) -> Check:
    """A training program without a leak is clean."""
    report = gradlife("hunt", folder, place.program(folder, "gpt"), *gpt(place, "nothing"))
    return Check("a small GPT is clean", str(report["verdict"]), report["verdict"] == "clean")


def leak(place: Place, folder: Path) -> Check:
    """A leak on the device is found, with its line and its device."""
    report = gradlife("hunt", folder, place.program(folder, "gpt"), *gpt(place, "leak"))
    found = report["findings"][:1]
    nbytes = sum(found[0]["device_bytes"].values()) if found else 0
    is_right = report["verdict"] == "leak" and 2 * nbytes > found[0]["retained_bytes"]
    figure = f"{found[0]['title']}: {found[0]['device_bytes']}" if found else "no finding"
    return Check("outputs kept each step", figure, is_right)


def peak(place: Place, folder: Path) -> Check:
    """The saving that is predicted for the peak is the one that is measured."""
    report = gradlife("peak", folder, "--prove", place.program(folder, "gpt"), *gpt(place, "late"))
    return Check(
        "the last step's logits at the peak", f"{report['unused_percent']} % unused", report["unused_bytes"] > 0
    )


def out_of_memory(place: Place, folder: Path) -> Check:
    """After an out of memory every active block has an owner, and the failed request is known."""
    output = python(place.program(folder, "out_of_memory"), place.device, str(place.piece_mb))
    device = json.loads(output)["devices"][0]
    owned = sum(one["bytes"] for one in device["owners"])
    active = device["used_bytes"] + device["waiting_bytes"]
    names = [one["text"] for one in device["owners"][:2]]
    return Check(
        "an out of memory",
        f"{owned:,} of {active:,} bytes have an owner: {names}",
        owned == active and device["failed"] is not None,
    )


def patterns(place: Place, folder: Path) -> Check:
    """The pool of a graph, workspaces of streams and cached pinned memory are recognized."""
    return recognized(place, folder, "a graph's pool, workspaces, pinned memory", "patterns", "GL904", "GL907", "GL908")


def compiled(place: Place, folder: Path) -> Check:
    """The pool of the CUDA graphs of torch.compile is recognized."""
    return recognized(place, folder, "torch.compile's CUDA graphs", "compiled", "GL905")


def asynchronous(place: Place, folder: Path) -> Check:
    """Freed memory that the driver keeps is recognized."""
    return recognized(place, folder, "cudaMallocAsync", "asynchronous", "GL909")


def recognized(place: Place, folder: Path, name: str, program: str, *codes: str) -> Check:
    """A program shows the patterns with these codes."""
    if place.device != "cuda":
        return Check(name, ONLY_CUDA, True)
    report = json.loads(python(place.program(folder, program)).splitlines()[-1])
    advice = [*report["devices"][0]["advice"], *filter(None, [(report["pinned"] or {}).get("advice")])]
    found = {one["code"]: one["saved_bytes"] for one in advice}
    return Check(name, f"{found}", set(codes) <= set(found))


def replays(place: Place, folder: Path) -> Check:
    """A leak of a training that only replays a graph is found: a replay counts as the steps captured in it."""
    name = "a list that grows with each replay of a graph"
    if place.device != "cuda":
        return Check(name, ONLY_CUDA, True)
    report = gradlife("hunt", folder, place.program(folder, "replayed"), str(2 * place.steps))
    found = report["findings"][:1]
    steps = sum(one["steps"] for one in report["rounds"])
    figure = f"{found[0]['title']}; {steps} steps, {report['stepped_by']}" if found else str(report["verdict"])
    return Check(name, figure, report["verdict"] == "leak" and steps > place.steps)


def overhead(place: Place, folder: Path) -> Check:
    """The milliseconds of a step beside live tensors, bare and hunted."""
    # Ten times the steps: looks fall into few of them, as in a training.
    program, words = place.program(folder, "live"), (place.device, str(10 * place.steps), str(place.live_mb))
    bare = float(python(program, *words).split()[1])
    hunted = float(python("-m", "gradlife", "hunt", program, *words, allowed=(0, 1)).split("ms ", 1)[1].split()[0])
    figure = f"{bare:.2f} ms a step bare, {hunted:.2f} hunted, beside {place.live_mb:,} MB"
    return Check("steps beside live tensors", figure, hunted <= 1.10 * bare)


def gpt(place: Place, mistake: str) -> tuple[str, ...]:
    """The arguments of the training program."""
    return place.device, str(place.steps), str(place.width), mistake


CHECKS: tuple[Callable[[Place, Path], Check], ...] = (
    *(clean_training, leak, replays, peak, out_of_memory),
    *(patterns, compiled, asynchronous, overhead),
)


def is_there(place: Place) -> bool:
    """Whether torch can use the device."""
    import torch

    if place.imports:
        importlib.import_module(place.imports)
    module = getattr(torch, place.device, None)
    return module is not None and bool(module.is_available())


def show(place: Place, found: Sequence[Check]) -> None:
    """Print the figures."""
    table = Table("check", "figure", "right", title=f"on {place.device}")
    for one in found:
        table.add_row(one.name, one.figure, "yes" if one.is_right else "NO")
    Console().print(table)


def main() -> int:
    """Run the checks; 1 where one failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument(
        "--import", dest="imports", default="", metavar="MODULE", help="imported before the device is used"
    )
    parser.add_argument("--width", type=int, default=512, help="of the GPT")
    parser.add_argument("--steps", type=int, default=80)
    parser.add_argument("--live", type=int, default=20_000, metavar="MB", help="live tensors beside the steps")
    parser.add_argument("--piece", type=int, default=1024, metavar="MB", help="a request of the program that runs out")
    parser.add_argument("--only", nargs="+", default=[], metavar="CHECK", help="names of the functions")
    parser.add_argument("--json", metavar="FILE")
    args = parser.parse_args()
    place = Place(args.device, args.imports, args.width, args.steps, args.live, args.piece)
    if not is_there(place):
        print(f"no GPU: torch finds no {place.device} here, so nothing was checked")
        return 0
    with tempfile.TemporaryDirectory(prefix="gradlife-gpu-") as folder:
        chosen = [check for check in CHECKS if not args.only or check.__name__ in args.only]
        found = [check(place, Path(folder)) for check in chosen]
    show(place, found)
    if args.json:
        Path(args.json).write_text(
            json.dumps({"device": place.device, "checks": [asdict(one) for one in found]}, indent=1)
        )
    return 0 if all(one.is_right for one in found) else 1


if __name__ == "__main__":
    sys.exit(main())
