"""A session at a prompt: in a snapshot file, or inside a program that was stopped at its first leak."""
