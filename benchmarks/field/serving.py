"""Servers: states of requests, logs, metrics, tasks, clients, sessions."""

from __future__ import annotations

from benchmarks.field.entry import PATTERN, Entry
from benchmarks.twins.pair import Pair

ENTRIES = (
    Entry(
        Pair(
            "request_cancelled_while_added",
            "request_states|output_processor",
            """\
import asyncio


class OutputProcessor:
    def __init__(self):
        self.request_states = {}

    def add_request(self, request_id, prompt):
        self.request_states[request_id] = {"prompt": prompt, "ids": prompt.tolist()}

    def abort(self, request_id):
        self.request_states.pop(request_id, None)


class Engine:
    def __init__(self):
        self.output_processor = OutputProcessor()

    async def add_request(self, request_id, prompt):
        self.output_processor.add_request(request_id, prompt)
        await asyncio.sleep(0.001)

    async def generate(self, request_id, prompt):
        await self.add_request(request_id, prompt)
        try:
            with torch.no_grad():
                return net(prompt)
        finally:
            self.output_processor.abort(request_id)


engine = Engine()


async def serve(number):
    request = asyncio.create_task(engine.generate(f"request-{number}", batch(8)))
    await asyncio.sleep(0)
    if number % 2:
        request.cancel()
    try:
        await request
    except asyncio.CancelledError:
        pass  # what the client does


async def main():
    for number in range(STEPS):
        await serve(number)


asyncio.run(main())
""",
            (
                (
                    "        await self.add_request(request_id, prompt)\n        try:\n",
                    "        try:\n            await self.add_request(request_id, prompt)\n",
                ),
            ),
            "a request that is cancelled while it is added stays in the table",
            "the entry is removed however the request ends",
        ),
        "vllm-project/vllm#57061",
        "self.request_states[request_id] =",
        step_on="__main__:serve",
    ),
    Entry(
        Pair(
            "log_queue_sent_and_not_cleared",
            "log_queue",
            """\
class BatchLogger:
    def __init__(self):
        self.log_queue = []
        self.sent = 0

    def log(self, payload):
        self.log_queue.append(payload)
        if len(self.log_queue) % 4 == 0:
            self.send_batch()

    def send_batch(self):
        self.sent += sum(len(payload["response"]) for payload in self.log_queue)


logger = BatchLogger()


def handle(number):
    x = batch()
    with torch.no_grad():
        y = net(x)
    logger.log({"id": number, "request": x.numpy().tobytes(), "response": y.numpy().tobytes()})
    return y


for number in range(STEPS):
    handle(number)
""",
            (("for payload in self.log_queue)\n", "for payload in self.log_queue)\n        self.log_queue = []\n"),),
            "the queue is sent every four requests and never cleared",
            "the queue is emptied after each batch",
        ),
        "BerriAI/litellm#25660",
        "self.log_queue.append(",
        step_on="__main__:handle",
    ),
    Entry(
        Pair(
            "suspended_logging_tasks",
            "endpoint|tasks",
            """\
import asyncio

tasks = set()


async def log_success(endpoint, response):
    await endpoint.wait()
    return float(response.sum())


async def main():
    endpoint = asyncio.Event()  # answers one day
    for _ in range(STEPS):
        with torch.no_grad():
            response = net(batch(64))
        task = asyncio.create_task(log_success(endpoint, response))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        await asyncio.sleep(0.001)
    for task in list(tasks):
        task.cancel()


asyncio.run(main())
""",
            (
                (
                    "    await endpoint.wait()\n",
                    "    try:\n        await asyncio.wait_for(endpoint.wait(), 0.001)\n    except TimeoutError:\n        pass\n",
                ),
            ),
            "each response starts a task that waits for a slow endpoint, and nothing bounds them",
            "a task gives up after a millisecond",
        ),
        "BerriAI/litellm#31779",
        "asyncio.create_task(|tasks.add(|await endpoint.wait()",
        harmful="tasks.clear()",
        step_on="__main__:log_success",
    ),
    Entry(
        Pair(
            "metric_labelled_by_user",
            "_metrics|latency",
            """\
class Histogram:
    BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

    def __init__(self, name, labels=()):
        self.name = name
        self.labels_of = labels
        self._metrics = {}
        self._buckets = [0.0 for _ in self.BOUNDS]
        self._sum = 0.0

    def labels(self, *values):
        if values not in self._metrics:
            self._metrics[values] = Histogram(self.name)
        return self._metrics[values]

    def observe(self, value):
        self._sum += value
        self._buckets = [count + (value <= bound) for count, bound in zip(self._buckets, self.BOUNDS)]


latency = Histogram("latency", ("route", "user_id"))
for number in range(STEPS):
    with torch.no_grad():
        net(batch())
    user_id = f"{random.getrandbits(128):032x}"
    for route in ("/chat", "/embed", "/rerank"):
        latency.labels(route, user_id).observe(random.random())
""",
            (('user_id = f"{random.getrandbits(128):032x}"', 'user_id = "free" if number % 2 else "paid"'),),
            "each user makes three more time series",
            "the label has two values",
            small=True,
        ),
        "BerriAI/litellm#12159",
        "self._metrics[values] =",
        step_on="__main__:Histogram.observe",
    ),
    Entry(
        Pair(
            "tracer_keeps_finished_runs",
            "_span_data_map|tracer",
            """\
import uuid


class Tracer:
    def __init__(self):
        self._span_data_map = {}
        self.exported = 0

    def on_start(self, run_id, inputs):
        self._span_data_map[run_id] = {"inputs": inputs, "outputs": None}

    def on_end(self, run_id, outputs):
        span = self._span_data_map[run_id]
        span["outputs"] = outputs
        self.exported += len(span["inputs"]) + len(span["outputs"])


tracer = Tracer()


def invoke(prompt):
    run_id = uuid.uuid4()
    tracer.on_start(run_id, prompt)
    with torch.no_grad():
        answer = str(net(batch(1)).tolist()) * 20
    tracer.on_end(run_id, answer)
    return answer


for number in range(STEPS):
    invoke(f"question {number} " * 200)
""",
            (("span = self._span_data_map[run_id]", "span = self._span_data_map.pop(run_id)"),),
            "the tracer keeps inputs and outputs of each run that ended",
            "a run leaves the table when it ends",
        ),
        "comet-ml/opik#7516",
        "self._span_data_map[run_id] =",
        step_on="__main__:invoke",
    ),
    Entry(
        Pair(
            "span_of_abandoned_stream",
            "otel_span_map|processor",
            """\
class SpanProcessor:
    def __init__(self):
        self.otel_span_map = {}

    def on_start(self, span_id, attributes):
        self.otel_span_map[span_id] = attributes

    def on_end(self, span_id):
        self.otel_span_map.pop(span_id, None)


processor = SpanProcessor()


def stream(number):
    processor.on_start(number, {"prompt": batch(16), "route": "/stream"})
    for token in range(8):
        yield token
    processor.on_end(number)


for number in range(STEPS):
    with torch.no_grad():
        net(batch())
    tokens = stream(number)
    for token in tokens:
        if token == 3 and number % 2:
            break  # the client has gone
""",
            (
                (
                    "    for token in range(8):\n        yield token\n    processor.on_end(number)\n",
                    "    try:\n        for token in range(8):\n            yield token\n"
                    "    finally:\n        processor.on_end(number)\n",
                ),
            ),
            "a stream that the client leaves never ends its span",
            "the span ends when the generator is closed",
        ),
        "getsentry/sentry-python#2722",
        "self.otel_span_map[span_id] =",
        step_on="__main__:stream",
    ),
    Entry(
        Pair(
            "event_loop_in_a_weak_table",
            "run_vars",
            """\
import asyncio
import weakref

run_vars = weakref.WeakKeyDictionary()


def find_root_task():
    loop = asyncio.get_running_loop()
    variables = run_vars.setdefault(loop, {})
    if "root_task" not in variables:
        task = asyncio.current_task()
        variables["root_task"] = task
    return variables["root_task"]


async def request():
    find_root_task()
    with torch.no_grad():
        return net(batch(512))


for _ in range(STEPS):
    asyncio.run(request())
""",
            (
                (
                    '        variables["root_task"] = task\n',
                    '        variables["root_task"] = task\n'
                    '        task.add_done_callback(lambda _: variables.pop("root_task", None))\n',
                ),
            ),
            "the value, a task, refers to the key, its event loop: the entry never goes, nor does the task's result",
            "the task leaves the table when it is done",
        ),
        "agronholm/anyio#1203",
        'variables["root_task"] = task',
        step_on="__main__:request",
    ),
    Entry(
        Pair(
            "timer_keeps_the_context",
            "_scheduled|_context|run_context",
            """\
import asyncio
import contextvars

run_context = contextvars.ContextVar("run_context")


def close_idle_connections():
    pass


async def workflow():
    run_context.set({"state": batch(64)})
    loop = asyncio.get_running_loop()
    loop.call_later(3600, close_idle_connections)
    with torch.no_grad():
        return float(net(run_context.get()["state"]).sum())


async def main():
    for _ in range(STEPS):
        await asyncio.create_task(workflow())
        await asyncio.sleep(0.002)


asyncio.run(main())
""",
            (("call_later(3600, ", "call_later(0.001, "),),
            "the timer of each request fires in an hour and holds the request's context until then",
            "the timer fires at once",
        ),
        "run-llama/llama-agents#486",
        "loop.call_later(",
        step_on="__main__:workflow",
    ),
    Entry(
        Pair(
            "finished_requests_of_a_scheduler",
            "requests",
            """\
class Scheduler:
    def __init__(self):
        self.requests = {}
        self.running = {}
        self.finished_ids = set()

    def add_request(self, request_id, tokens):
        request = {"id": request_id, "tokens": tokens, "output": None}
        self.requests[request_id] = request
        self.running[request_id] = request

    def step(self):
        for request_id, request in list(self.running.items()):
            with torch.no_grad():
                request["output"] = net(request["tokens"])
            self.finished_ids.add(request_id)
        self.clean_up()

    def clean_up(self):
        for request_id in self.finished_ids:
            self.running.pop(request_id, None)
        self.finished_ids.clear()


scheduler = Scheduler()
for number in range(STEPS):
    scheduler.add_request(number, batch(32))
    scheduler.step()
""",
            (
                (
                    "            self.running.pop(request_id, None)\n",
                    "            self.running.pop(request_id, None)\n            self.requests.pop(request_id, None)\n",
                ),
            ),
            "a finished request leaves one table of two",
            "it leaves both",
        ),
        "waybarrios/vllm-mlx#154",
        "self.requests[request_id] =",
        step_on="__main__:Scheduler.step",
    ),
    Entry(
        Pair(
            "block_ids_never_taken",
            "new_block_ids",
            """\
class BlockPool:
    def __init__(self):
        self.next_id = 1000
        self.new_block_ids = []

    def allocate(self, count):
        ids = list(range(self.next_id, self.next_id + count))
        self.next_id += count
        self.new_block_ids.extend(ids)
        return ids

    def take_new_block_ids(self):
        ids, self.new_block_ids = self.new_block_ids, []
        return ids


class Manager:
    def __init__(self):
        self.pool = BlockPool()

    def schedule(self, tokens):
        blocks = self.pool.allocate(tokens)
        return len(blocks)


manager = Manager()
for number in range(STEPS):
    manager.schedule(512)
    with torch.no_grad():
        net(batch())
""",
            (
                (
                    "        return len(blocks)\n",
                    "        self.pool.take_new_block_ids()\n        return len(blocks)\n",
                ),
            ),
            "the ids of new blocks are gathered for a consumer that is not there",
            "the ids are taken in each step",
        ),
        "vllm-project/vllm#44490",
        "self.new_block_ids.extend(",
        step_on="__main__:Manager.schedule",
    ),
    Entry(
        Pair(
            "client_made_for_each_request",
            "selector|Client",
            """\
import selectors
import socket

selector = selectors.DefaultSelector()


class Client:
    def __init__(self):
        self.certificates = bytes(200_000)
        self.local, self.remote = socket.socketpair()
        selector.register(self.local, selectors.EVENT_READ, self)

    def post(self, body):
        self.remote.send(body[:64])
        return self.local.recv(64)

    def close(self):
        selector.unregister(self.local)
        self.local.close()
        self.remote.close()


def handle():
    client = Client()
    with torch.no_grad():
        answer = net(batch())
    return client.post(answer.numpy().tobytes())


for _ in range(STEPS):
    handle()
""",
            (
                (
                    "    return client.post(answer.numpy().tobytes())\n",
                    "    reply = client.post(answer.numpy().tobytes())\n    client.close()\n    return reply\n",
                ),
            ),
            "a client is made for each request and never closed",
            "the client is closed",
        ),
        "openai/openai-python#874",
        "selector.register(|client = Client()",
        advice="close|unregister",
        step_on="__main__:handle",
    ),
    Entry(
        Pair(
            "executor_keeps_every_future",
            "futures|executor",
            """\
import asyncio


class AsyncioExecutor:
    def __init__(self):
        self.futures = []

    def execute(self, function, *arguments):
        future = asyncio.ensure_future(function(*arguments))
        self.futures.append(future)
        return future

    async def wait_until_finished(self):
        await asyncio.gather(*self.futures)
        self.futures = []


executor = AsyncioExecutor()


async def resolve(x):
    with torch.no_grad():
        return net(x)


async def main():
    for _ in range(STEPS):
        await executor.execute(resolve, batch(128))


asyncio.run(main())
""",
            (
                (
                    "        self.futures.append(future)\n        return future\n",
                    "        self.futures.append(future)\n        future.add_done_callback(self.futures.remove)\n"
                    "        return future\n",
                ),
            ),
            "each future stays in a list that is emptied by a method that nobody calls",
            "a future leaves the list when it is done",
        ),
        "graphql-python/graphql-core-legacy#104",
        "self.futures.append(",
        harmful="self.futures.clear()",
        step_on="__main__:AsyncioExecutor.execute",
    ),
    Entry(
        Pair(
            "thread_for_each_request",
            "connections",
            """\
import threading

local = threading.local()
connections = []  # to close them all at exit


def connection():
    if not hasattr(local, "connection"):
        local.connection = {"buffer": bytearray(20_000)}
        connections.append(local.connection)
    return local.connection


def handle():
    connection()["buffer"][:4] = b"data"
    with torch.no_grad():
        net(batch())


for _ in range(STEPS):
    thread = threading.Thread(target=handle)
    thread.start()
    thread.join()
""",
            (
                (
                    "        net(batch())\n\n\nfor",
                    "        net(batch())\n    connections.remove(local.connection)\n\n\nfor",
                ),
            ),
            "each thread opens a connection of its own, which a list keeps",
            "the thread takes its connection from the list",
        ),
        PATTERN,
        "connections.append(",
        step_on="__main__:handle",
    ),
    Entry(
        Pair(
            "consumer_thread_of_each_handler",
            "queue|consumer|Thread|CallbackHandler|run",
            """\
import queue
import threading


class CallbackHandler:
    def __init__(self):
        self.queue = queue.Queue()
        self.buffer = torch.zeros(16, 256)
        self.thread = threading.Thread(target=self.consume, daemon=True)
        self.thread.start()

    def consume(self):
        while (event := self.queue.get()) is not None:
            self.buffer[0, :8] = event

    def on_end(self, answer):
        self.queue.put(answer)

    def shutdown(self):
        self.queue.put(None)
        self.thread.join()


def invoke():
    handler = CallbackHandler()
    with torch.no_grad():
        answer = net(batch(1))[0]
    handler.on_end(answer)
    return answer


for _ in range(STEPS):
    invoke()
""",
            (
                (
                    "    handler.on_end(answer)\n    return answer\n",
                    "    handler.on_end(answer)\n    handler.shutdown()\n    return answer\n",
                ),
            ),
            "a handler for each request starts a thread that never ends",
            "the handler is shut down",
        ),
        "langfuse/langfuse#2974",
        "self.thread.start()|threading.Thread(|handler = CallbackHandler()",
        advice="shutdown|daemon|join|stop|end",
        step_on="__main__:invoke",
    ),
    Entry(
        Pair(
            "null_handler_of_each_client",
            "handlers",
            """\
import logging


class Client:
    def __init__(self):
        self.log = logging.getLogger("null_logger")
        handler = logging.NullHandler()
        handler.context = {"headers": "x" * 3000 + str(random.random())}
        self.log.addHandler(handler)

    def call(self):
        self.log.info("called")
        with torch.no_grad():
            return net(batch())


for _ in range(STEPS):
    Client().call()
""",
            (
                (
                    "        self.log.addHandler(handler)\n",
                    "        if not self.log.handlers:\n            self.log.addHandler(handler)\n",
                ),
            ),
            "each client adds a handler to the logger that all of them share",
            "a handler is added once",
        ),
        "PaddleHQ/paddle-python-sdk#144",
        "self.log.addHandler(",
        step_on="__main__:Client.call",
    ),
    Entry(
        Pair(
            "subclasses_made_for_each_request",
            "registry",
            """\
class Schema:
    registry = {}

    def __init_subclass__(cls):
        Schema.registry[f"{cls.__name__}-{len(Schema.registry)}"] = cls


def response_model(fields):
    return type("Response", (Schema,), {"fields": fields, "default": np.zeros(512)})


wanted = ("name", "age", "city")
models = {}
for number in range(STEPS):
    model = response_model(wanted)
    with torch.no_grad():
        net(batch())
""",
            (
                (
                    "    model = response_model(wanted)\n",
                    "    model = models.get(wanted) or models.setdefault(wanted, response_model(wanted))\n",
                ),
            ),
            "each request makes a class that the base class registers",
            "the class is made once",
        ),
        PATTERN,
        "Schema.registry[",
        step_on="torch.nn:Module.__call__",
    ),
    Entry(
        Pair(
            "listener_that_cannot_be_removed",
            "listeners|bus|events",
            """\
class EventBus:
    def __init__(self):
        self.listeners = defaultdict(list)

    def register(self, event, listener):
        self.listeners[event].append(listener)

    def unregister(self, event, listener):
        self.listeners[event].remove(listener)

    def emit(self, event, *arguments):
        for listener in self.listeners[event]:
            listener(*arguments)


bus = EventBus()


class Session:
    def __init__(self):
        self.cache = batch(32)
        self.seen = 0
        bus.register("message", self.on_message)

    def on_message(self, text):
        self.seen += len(text)


for number in range(STEPS):
    session = Session()
    bus.emit("message", "hello")
    with torch.no_grad():
        net(session.cache)
""",
            (
                (
                    "        net(session.cache)\n",
                    '        net(session.cache)\n    bus.unregister("message", session.on_message)\n',
                ),
            ),
            "each session registers a method of its own and never unregisters it",
            "the session unregisters it",
        ),
        "JurgenR/aioslsk#314",
        "self.listeners[event].append(|bus.register(",
        advice="unregister|remove|weak",
        step_on="__main__:EventBus.emit",
    ),
    Entry(
        Pair(
            "warning_with_a_text_of_its_own",
            "__warningregistry__",
            """\
import warnings

for number in range(STEPS):
    x = batch()
    with torch.no_grad():
        y = net(x)
    warnings.warn(f"slow request {number}: {y.flatten().tolist()}")
""",
            ((': {y.flatten().tolist()}")', '"[:12])'),),
            "the registry of warnings keeps each text that was ever shown",
            "the text is the same each time",
        ),
        PATTERN,
        "warnings.warn(",
        step_on="torch.nn:Module.__call__",
    ),
    Entry(
        Pair(
            "timers_never_cancelled",
            "_active|Timer|args|timer",
            """\
import threading


def expire(session):
    session.clear()


for number in range(STEPS):
    session = {"history": batch(32)}
    timer = threading.Timer(3600, expire, args=(session,))
    timer.daemon = True
    timer.start()
    with torch.no_grad():
        net(session["history"])
    session["closed"] = True
""",
            (('    session["closed"] = True\n', "    timer.cancel()\n    timer.join()\n"),),
            "each session starts a timer of an hour, which holds the session",
            "the timer is cancelled when the session ends",
        ),
        PATTERN,
        "threading.Timer(|timer.start()",
        advice="cancel",
        step_on="torch.nn:Module.__call__",
    ),
)
