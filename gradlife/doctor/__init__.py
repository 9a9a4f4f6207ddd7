"""Is this installation well? What a report of a bug needs to say, found out without a traceback, whatever is broken."""
