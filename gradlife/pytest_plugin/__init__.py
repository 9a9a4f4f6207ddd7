"""The pytest door of gradlife; loaded by pytest itself, so its top level imports pytest and the stdlib only."""
