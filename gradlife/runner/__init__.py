"""Runs scenarios against systems, each in a child of its own, and compares what the probes read."""
