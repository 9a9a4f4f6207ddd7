"""Hunting: runs a program step by step, finds what grows, and tells who holds it."""
