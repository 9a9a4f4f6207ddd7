"""The labelled programs as tests: does each fail, or pass, as its label says?"""
