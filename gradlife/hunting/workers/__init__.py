"""Hunts in worker processes that the program starts: of DataLoaders, multiprocessing pools and concurrent.futures."""
