"""A patch tried: `git apply` takes it, a hunt of the changed program is clean, and the program computes the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.corpus.running import hunt
from benchmarks.patches.jobs import Job

FIXED = "fixed"

#: Runs some steps of a case, and writes every number that comes of them: losses, results, the numbers, tensors, weights
#: and gradients of the state, and the next random number. Containers are left out: what they keep is what a patch changes.
STEPS = """\
import importlib, sys, random
import torch

def shown(value):
    if isinstance(value, (bool, int, float, str)) or value is None:
        return value
    if isinstance(value, torch.Tensor):
        return value.detach().double().sum().item()
    if isinstance(value, torch.nn.Module):
        weights = [*value.parameters(), *value.buffers()]
        return [(shown(one), None if one.grad is None else shown(one.grad)) for one in weights]
    return type(value).__name__

def heard(tensors, *args, **kwargs):
    print("loss", [shown(one) for one in (tensors if isinstance(tensors, (tuple, list)) else [tensors])])
    return plain(tensors, *args, **kwargs)

plain, torch.autograd.backward = torch.autograd.backward, heard
sys.path.insert(0, ".")
random.seed(0)
program = importlib.import_module(sys.argv[1])
state = program.setup()
for number in range(24):
    print("step", number, shown(program.step(state, number)))
for name, value in sorted(vars(state).items()):
    print(name, shown(value))
print("next", torch.rand(()).item(), random.random())
"""


def tried(job: Job, diff: str, limit: float) -> str:
    """`fixed`, or what is wrong with the patch."""
    before = output(job)
    done = subprocess.run(["git", "apply", "-"], input=diff.encode(), cwd=job.folder, capture_output=True, check=False)
    if done.returncode:
        return f"git apply: {done.stderr.decode().strip()}"
    after = output(job)
    if before != after:
        return f"computes something else: {first_difference(before, after)}"
    document = hunt(job.target, job.folder, limit, job.arguments).document or {"verdict": "no report", "findings": []}
    if document["verdict"] == "clean":
        return FIXED
    codes = ", ".join(str(one["code"]) for one in document["findings"])
    return f"not clean: {document['verdict']} {codes} {document.get('trouble', '')}".strip()


def output(job: Job) -> str:
    """What the program prints; of a case, the numbers of some steps."""
    case = [sys.executable, "-c", STEPS, Path(job.file).stem]
    command = case if "::" in job.target else [sys.executable, job.file, *job.arguments]
    done = subprocess.run(command, cwd=job.folder, capture_output=True, text=True, timeout=900, check=False)
    return f"{done.stdout}status {done.returncode} {done.stderr[-300:] if done.returncode else ''}"


def first_difference(before: str, after: str) -> str:
    """The first line that is not the same."""
    pairs = zip(before.splitlines(), after.splitlines(), strict=False)
    return next((f"{one[:120]} | {other[:120]}" for one, other in pairs if one != other), "one ends before the other")
