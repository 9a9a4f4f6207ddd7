"""Watching programs: the loop that reports itself, and the process that is followed for days."""
