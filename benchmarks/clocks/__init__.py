"""Leaks on a slower clock than the optimizer's steps, each with a clean twin: does a hunt see the one and spare the other?"""
