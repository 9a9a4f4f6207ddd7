"""What a program sees of its process at its end, written to a file: the text that is appended to each program."""

from __future__ import annotations

#: The file that the text writes, beside the program.
FILE = "surroundings.json"

TEXT = """
def _write_surroundings():
    import gc, hashlib, json, locale, os, resource, signal, sys, threading, warnings
    here = sys.modules[__name__]
    def kind(number):
        try: return os.readlink(f"/proc/self/fd/{number}").partition("[")[0]
        except OSError: return ""
    def digest(value): return hashlib.sha256(repr(value).encode()).hexdigest()[:12]
    def named(value): return str(getattr(value, "__name__", value))
    listed = [int(name) for name in os.listdir("/proc/self/fd")]
    opened = {number: kind(number) for number in sorted(listed) if kind(number)}
    free = os.dup(0)
    os.close(free)
    depth, frame = 0, sys._getframe()
    while frame is not None: depth, frame = depth + 1, frame.f_back
    children = [open(f"/proc/self/task/{task}/children").read().split() for task in os.listdir("/proc/self/task")]
    with open("/proc/self/status") as status: umask = [line for line in status if line.startswith("Umask")]
    torch, numpy, random = map(sys.modules.get, ("torch", "numpy", "random"))
    seen = {
        "argv": sys.argv, "orig_argv": sys.orig_argv[1:], "__file__": __file__, "__name__": __name__,
        "annotations": repr(here.__dict__.get("__annotations__", "missing")),
        "first names": [name for name in vars(here) if name.startswith("__")],
        "path": sys.path, "environment": dict(os.environ), "cwd": os.getcwd(), "umask": umask,
        "descriptors": opened, "next descriptor": free, "children": sum(map(len, children)),
        "threads": sorted(thread.name for thread in threading.enumerate()), "depth": depth,
        "signals": {str(one): named(signal.getsignal(one)) for one in signal.valid_signals()},
        "blocked": sorted(map(str, signal.pthread_sigmask(signal.SIG_BLOCK, []))),
        "timer": signal.getitimer(signal.ITIMER_REAL)[1],
        "collector": [gc.isenabled(), gc.get_threshold(), gc.get_freeze_count(), len(gc.callbacks)],
        "random": digest(random.getstate()) if "random" in vars(here) else None,
        "numpy": digest([str(one) for one in numpy.random.get_state()]) if "numpy" in vars(here) else None,
        "torch": digest(torch.get_rng_state().tolist()) if torch else None,
        "weights": digest([one.tolist() for one in here.weights]) if hasattr(here, "weights") else None,
        "limits": [sys.getrecursionlimit(), sys.getswitchinterval(), resource.getrlimit(resource.RLIMIT_NOFILE)],
        "traced": [repr(type(sys.gettrace()).__name__), repr(type(sys.getprofile()).__name__)],
        "filters": digest([str(one) for one in warnings.filters]), "locale": locale.setlocale(locale.LC_ALL),
        "hooks": [one.__module__ for one in (sys.excepthook, threading.excepthook, sys.unraisablehook, warnings.showwarning)],
        "os._exit": os._exit.__module__,
        "finders": [getattr(one, "__name__", type(one).__name__) for one in sys.meta_path],
        "flags": repr(sys.flags), "isatty": [stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)],
    }
    with open(os.path.join(os.path.dirname(__file__), "surroundings.json"), "w") as file: json.dump(seen, file, indent=1)
_write_surroundings()
"""
