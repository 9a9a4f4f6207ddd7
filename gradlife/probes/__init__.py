"""What each probe asks, and how its values may be compared. The asking itself is done in the worker, next to the story."""

from gradlife.probes.catalogue import PROBES, Probe, get_probe, is_comparable

__all__ = ["PROBES", "Probe", "get_probe", "is_comparable"]
