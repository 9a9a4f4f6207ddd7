"""What only a real accelerator can show: leaks, peaks and an out of memory on the device, and the cost of a hunt there."""
