"""The names of leaks: patterns over the structure of leak traces, with a reason and a fix for each."""

from __future__ import annotations

from gradlife.patterns.codes import FAMILIES, SENTENCES, family, is_code, sentence
from gradlife.patterns.diagnosis import diagnose
from gradlife.patterns.fingerprints import fingerprint
from gradlife.patterns.known_leaks import meets
from gradlife.patterns.legacy_fingerprints import legacy_fingerprint
from gradlife.patterns.rules.table import PATTERNS, patterns_of

__all__ = [
    "FAMILIES",
    "PATTERNS",
    "SENTENCES",
    "diagnose",
    "family",
    "fingerprint",
    "is_code",
    "legacy_fingerprint",
    "meets",
    "patterns_of",
    "sentence",
]
