"""Attaching to a process that is already running: by a debugger, or by the door that the process has opened itself.

`processes` tells what can be attached to; `debugger` starts one thread in the process; `service` is what that thread
does, and `client` what asks it. Both sides speak `protocol` over a Unix socket of the same user.
"""
