"""Cycles that wait for a collector that the program has switched off: a leak."""

from __future__ import annotations

from dataclasses import replace

from gradlife.model.hunt import Finding, FindingKind

#: What to do besides breaking the cycle.
ADVICE = "Call gc.enable(), or gc.collect() now and then. To need neither: "


def as_leak(waiting: Finding) -> Finding:
    """Return garbage that waits for the collector as a leak."""
    known = waiting.diagnosis
    reason = f"{known.reason} The collector is off, and the program did not call gc.collect() in the steps seen."
    advice = replace(known.advice, text=ADVICE + known.advice.text[:1].lower() + known.advice.text[1:])
    title = f"{known.title}, and gc is disabled"
    return replace(waiting, kind=FindingKind.NEVER, diagnosis=replace(known, title=title, reason=reason, advice=advice))
