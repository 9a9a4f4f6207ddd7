"""Whole training programs, each of which can be told to keep memory in three ways."""
