"""Steps in which there is nothing to save."""
