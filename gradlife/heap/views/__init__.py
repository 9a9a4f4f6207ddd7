"""What is shown of a snapshot: the program's objects, a map, tables; and how one browses it."""
