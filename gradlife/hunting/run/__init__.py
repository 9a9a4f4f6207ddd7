"""Running a hunt: in this process, in a child, watched by its parent, proven by cutting a reference."""
