"""Labelled programs, some of which keep memory: what does a hunt say of each?"""
