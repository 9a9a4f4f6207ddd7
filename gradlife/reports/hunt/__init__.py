"""Hunts in the terminal."""
