"""Leaks and false alarms that people reported in public, rebuilt as small programs with clean twins."""
