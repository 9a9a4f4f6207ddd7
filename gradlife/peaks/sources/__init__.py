"""The source of a program: its functions and statements, and what they read."""
