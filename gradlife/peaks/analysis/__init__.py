"""The recorded lifetimes: the peak, what of it is read again, and what freeing the rest saves."""
