"""The language of patterns: a trace as tokens, and what a pattern matches in it."""
