"""The code that a debugger hands to a process: one expression that starts a thread and leaves no name behind.

The thread runs in the process's own interpreter, with the standard library alone until gradlife is found there.
"""

from __future__ import annotations

#: Run in the new thread: connects, finds gradlife, and serves. A socket that is gone ends it without a word.
SOURCE = """\
def gradlife_attached(path, folder, text):
    import ctypes, json, socket, sys
    if text:
        ctypes.CDLL(None).free(ctypes.c_void_p(text))
    connection = socket.socket(socket.AF_UNIX)
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
        connection.sendall(json.dumps(reply).encode() + b"\\n")
        connection.close()
        return
    finally:
        if folder:
            sys.path[:] = before
    serve_one(connection)

import threading
threading.Thread(target=gradlife_attached, args=(PATH, FOLDER, TEXT), name="gradlife", daemon=True).start()
"""

#: Where the address of the expression's own text is put, which the thread frees. 18 characters, like the address.
ADDRESS = "0x" + 16 * "f"


def script(path: str, folder: str = "") -> str:
    """The same as a file, for interpreters that run one on request. It has no text of its own to free."""
    return named(path, folder) + "TEXT = 0\n" + SOURCE


def named(path: str, folder: str) -> str:
    """The assignments that the code begins with."""
    return "".join(f"{name} = {value!a}\n" for name, value in (("PATH", path), ("FOLDER", folder)))


def expression(path: str, folder: str = "") -> str:
    """The expression, in ASCII. ``path``: a listening socket; ``folder``: where gradlife is, if the process does not know."""
    source = named(path, folder) + SOURCE
    return f"__import__('_thread').start_new_thread(exec, ({source!a}, {{'TEXT': {ADDRESS}}}))"
