"""The version of gradlife, written only here."""

__version__ = "0.1.0"
