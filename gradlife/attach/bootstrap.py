"""The code that a debugger runs in a process: one expression that starts a thread and leaves no name behind.

The thread runs in the process's interpreter, and uses only the standard library until it has found gradlife.
"""

from __future__ import annotations

#: Run in the new thread: connects, finds gradlife, and serves. If the socket is gone, it ends silently. Up to Python 3.12 the
#: thread that imports `threading` first is its main thread: the program's, whose state is the oldest, is put in its place.
SOURCE = """\
def gradlife_attached(path, folder, text):
    import ctypes, json, socket, sys
    if text:
        ctypes.pythonapi.PyMem_RawFree(ctypes.c_void_p(text))
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(None)
    try:
        connection.connect(path)
    except OSError:
        connection.close()
        return
    try:
        if folder:
            import site
            before = sys.path[:]
            site.addsitedir(folder)
        from gradlife.attach.server import serve_one
    except BaseException as error:
        reply = {"error": f"it cannot import gradlife: {type(error).__name__}: {error}", "executable": sys.executable}
        connection.sendall(json.dumps(reply).encode() + b"\\n", socket.MSG_NOSIGNAL)
        connection.close()
        return
    finally:
        if folder:
            sys.path[:] = before
    serve_one(connection)

def gradlife_threading():
    import sys
    if "threading" in sys.modules:
        return
    import threading, _thread, os
    if sys.version_info >= (3, 13) or threading.main_thread().ident != _thread.get_ident():
        return
    main, ident = threading._main_thread, list(sys._current_frames())[-1]
    if ident == _thread.get_ident():
        return
    del threading._active[main._ident]
    threading._active[ident], main._ident, main._native_id = main, ident, os.getpid()
    threading._shutdown_locks.discard(main._tstate_lock)
    main._tstate_lock = _thread.allocate_lock()
    main._tstate_lock.acquire()

gradlife_threading()
import _thread
_thread.start_new_thread(gradlife_attached, (PATH, FOLDER, TEXT))
"""

#: A placeholder for the address of the expression's own text, which the thread frees. Both have 18 characters.
ADDRESS = "0x" + 16 * "f"


def script(path: str, folder: str = "") -> str:
    """Return the code as a script, for interpreters that run one on request. It has no text of its own to free."""
    return named(path, folder) + "TEXT = 0\n" + SOURCE


def named(path: str, folder: str) -> str:
    """Return the assignments at the start of the code."""
    return "".join(f"{name} = {value!a}\n" for name, value in (("PATH", path), ("FOLDER", folder)))


def expression(path: str, folder: str = "") -> str:
    """Return the code as an ASCII expression. ``path``: a listening socket; ``folder``: import path of gradlife."""
    source = named(path, folder) + SOURCE
    return f"__import__('_thread').start_new_thread(exec, ({source!a}, {{'TEXT': {ADDRESS}}}))"
