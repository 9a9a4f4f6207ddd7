"""Ranks of one run: the folder for their reports, and the one report into which these are merged."""
