"""Views of a snapshot: the program's objects, a map, tables, and lists to browse."""
