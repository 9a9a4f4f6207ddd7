"""The programs: what each does is in its name. All have fixed seeds, and say on standard output what they saw."""

from __future__ import annotations

#: A model that trains for 40 steps; its weights are compared.
TRAIN = """
import random, torch
random.seed(1); torch.manual_seed(2)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Dropout(0.1), torch.nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
data = torch.randn(40, 4, 8)
def step(batch):
    optimizer.zero_grad()
    loss = model(batch).pow(2).mean()
    loss.backward()
    optimizer.step()
    return float(loss)
"""
LOOP = """
for batch in data: loss = step(batch)
print(f"{loss:.6f}")
weights = list(model.parameters())
"""

#: Without torch: calls of a function.
COUNT = """
kept = []
def step(number): kept.append(bytearray(10)); kept[:-5] = []
"""
CALLS = "for number in range(200): step(number)\nprint(len(kept))\n"

PROGRAMS: dict[str, str] = {
    "plain_loop": TRAIN + LOOP,
    "autocast": TRAIN
    + """
for batch in data:
    optimizer.zero_grad()
    with torch.autocast("cpu", torch.bfloat16): loss = model(batch).float().pow(2).mean()
    loss.backward(); optimizer.step()
weights = list(model.parameters()); print(f"{float(loss):.6f}")
""",
    "lbfgs": TRAIN
    + """
optimizer, calls = torch.optim.LBFGS(model.parameters(), lr=0.1), []
model.eval()
def closure():
    calls.append(1); optimizer.zero_grad(); loss = model(data[0]).pow(2).mean(); loss.backward(); return loss
for _ in range(8): optimizer.step(closure)
print(len(calls)); weights = list(model.parameters())
""",
    "checkpointing": TRAIN
    + """
from torch.utils.checkpoint import checkpoint
for batch in data:
    optimizer.zero_grad(); loss = checkpoint(model, batch, use_reentrant=False).pow(2).mean(); loss.backward(); optimizer.step()
print(f"{float(loss):.6f}"); weights = list(model.parameters())
""",
    "hooks": TRAIN
    + """
calls = []
model[0].register_forward_hook(lambda *_: calls.append("forward"))
model[0].register_full_backward_hook(lambda *_: calls.append("backward"))
model[0].weight.register_hook(lambda grad: calls.append("grad"))
optimizer.register_step_post_hook(lambda *_: calls.append("step"))
"""
    + LOOP
    + "print({name: calls.count(name) for name in sorted(set(calls))})\n",
    "saved_tensor_hooks": TRAIN
    + """
calls = []
def pack(x): calls.append("pack"); return x
def unpack(x): calls.append("unpack"); return x
with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
    for batch in data: step(batch)
print(calls.count("pack"), calls.count("unpack")); weights = list(model.parameters())
""",
    "loader_workers": TRAIN
    + """
class Numbers(torch.utils.data.Dataset):
    def __len__(self): return 64
    def __getitem__(self, at): return torch.full((8,), float(at)) + torch.rand(8)
if __name__ == "__main__":
    generator = torch.Generator().manual_seed(3)
    loader = torch.utils.data.DataLoader(Numbers(), 4, shuffle=True, num_workers=2, generator=generator)
    for epoch in range(2):
        for batch in loader: loss = step(batch)
    print(f"{loss:.6f}"); weights = list(model.parameters())
    del loader
    import time; time.sleep(0.2)  # the threads of its queues end just now
""",
    "spawn": """
import multiprocessing
def work(number): return number * 2
if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(2) as pool: print(pool.map(work, range(5)))
    pool.join()
""",
    "asyncio": COUNT
    + """
import asyncio
async def main():
    for number in range(100): step(number); await asyncio.sleep(0)
    process = await asyncio.create_subprocess_exec("true")
    print(await process.wait(), len(asyncio.all_tasks()))
asyncio.run(main())
import time
time.sleep(0.2)  # the thread of asyncio that waited for the process ends just now
""",
    "threads": COUNT
    + """
import threading, queue
done = queue.Queue()
threads = [threading.Thread(target=lambda: [step(n) for n in range(50)] and done.put(1), name=f"worker {i}") for i in range(3)]
for thread in threads: thread.start()
print(threading.active_count() <= 4, threading.current_thread().name)
for thread in threads: thread.join()
print(done.qsize(), threading.active_count(), [thread.name for thread in threading.enumerate()])
""",
    "thread_trace_hooks": COUNT
    + """
import sys, threading
called = []
threading.setprofile(lambda frame, event, _: called.append(frame.f_code.co_name) if event == "call" else None)
thread = threading.Thread(target=lambda: step(1)); thread.start(); thread.join()
threading.setprofile(None)
print(sorted({name for name in called if "gradlife" in name}), called.count("step"))
"""
    + CALLS,
    "alarms": COUNT
    + """
import signal, time
fired = []
signal.signal(signal.SIGALRM, lambda *_: fired.append(1))
signal.setitimer(signal.ITIMER_REAL, 0.05)
until = time.monotonic() + 0.4
while time.monotonic() < until: step(1)
print(len(fired))
""",
    "subprocesses": COUNT
    + """
import subprocess, sys
words = [sys.executable, "-c", "import os, sys; print(sys.argv, len(os.listdir('/proc/self/fd')))"]
print(subprocess.run(words, capture_output=True, text=True).stdout)
"""
    + CALLS,
    "fork_by_hand": COUNT
    + """
import os
for number in range(100): step(number)
pid = os.fork()
if not pid: os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
try: print(os.waitpid(-1, os.WNOHANG))
except ChildProcessError as error: print(error)
"""
    + CALLS,
    "at_fork_functions": COUNT
    + """
import os
seen = []
os.register_at_fork(before=lambda: seen.append("before"), after_in_parent=lambda: seen.append("parent"))
os.register_at_fork(after_in_child=lambda: print("child", flush=True))
"""
    + CALLS
    + "print(seen)\n",
    "child_signals": COUNT
    + """
import signal, subprocess
seen = []
signal.signal(signal.SIGCHLD, lambda *_: seen.append(1))
for _ in range(3): subprocess.run(["true"])
"""
    + CALLS
    + "print(len(seen))\n",
    "pickling": COUNT
    + """
import pickle
class Point:
    def __init__(self, x): self.x = x
    def __reduce__(self): return Point, (self.x,)
print(pickle.loads(pickle.dumps(Point(3))).x, Point.__module__, pickle.loads(pickle.dumps(step)) is step)
"""
    + CALLS,
    "trace_function": COUNT
    + """
import sys
events = []
def trace(frame, event, _): events.append(frame.f_code.co_name); return None
sys.settrace(trace)
for number in range(100): step(number)
sys.settrace(None)
print(events.count("step"), sorted(set(events)))
""",
    "profile_function": COUNT
    + """
import sys
events = []
sys.setprofile(lambda frame, event, _: events.append(frame.f_code.co_name) if event == "call" else None)
for number in range(100): step(number)
sys.setprofile(None)
print(events.count("step"), sorted(set(events)))
""",
    "audit_hook": COUNT
    + """
import sys
seen = []
heard = ("os.fork", "os.kill", "subprocess", "socket")
sys.addaudithook(lambda event, _: seen.append(event) if event.startswith(heard) else None)
"""
    + CALLS
    + "print(sorted(set(seen)))\n",
    "warnings_once": COUNT
    + """
import warnings
def warn(): warnings.warn("slow path", UserWarning, stacklevel=1)
for number in range(150): step(number); warn()
print(len(warnings.filters))
""",
    "faulthandler": COUNT
    + "import faulthandler\nfaulthandler.enable()\n"
    + CALLS
    + "print(faulthandler.is_enabled())\n",
    "random_states": TRAIN
    + """
import numpy
numpy.random.seed(4)
for batch in data: step(batch); random.random(); numpy.random.rand(); torch.rand(1)
print(random.random(), numpy.random.rand(), float(torch.rand(1))); weights = list(model.parameters())
""",
    "collector_callbacks": COUNT
    + """
import gc
gc.freeze()
seen = []
def note(phase, info): seen.append(info["generation"])
gc.callbacks.append(note)
gc.collect(); gc.collect(1)
for number in range(100): step(number)
print(seen[:2], gc.get_freeze_count() > 0, gc.get_threshold(), gc.isenabled())
gc.callbacks.remove(note); gc.unfreeze()
""",
    "exit_order": COUNT
    + "import atexit\n"
    + CALLS
    + "for number in range(3): atexit.register(print, 'at exit', number)\n",
    "weak_callbacks": COUNT
    + """
import weakref
class Thing: pass
seen = []
for number in range(100):
    step(number); thing = Thing(); reference = weakref.ref(thing, lambda _: seen.append(1)); del thing
print(len(seen))
""",
    "finalizers_that_print": COUNT
    + """
import os
me = os.getpid()
class Loud:
    def __init__(self, name): self.name = name
    def __del__(self): print("dropped", self.name, os.getpid() == me, flush=True)
loud = Loud("at the end")
cycle = Loud("a cycle"); cycle.itself = cycle; del cycle
import gc; gc.collect()
"""
    + CALLS,
    "context_variables": COUNT
    + """
import contextvars
variable = contextvars.ContextVar("number", default=0)
for number in range(100): variable.set(number); step(number)
print(variable.get(), len(contextvars.copy_context()))
""",
    "tracemalloc": COUNT
    + "import tracemalloc\ntracemalloc.start(3)\n"
    + CALLS
    + "print(tracemalloc.is_tracing(), tracemalloc.get_traceback_limit())\n",
    "logging": COUNT
    + """
import logging, sys
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(levelname)s %(threadName)s %(funcName)s %(message)s")
for number in range(100):
    step(number)
    if number % 25 == 0: logging.info("step %d", number)
print(logging.getLogger().handlers)
""",
    "excepthook": COUNT
    + """
import sys, threading
sys.excepthook = lambda kind, error, trace: print("hook", kind.__name__, error)
threading.excepthook = lambda arguments: print("thread hook", arguments.exc_type.__name__)
thread = threading.Thread(target=lambda: 1 / 0); thread.start(); thread.join()
"""
    + CALLS
    + "_write_later = True\n",
    "uncaught_error": COUNT
    + CALLS
    + "def fail(): raise ValueError('bad batch')\nimport atexit; atexit.register(print, 'bye')\n",
    "redirected_output": COUNT
    + """
import contextlib, io
text = io.StringIO()
with contextlib.redirect_stdout(text):
    print("hidden")
    for number in range(100): step(number)
print(repr(text.getvalue()))
""",
    "importers": COUNT
    + """
import importlib.abc, importlib.machinery, sys
class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.startswith("made_up"): return importlib.machinery.ModuleSpec(name, self)
    def create_module(self, spec): return None
    def exec_module(self, module): module.value = 5
sys.meta_path.insert(0, Finder())
import made_up
print(made_up.value, [type(one).__name__ for one in sys.meta_path][0])
sys.meta_path.pop(0)
"""
    + CALLS,
    "recursion": COUNT
    + """
import sys
sys.setrecursionlimit(300)
def deep(number):
    try: return deep(number + 1)
    except RecursionError: return number
print(deep(0) > 200)
sys.setrecursionlimit(1000)
"""
    + CALLS,
    "limits": COUNT
    + """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
files = []
try:
    while True: files.append(open("/dev/null"))
except OSError as error: print(error.errno, len(files) > 40)
for file in files: file.close()
"""
    + CALLS,
    "working_folder": COUNT
    + """
import os, tempfile
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for number in range(100): step(number)
print(os.path.basename(__file__))
try: os.getcwd()
except FileNotFoundError: print("gone")
for number in range(100): step(number)
os.chdir(os.path.dirname(__file__))
""",
    "environment": COUNT
    + """
import os
print(sorted(name for name in os.environ if "GRADLIFE" in name), os.environ.get("PYTHONPATH"))
os.environ["ADDED"] = "1"
"""
    + CALLS,
    "umask": COUNT
    + """
import os
os.umask(0o027)
for number in range(100): step(number); open(f"file{number % 3}", "w").close()
print(oct(os.stat("file0").st_mode))
os.umask(0o022)
""",
    "locale": COUNT + "import locale\nlocale.setlocale(locale.LC_ALL, 'C.UTF-8')\n" + CALLS,
    "arguments": COUNT
    + """
import argparse, sys
parser = argparse.ArgumentParser()
parser.add_argument("--rate", type=float, default=0.1)
print(parser.prog, parser.parse_args(), sys.argv[0])
"""
    + CALLS,
    "main_guard": COUNT
    + """
import __main__, sys
if __name__ == "__main__": print("main", __main__.step is step, sys.modules["__main__"] is __main__)
print(__annotations__, __spec__, __package__, __doc__, __builtins__)
number: int = 3
"""
    + CALLS
    + "print(__annotations__)\n",
    "closed_streams": COUNT + CALLS + "import sys\nsys.stdout.flush()\nsys.stdin.close()\n",
    "exit_status": COUNT + CALLS + "import atexit, sys; atexit.register(print, 'bye')\n",
    "immediate_exit": COUNT + CALLS + "import os, sys\nsys.stdout.flush()\n",
}

#: What a program does after its surroundings are written.
ENDS = {
    "uncaught_error": "fail()\n",
    "exit_status": "sys.exit(3)\n",
    "immediate_exit": "os._exit(5)\n",
    "excepthook": "raise KeyError('end')\n",
}
