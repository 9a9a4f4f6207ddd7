"""Watch programs: a loop that reports on itself, and a process followed for days."""
