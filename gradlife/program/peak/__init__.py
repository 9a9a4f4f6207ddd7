"""A peak as the method: of a program, a callable, a running process; proof by edits."""
