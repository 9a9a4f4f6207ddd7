"""The part of PyTorch's objects that gradlife cannot read in this release: what a report then does not rest on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class UnreadLayout:
    """The kinds of reference and field that were not found in the loaded PyTorch."""

    torch: str  # its version
    kinds: tuple[str, ...]  # "next edges"
    known: int  # the number of kinds that gradlife knows
    is_newer: bool = False  # newer than the releases that gradlife was tested with
    hides_references: bool = True  # one of the kinds is a reference: what seems to have no holder may have one
    withheld: int = 0  # findings that a report leaves out, because they say that nothing else holds something

    def __str__(self) -> str:
        """Return a clause for the first screen of a report."""
        newer = " is newer than tested" if self.is_newer else ""
        lost = f"{len(self.kinds)} of {self.known} kinds of references and fields in C++ were not found"
        return (
            f"PyTorch {self.torch}{newer}: {lost}{'; holders in C++ may be missing' if self.hides_references else ''}"
        )
