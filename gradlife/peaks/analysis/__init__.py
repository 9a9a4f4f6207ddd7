"""Analysis of the recorded lifetimes: the peak, the part of it that is read again, and how much freeing the rest
saves.
"""
