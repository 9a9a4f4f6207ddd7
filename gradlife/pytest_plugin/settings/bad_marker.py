"""`BadMarker`: what collection says of a marker that makes no sense."""

from __future__ import annotations


class BadMarker(Exception):
    """A marker with wrong arguments; the message is one line."""
