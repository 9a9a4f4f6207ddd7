"""Other Python interpreters: what one is and which framework it has, and virtual environments made for old releases."""
