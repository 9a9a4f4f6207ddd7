"""Attaching to a running process: by a debugger, or by a socket that the process has opened itself.

`processes` checks whether a process can be attached to; `debugger` starts a thread in it; `service` is what that thread
does, and `client` sends it requests. Both sides speak `protocol` over a Unix socket of the same user.
"""
