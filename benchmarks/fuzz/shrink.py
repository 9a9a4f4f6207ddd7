"""Make a failing program as small as possible: fewer steps, simpler statements, canonical names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from benchmarks.fuzz.program import Program, Step

SIMPLER = (
    (re.compile(r", '(scales|raises|drops|runs backward|returns what it holds|returns text)'\)"), ")"),
    (re.compile(r", (keep|save|gives|back)='[a-z ]+'"), ""),
    (re.compile(r"retain_graph=False, |, looks=True"), ""),
    (re.compile(r"(, )?(create_graph|retain_graph|allow_unused)=True"), ""),
    (re.compile(r"\b([tnr])\d = (?=.*(register|\.remove))"), ""),
    (re.compile(r"(hook\(lab, '\w+'), \[?[tn]\d\]?"), r"\1"),
    (re.compile(r"(?<=tensor\()(\[\[1\.0, 2\.0\], \[3\.0, -1\.0\]\]|\[[-\d., ]+\])"), "[1.0, 2.0]"),
    (re.compile(r"float32"), "float64"),
    (re.compile(r"\.(cos|tanh|sigmoid|exp|abs|relu|square|clone|sin)\(\)"), ".neg()"),
    (re.compile(r"(t\d) [-*/+] t\d$"), r"\1 * 2"),
)

Fails = Callable[[Program], bool]


def shrunk(program: Program, fails: Fails) -> Program:
    """Return the smallest program found that still fails; `fails` runs one."""
    for plain in (replace(program, looks=False), replace(program, storages=False)):
        merged = replace(program, looks=program.looks and plain.looks, storages=program.storages and plain.storages)
        program = merged if merged != program and fails(merged) else program
    size = 0
    while size != (size := weight(program)):
        program = with_fewer_steps(program, fails)
        program = with_simpler_steps(program, fails)
    return canonical(program)


def weight(program: Program) -> int:
    return sum(len(step.text) for step in program.steps)


def with_fewer_steps(program: Program, fails: Fails) -> Program:
    """Omit runs of steps, long ones first, while it still fails."""
    length = len(program.steps) // 2
    while length:
        start = len(program.steps) - length
        while start >= 0:
            fewer = program.keeping(program.steps[:start] + program.steps[start + length :])
            if fewer.steps and fails(fewer):
                program = fewer
            start -= length
        length //= 2
    return program


def with_simpler_steps(program: Program, fails: Fails) -> Program:
    """Replace steps by simpler statements while it still fails."""
    number = 0
    while number < len(program.steps):
        for step in simpler(program.steps[number]):
            changed = program.keeping((*program.steps[:number], step, *program.steps[number + 1 :]))
            if fails(changed):
                program = changed
                break
        else:
            number += 1
    return program


def simpler(step: Step) -> Iterator[Step]:
    for pattern, plain in SIMPLER:
        for found in pattern.finditer(step.text):
            text = step.text[: found.start()] + found.expand(plain) + step.text[found.end() :]
            if text != step.text:
                yield replace(step, text=text)


def canonical(program: Program) -> Program:
    """Return the program with names and labels numbered in order: equal programs become equal."""
    names: dict[str, str] = {}

    def renamed(found: re.Match[str]) -> str:
        kind = found[0].rstrip("0123456789")
        count = sum(name.startswith(kind) for name in names.values())
        return names.setdefault(found[0], f"{kind}{count}")

    renaming = re.compile(r"\b[tnrhpuf]\d+\b")
    return program.keeping(tuple(replace(step, text=renaming.sub(renamed, step.text)) for step in program.steps))
