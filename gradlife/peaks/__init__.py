"""Finds what is held longer than it is used at the memory peak, who holds it, and how much releasing it saves."""
