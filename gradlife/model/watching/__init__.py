"""Values about a process that is watched over a long time."""
