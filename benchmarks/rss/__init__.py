"""Is what a hunt says of growth what the process's memory grows by?"""
