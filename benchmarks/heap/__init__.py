"""gradlife's heap graph beside its peers and the physical limit, on synthetic heaps. Run with `make bench-heap`."""
