"""Scenario runs in the terminal."""
