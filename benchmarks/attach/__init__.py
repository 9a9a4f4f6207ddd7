"""A model server under load, while gradlife attaches to it."""
