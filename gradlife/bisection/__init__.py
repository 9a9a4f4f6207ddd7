"""Bisection: the first commit, or the first release of a library, with a finding."""
