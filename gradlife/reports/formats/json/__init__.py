"""Versioned JSON."""
