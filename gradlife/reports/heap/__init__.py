"""Snapshots, differences and traces in the terminal."""
