"""Metrics of a watched process."""
