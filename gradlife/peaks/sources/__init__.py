"""The source of a program: its functions and statements, and the names that they read."""
