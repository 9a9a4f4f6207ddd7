"""Runs a program in this process and takes a snapshot of it at a moment."""
