"""Labelled programs, some of which leak: what does a hunt report for each?"""
