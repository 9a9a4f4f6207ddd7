"""The pytest plugin. pytest loads it at start, so its top level imports only pytest and the standard library."""
