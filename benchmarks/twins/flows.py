"""Queues, tasks, threads, callbacks and requests: what waits, and what was served and stays."""

from __future__ import annotations

from benchmarks.twins.pair import Pair

PAIRS = (
    Pair(
        "queue_behind",
        "queue",
        """\
import queue

waiting = queue.Queue()
for step in range(STEPS):
    for _ in range(2):
        waiting.put(batch(8))
    train(waiting.get())
""",
        (("range(2)", "range(1)"),),
        "two are put, one is taken",
        "as many are taken as are put",
    ),
    Pair(
        "queue_with_a_size",
        "waiting|queue",
        """\
import queue

waiting = queue.Queue()
for step in range(STEPS):
    for _ in range(2):
        if not waiting.full():
            waiting.put(batch(8))
    train(waiting.get())
""",
        (("queue.Queue()", "queue.Queue(maxsize=<N/4>)"),),
        "a queue without a size is never full",
        "the queue has a size and is full after a quarter of the run",
        steps=(40, 400),
    ),
    Pair(
        "prefetcher",
        "ready",
        """\
class Prefetcher:
    def __init__(self, depth):
        self.depth = depth
        self.ready = deque()

    def fill(self):
        for _ in range(self.depth):
            if len(self.ready) >= 0:
                self.ready.append(batch(8))

    def next(self):
        self.fill()
        return self.ready.popleft()


prefetcher = Prefetcher(3)
for step in range(STEPS):
    train(prefetcher.next())
""",
        (("len(self.ready) >= 0", "len(self.ready) < self.depth"),),
        "each call fetches three and takes one",
        "fetches until three are ready",
    ),
    Pair(
        "futures_kept",
        "futures",
        """\
from concurrent.futures import ThreadPoolExecutor

futures = []
with ThreadPoolExecutor(1) as pool:
    for step in range(STEPS):
        future = pool.submit(batch)
        futures.append(future)
        train(future.result())
""",
        (("        train(future.result())\n", "        train(future.result())\n        futures.remove(future)\n"),),
        "a future keeps its result, and the list keeps the futures",
        "a future that is done is removed",
    ),
    Pair(
        "futures_by_number",
        "pending",
        """\
from concurrent.futures import ThreadPoolExecutor


class Service:
    def __init__(self):
        self.pool = ThreadPoolExecutor(1)
        self.pending = {}

    def ask(self, number):
        self.pending[number] = self.pool.submit(batch)

    def answer(self, number):
        return self.pending[number].result()


service = Service()
for step in range(STEPS):
    service.ask(step)
    train(service.answer(step))
service.pool.shutdown()
""",
        (("self.pending[number].result()", "self.pending.pop(number).result()"),),
        "answered requests stay in the table",
        "the answer removes its request",
    ),
    Pair(
        "tasks_kept",
        "tasks",
        """\
import asyncio


async def load():
    await asyncio.sleep(0)
    return batch()


async def main():
    tasks = set()
    for step in range(STEPS):
        task = asyncio.create_task(load())
        tasks.add(task)
        task.add_done_callback(lambda task: tasks & {task})
        train(await task)


asyncio.run(main())
""",
        (("lambda task: tasks & {task}", "tasks.discard"),),
        "finished tasks stay in the set with their results",
        "a finished task removes itself",
    ),
    Pair(
        "queue_without_a_consumer",
        "outbox",
        """\
import asyncio


async def main():
    outbox = asyncio.Queue()
    for step in range(STEPS):
        x = batch()
        train(x)
        await outbox.put(x)
        if outbox.qsize() > 4:
            size = outbox.qsize()


asyncio.run(main())
""",
        (("size = outbox.qsize()", "outbox.get_nowait()"),),
        "results are put into a queue that nothing reads",
        "the oldest is taken when there are more than four",
    ),
    Pair(
        "timers",
        "",
        """\
import asyncio


async def main():
    loop = asyncio.get_running_loop()
    for step in range(STEPS):
        x = batch()
        timer = loop.call_later(3600, x.mean)
        train(x)
        await asyncio.sleep(0)
        if step < 0:
            timer.cancel()


asyncio.run(main())
""",
        (("if step < 0:", "if step >= 0:"),),
        "a timer of an hour keeps its batch, and none is cancelled",
        "each timer is cancelled when its step is done; the loop drops cancelled timers now and then",
        full_after=4,
    ),
    Pair(
        "threads_that_wait",
        "threads",
        """\
import threading

release = threading.Event()
threads = []


def work(x, done):
    done.wait()
    x.mean()


for step in range(STEPS):
    x = batch()
    done = release
    thread = threading.Thread(target=work, args=(x, done), daemon=True)
    thread.start()
    threads.append(thread)
    train(x)
    if done is not release:
        done.set()
        thread.join()
        threads.remove(thread)
release.set()
""",
        (("done = release\n", "done = threading.Event()\n"),),
        "each step starts a thread that waits for an event of the end",
        "the thread's own event is set, and it is joined",
        steps=(12, 40),
    ),
    Pair(
        "data_of_a_thread",
        "local",
        """\
import threading

local = threading.local()


def handle(x):
    if not hasattr(local, "requests"):
        local.requests = []
    local.requests.append(x)
    return train(x)


for step in range(STEPS):
    handle(batch())
""",
        (("    local.requests.append(x)\n", "    local.requests = [x]\n"),),
        "the list of the thread grows with each request",
        "it is replaced with each request",
    ),
    Pair(
        "context_variables",
        "tokens",
        """\
import contextvars

request = contextvars.ContextVar("request", default=None)
tokens = []
for step in range(STEPS):
    x = batch()
    token = request.set(x)
    tokens.append(token)
    train(x)
    if request.get() is None:
        request.reset(tokens.pop())
""",
        (("if request.get() is None:", "if request.get() is x:"),),
        "a token keeps the old value, and none is reset",
        "each is reset after its request",
    ),
    Pair(
        "context_variable_for_each_request",
        "",
        """\
import contextvars

current = contextvars.ContextVar("current")


def handle(x):
    variable = contextvars.ContextVar("request")
    variable.set(x)
    train(variable.get())


for step in range(STEPS):
    handle(batch())
""",
        (('variable = contextvars.ContextVar("request")', "variable = current"),),
        "the context keeps every variable that was made and set in it",
        "one variable, set again",
    ),
    Pair(
        "contexts_kept",
        "contexts",
        """\
import contextvars

current = contextvars.ContextVar("current")
contexts = []
for step in range(STEPS):
    x = batch()
    current.set(x)
    contexts.append(contextvars.copy_context())
    contexts[-1].run(train, x)
""",
        (("contexts.append(contextvars.copy_context())", "contexts[:] = [contextvars.copy_context()]"),),
        "each context keeps the batch that was set in it",
        "one context is kept",
    ),
    Pair(
        "generators_begun",
        "streams",
        """\
def chunks(x):
    for part in x.split(4):
        yield part


streams = []
for step in range(STEPS):
    x = batch()
    stream = chunks(x)
    next(stream)
    streams.append(stream)
    train(x)
""",
        (("    train(x)\n", "    train(x)\n    streams.pop().close()\n"),),
        "a generator that is not finished keeps its frame with the batch",
        "it is closed and removed",
    ),
    Pair(
        "schedule_of_events",
        "events",
        """\
import heapq

events = []
for step in range(STEPS):
    x = batch()
    heapq.heappush(events, (step + 5, step, x))
    train(x)
    while events and events[0][0] <= 0:
        heapq.heappop(events)
""",
        (("events[0][0] <= 0", "events[0][0] <= step"),),
        "the clock that events are compared with stands still",
        "events that are due are taken out",
    ),
    Pair(
        "subscribers",
        "subscribers",
        """\
class Bus:
    def __init__(self):
        self.subscribers = []

    def subscribe(self, function):
        self.subscribers.append(function)

    def unsubscribe(self, function):
        self.subscribers.remove(function)


class View:
    def __init__(self, bus, x):
        self.bus, self.x = bus, x
        bus.subscribe(self.update)

    def update(self):
        self.x.mean()

    def close(self):
        self.x.mean()


bus = Bus()
for step in range(STEPS):
    view = View(bus, batch())
    train(view.x)
    view.close()
""",
        (
            (
                "    def close(self):\n        self.x.mean()",
                "    def close(self):\n        self.bus.unsubscribe(self.update)",
            ),
        ),
        "a closed view stays subscribed",
        "closing a view unsubscribes it",
    ),
    Pair(
        "observers",
        "observers",
        """\
import weakref


class Observer:
    def __init__(self, x):
        self.x = x


observers = set()
for step in range(STEPS):
    observer = Observer(batch())
    observers.add(observer)
    train(observer.x)
""",
        (("observers = set()", "observers = weakref.WeakSet()"),),
        "the set holds all observers",
        "it refers to them weakly",
    ),
    Pair(
        "functions_at_exit",
        "",
        """\
import atexit


def finish(x):
    x.mean()


for step in range(STEPS):
    x = batch()
    atexit.register(finish, x)
    train(x)
""",
        (("    train(x)\n", "    train(x)\n    atexit.unregister(finish)\n"),),
        "each step registers a call for the end with its batch",
        "it is unregistered after the step",
    ),
    Pair(
        "finalizers",
        "_registry|finalize",
        """\
import weakref


class Owner:
    pass


def release(x):
    x.mean()


owner = Owner()
for step in range(STEPS):
    x = batch()
    finalizer = weakref.finalize(owner, release, x)
    train(x)
    if not finalizer.alive:
        finalizer.detach()
""",
        (("if not finalizer.alive:", "if finalizer.alive:"),),
        "finalizers of an object that lives keep their arguments",
        "each is detached after its step",
    ),
    Pair(
        "wrapped_again",
        "forward",
        """\
def scaled(function):
    scale = 1 + 0.01 * torch.randn(64, 64).mean(0)

    def wrapper(x):
        return function(x * scale)

    wrapper.table = torch.randn(16, 64)
    return wrapper


first = nn.Linear(64, 64)
for step in range(STEPS):
    if step >= 0:
        first.forward = scaled(first.forward)
    with torch.no_grad():
        x = first(batch())
    train(x)
""",
        (("if step >= 0:", "if step == 0:"),),
        "each step wraps the method of the step before",
        "it is wrapped once, in the first step, and the wrapper is called by all later ones",
        steps=(12, 40),
    ),
    Pair(
        "fixed_program",
        "closures",
        """\
original = net.forward
closures = []


def instrument(table):
    def forward(x):
        return original(x + table)

    return forward


forward = instrument(torch.zeros(64))
for step in range(STEPS):
    x = batch()
    forward = instrument(torch.randn(16, 64))
    net.forward = forward
    closures.append(forward)
    train(x)
""",
        (("    closures.append(forward)\n", "    closures = [forward]\n"),),
        "a list keeps the functions of all steps",
        "the method is replaced by a closure on 4 kB in each step, which the next one replaces",
    ),
    Pair(
        "method_wrapped_once",
        "calls",
        """\
calls = []
bias = torch.randn(64, 64) * 0.01
original = net.forward


def forward(x):
    y = original(x @ bias + x)
    calls.append(x)
    return y


net.forward = forward
for step in range(STEPS):
    train(batch())
""",
        (("    calls.append(x)\n", "    calls[:] = [x]\n"),),
        "the wrapper keeps the arguments of all calls",
        "the method is wrapped once by a closure on 16 kB, which keeps the newest argument",
    ),
    Pair(
        "sessions_of_a_chat",
        "sessions",
        """\
class Sessions:
    def __init__(self):
        self.sessions = {}

    def turn(self, user, x):
        self.sessions.setdefault(user, []).append(x)

    def end(self, user):
        self.ended = user


sessions = Sessions()
for step in range(STEPS):
    x = batch()
    user = step // 3
    sessions.turn(user, x)
    train(x)
    if step % 3 == 2:
        sessions.end(user)
""",
        (("self.ended = user", "del self.sessions[user]"),),
        "ended sessions stay",
        "a session is removed when it ends",
        steps=(40, 400),
    ),
    Pair(
        "turns_of_a_chat",
        "turns",
        """\
class Chat:
    def __init__(self):
        self.turns = []

    def say(self, text):
        self.turns.append({"role": "user", "content": text, "tokens": [len(word) for word in text.split()]})
        prompt = " ".join(turn["content"] for turn in self.turns[-3:])
        return prompt


chat = Chat()
for step in range(STEPS):
    chat.say(f"question {step} " * 300)
    train(batch())
""",
        (("        return prompt\n", "        self.turns = self.turns[-3:]\n        return prompt\n"),),
        "three turns are read, all are kept: 7 kB a step",
        "three turns are kept",
    ),
    Pair(
        "pool_of_buffers",
        "leased",
        """\
class Pool:
    def __init__(self):
        self.free, self.leased = [], {}

    def acquire(self):
        buffer = self.free.pop() if self.free else torch.empty(16, 64)
        self.leased[id(buffer)] = buffer
        return buffer

    def release(self, buffer):
        if id(buffer) in self.free:
            self.free.append(self.leased.pop(id(buffer)))


pool = Pool()
for step in range(STEPS):
    buffer = pool.acquire()
    buffer.copy_(batch())
    train(buffer)
    pool.release(buffer)
""",
        (("in self.free:", "in self.leased:"),),
        "a released buffer is looked for in the wrong table and stays leased",
        "a released buffer is used again",
    ),
    Pair(
        "spans_of_a_trace",
        "stack",
        """\
class Tracer:
    def __init__(self):
        self.stack = []

    def start(self, name, x):
        self.stack.append((name, x))

    def end(self):
        self.stack.pop()


tracer = Tracer()
for step in range(STEPS):
    x = batch()
    tracer.start("step", x)
    try:
        train(x)
        if step % 2:
            raise ValueError("an answer that was not expected")
        tracer.end()
    except ValueError:
        failed = step
""",
        (("        failed = step\n", "        failed = step\n        tracer.end()\n"),),
        "a step that fails, every other one, does not end its span",
        "the span is ended in both cases",
        steps=(40, 400),
    ),
    Pair(
        "registry_of_instances",
        "instances",
        """\
class Request:
    instances = []

    def __init__(self, x):
        self.x = x
        Request.instances.append(self)


for step in range(STEPS):
    request = Request(batch())
    train(request.x)
    Request.instances[:] = [one for one in Request.instances if one is not None]
""",
        (("if one is not None]", "if one is request]"),),
        "each instance is kept by its class",
        "the class keeps the newest",
    ),
    Pair(
        "undo",
        "undo",
        """\
class Editor:
    def __init__(self):
        self.undo, self.redo = [], []

    def apply(self, x):
        self.undo.append(x)
        if len(self.redo) > 5:
            self.undo.pop(0)


editor = Editor()
for step in range(STEPS):
    x = batch()
    editor.apply(x)
    train(x)
""",
        (("len(self.redo) > 5", "len(self.undo) > 5"),),
        "the limit is compared with the other stack, which is empty",
        "five steps can be undone",
    ),
    Pair(
        "hypotheses",
        "finished",
        """\
class Beam:
    def __init__(self, width):
        self.width = width
        self.finished = []

    def search(self, x):
        beams = [(0.0, ())]
        for row in x[:4]:
            scores = row.softmax(0)
            best = scores.topk(self.width)
            beams = [(score + float(p), (*path, int(i))) for score, path in beams for p, i in zip(*best)]
            beams = sorted(beams, reverse=True)[: self.width]
        self.finished.extend((score, path, x) for score, path in beams)
        return beams[0]


beam = Beam(3)
for step in range(STEPS):
    x = batch()
    beam.search(x)
    train(x)
""",
        (
            (
                "self.finished.extend((score, path, x) for score, path in beams)",
                "self.finished = [(score, path, x) for score, path in beams]",
            ),
        ),
        "the hypotheses of all sequences are kept",
        "those of the newest sequence",
    ),
    Pair(
        "beams_of_a_stream",
        "parent|beam",
        """\
class Hypothesis:
    def __init__(self, frame, parent):
        self.frame, self.parent = frame, parent


beam = Hypothesis(batch(), None)
for step in range(STEPS):
    x = batch()
    beam = Hypothesis(x, beam)
    if step % 4 == 3:
        committed = beam.frame.mean()
    train(x)
""",
        (("beam.frame.mean()\n", "beam.frame.mean()\n        beam.parent = None\n"),),
        "a hypothesis refers to the one before, back to the start of the stream",
        "what was committed is cut off every four steps",
        steps=(40, 400),
    ),
)
