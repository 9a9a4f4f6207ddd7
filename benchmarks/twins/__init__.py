"""Pairs of programs of the same shape, one that leaks and one that does not: does a hunt tell them apart?"""
