"""Finds memory held longer than it is used at the memory peak, its holders, and how much releasing it saves."""
