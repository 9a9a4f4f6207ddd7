"""Ranks of one run: where they leave their reports, and the one report that these are merged into."""
