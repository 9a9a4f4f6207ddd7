"""The source text of the user's program: edits, diffs, and the methods that put something into a container."""
