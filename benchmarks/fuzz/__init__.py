"""Random lifetime programs: does the mini engine match PyTorch step by step?"""
