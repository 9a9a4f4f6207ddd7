"""Write a program as a scenario file, ready for `scenarios/`."""

from __future__ import annotations

import inspect
import re

from benchmarks.fuzz import cast
from benchmarks.fuzz.campaign import Found
from benchmarks.fuzz.program import Difference, Program

NEEDED = {  # names that a hook or Function calls
    "hook": ("noted", "scaled", "hook_answer"),
    "custom": ("noted",),
    "pack": (),
    "unpack": (),
    "subclass": (),
}
NAME = re.compile(r"\b[tnr]\d\b")
HEAD = '''"""A program that the fuzzer wrote and shrank: what PyTorch shows at each step, its profile must show."""

from __future__ import annotations

from typing import Any, Callable

from gradlife.scenario import scenario'''


def story_of(found: Found, seed: int) -> str:
    """Return the text of a scenario file with this one story."""
    program = found.program
    name = f"program_{found.index}_of_seed_{seed}"
    parts = [HEAD, "\n" + inspect.getsource(cast.Numbered).rstrip(), *sources(program)]
    title = f"Program {found.index} of seed {seed}"
    parts.append(f'@scenario(title="{title}", needs="autograd.graph.register_multi_grad_hook")\ndef {name}(lab):')
    lines = [
        f'"""Differed in: {told_difference(program, found.difference)}."""',
        "lab = Numbered(lab)",
        "fw = lab.fw",
        *body(found),
    ]
    return "\n\n".join(parts[:-1]) + "\n\n\n" + parts[-1] + "\n    " + "\n    ".join(lines) + "\n"


def sources(program: Program) -> list[str]:
    """Return the source of the hooks and Functions that a program uses."""
    text = " ".join(step.text for step in program.steps)
    used = [name for name in NEEDED if re.search(rf"\b{name}\(lab\b", text)]
    names = dict.fromkeys([*used, *(other for name in used for other in NEEDED[name])])
    scale = [f"SCALE = {cast.SCALE}"] if "scaled" in names else []
    return scale + ["\n" + inspect.getsource(getattr(cast, name)).rstrip() for name in sorted(names)]


def body(found: Found) -> list[str]:
    """Return the story's lines: each step, guarded, then its stage; names are set to None instead of deleted at the
    end.
    """
    program = found.program
    names = sorted({name for step in program.steps for name in NAME.findall(step.text)})
    all_none = " = ".join(names) + " = None"
    lines = [all_none]
    for number, step in enumerate(program.steps):
        lines += [
            "try:",
            "    " + step.text.replace("gc.collect()", "lab.collect()"),
            "except Exception as error:",
            f'    lab.value("step {number} raised", type(error).__name__ + ": " + str(error).split("\\n")[0])',
        ]
        lines += [f'lab.watch("{name} of step {number}", {name})' for name in bound(step.text)]
        if found.difference.kind == "values" and number == found.difference.step:
            lines += [f"lab.numbers({name!r}, {name}, {program.looks})" for name in names if name[0] == "t"]
        lines.append(f'lab.stage("step {number}")')
    return [*lines, all_none, 'lab.stage("names dropped", all_names_gone=True)']


def bound(text: str) -> list[str]:
    """Return the names that a statement binds."""
    return re.findall(r"(?:^|: )([tnr]\d) = ", text)


def told_difference(program: Program, difference: Difference) -> str:
    step = program.steps[difference.step].text if difference.step < len(program.steps) else "after the last step"
    return f"{difference.kind}, at `{step}`" if '"""' not in step else difference.kind
