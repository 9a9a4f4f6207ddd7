"""Random lifetime programs: does the mini engine show, step by step, what PyTorch shows?"""
