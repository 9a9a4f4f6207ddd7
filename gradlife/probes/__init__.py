"""The probes: one instrument per file. The worker calls them while the story runs."""

from gradlife.probes.catalogue import PROBES, Probe, get_probe, is_comparable

__all__ = ["PROBES", "Probe", "get_probe", "is_comparable"]
