"""The hunt's self-check: a planted leak must be found, and its clean twin must be clean."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType

from gradlife.model.checkup import Health, Sign
from gradlife.model.hunt import HuntReport, HuntVerdict
from gradlife.program.hunt.api import hunt

SECTION = "Self check"

#: A separate program, because objects of gradlife's own files are hidden from every hunt.
WITH_TORCH = """
import torch
weight, history = torch.ones(4, requires_grad=True), []
def leak(number): history.append((weight * 2).sum())
def twin(number): (weight * 2).sum().item()
"""
WITHOUT = """
history = []
def leak(number): history.append(bytearray(65536))
def twin(number): bytearray(65536)
"""
NAME = "planted_by_gradlife_doctor"
REMEDY = "do not trust a hunt on this installation; report this, with this whole output"


def planted() -> Iterator[Sign]:
    """Hunt in both."""
    module = ModuleType(NAME)
    sys.modules[NAME] = module
    exec(compile(WITHOUT if sys.modules.get("torch") is None else WITH_TORCH, f"<{NAME}>", "exec"), module.__dict__)
    leak, twin = hunt(module.leak), hunt(module.twin)
    codes = ", ".join(finding.code for finding in leak.findings)
    yield judged("planted leak", leak, f"found: {codes}" if codes else "NOT found", HuntVerdict.LEAK)
    text = "clean" if not twin.findings else f"{len(twin.findings)} findings"
    yield judged("its clean twin", twin, text, HuntVerdict.CLEAN)


def judged(name: str, report: HuntReport, text: str, expected: HuntVerdict) -> Sign:
    """Whether a hunt was right, including its own controls."""
    wrong = [control.name for control in report.controls if not control.is_right]
    text += f"; wrong controls: {', '.join(wrong)}" if wrong else f"; {len(report.controls)} controls right"
    if report.verdict is expected:
        return Sign(SECTION, name, text)
    return Sign(SECTION, name, f"{text}; the verdict is {report.verdict.value}", Health.BROKEN, REMEDY)
