"""Analysis of the recorded lifetimes: the peak, which of it is read again, and how much freeing the rest saves."""
