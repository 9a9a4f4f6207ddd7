"""Leaks slower than once per step, each with a clean twin: does a hunt find the leak and pass the twin?"""
