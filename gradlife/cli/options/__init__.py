"""Options that several commands share, and arguments of theirs."""
