"""Hunts in worker processes that the program starts: DataLoader workers, pools of multiprocessing and concurrent.futures."""
