"""What is held longer than it is used at the peak, who holds it, and what letting it go saves."""
