"""The pattern language: a trace as tokens, and how patterns match them."""
