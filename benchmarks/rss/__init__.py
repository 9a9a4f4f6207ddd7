"""Compare the growth that a hunt reports with the growth of the process's memory."""
