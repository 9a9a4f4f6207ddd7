"""Caches and tables: with a bound, with an eviction, with keys that come round again, and without."""

from __future__ import annotations

from benchmarks.twins.pair import Pair

PAIRS = (
    Pair(
        "lru_cache",
        "embedding",
        """\
import functools


@functools.lru_cache(maxsize=None)
def embedding(key):
    return torch.full((16, 64), float(key))


for step in range(STEPS):
    train(embedding(step) + batch())
""",
        (("maxsize=None", "maxsize=8"),),
        "a cache without a bound is called with a new key in each step",
        "the cache holds eight results",
    ),
    Pair(
        "lru_cache_not_full",
        "position_code",
        """\
import functools


@functools.lru_cache(maxsize=None)
def position_code(start):
    return torch.sin(torch.arange(start, start + 1024.0)).reshape(16, 64)


for step in range(STEPS):
    train(position_code(step) + batch())
""",
        (("maxsize=None", "maxsize=<2N>"),),
        "a cache without a bound is called with a new key in each step",
        "the cache has a bound, which the run does not reach",
        full_after=2,
    ),
    Pair(
        "cache_of_few_arguments",
        "mask",
        """\
import functools


@functools.cache
def mask(length, shift):
    return torch.ones(32, 32).tril()[:16] * length + shift


for step in range(STEPS):
    train(batch() + mask(step % 4, step).repeat(1, 2))
""",
        (("mask(step % 4, step)", "mask(step % 4, 0)"),),
        "the second argument is new in each step",
        "a cache without a bound, but there are four arguments",
        steps=(40, 400),
    ),
    Pair(
        "cache_called_with_tensors",
        "normalized",
        """\
import functools


@functools.cache
def normalized(x):
    return (x - x.mean()) / x.std()


data = [batch() for _ in range(4)]
for step in range(STEPS):
    train(normalized(batch()))
""",
        (("normalized(batch())", "normalized(data[step % 4])"),),
        "a tensor is its own key, so each new batch stays with its result",
        "the same four tensors are given again and again",
        steps=(40, 400),
    ),
    Pair(
        "lru_cache_on_a_method",
        "Encoder|features",
        """\
import functools


class Encoder:
    def __init__(self):
        self.weight = torch.randn(64, 64)

    @functools.lru_cache(maxsize=None)
    def features(self, scale):
        return self.weight * scale


for step in range(STEPS):
    encoder = Encoder()
    train(batch() @ encoder.features(0.5))
""",
        (("maxsize=None", "maxsize=2"),),
        "the cache of the class keeps each instance",
        "it keeps two",
    ),
    Pair(
        "cached_property_on_samples",
        "samples",
        """\
import functools


class Sample:
    def __init__(self, seed):
        self.seed = seed

    @functools.cached_property
    def image(self):
        return torch.randn(16, 64, generator=torch.Generator().manual_seed(self.seed))


samples = []
for step in range(STEPS):
    samples.append(Sample(step))
    train(samples[-1].image)
""",
        (("    samples.append(Sample(step))\n", "    samples[:] = [Sample(step)]\n"),),
        "each step makes a sample that keeps its image, and keeps the sample",
        "one sample at a time",
    ),
    Pair(
        "dataset_that_caches_images",
        "images",
        """\
class Dataset:
    def __init__(self):
        self.images = {}

    def __getitem__(self, index):
        if index not in self.images:
            self.images[index] = batch(4)
        return self.images[index]


dataset = Dataset()
for step in range(STEPS):
    train(torch.cat([dataset[step * 4 + i] for i in range(4)]))
""",
        (("dataset[step * 4 + i]", "dataset[(step * 4 + i) % <N>]"),),
        "the index is that of an endless stream, so each step adds four images",
        "a data set with an end: all of it is read after a quarter of the run",
        steps=(40, 400),
    ),
    Pair(
        "dict_first_in_first_out",
        "cache",
        """\
cache = {}


def encode(key):
    if key not in cache:
        cache[key] = batch()
        if len(cache) > 8:
            oldest = next(iter(cache))
    return cache[key]


for step in range(STEPS):
    train(encode(f"query {step}"))
""",
        (("oldest = next(iter(cache))", "del cache[next(iter(cache))]"),),
        "a new key in each step, and the oldest is looked up, not removed",
        "the oldest of nine goes",
    ),
    Pair(
        "least_recently_used",
        "entries",
        """\
class Cache:
    def __init__(self, most):
        self.most = most
        self.entries = OrderedDict()

    def get(self, key, make):
        if key in self.entries:
            self.entries.move_to_end(key)
        else:
            self.entries[key] = make()
        return self.entries[key]


cache = Cache(<N/4>)
for step in range(STEPS):
    train(cache.get(step - step % 3, batch) + cache.get(step, batch))
""",
        (
            (
                "            self.entries[key] = make()\n",
                "            self.entries[key] = make()\n"
                "            if len(self.entries) > self.most:\n                self.entries.popitem(last=False)\n",
            ),
        ),
        "nothing is ever evicted",
        "the least recently used goes when there are too many",
        steps=(40, 400),
    ),
    Pair(
        "weak_values",
        "by_name",
        """\
import weakref


class Features:
    def __init__(self, name):
        self.name, self.values = name, batch()


by_name = {}


def features(name):
    found = by_name.get(name)
    if found is None:
        found = by_name[name] = Features(name)
    return found


for step in range(STEPS):
    train(features(f"image {step}").values)
""",
        (("by_name = {}", "by_name = weakref.WeakValueDictionary()"),),
        "the table holds what it names",
        "the table refers weakly to what it names",
    ),
    Pair(
        "weak_keys_with_strong_values",
        "plans",
        """\
import weakref


class Request:
    def __init__(self):
        self.x = batch()


class Plan:
    def __init__(self, request):
        self.request = request
        self.order = torch.randperm(16)


plans = weakref.WeakKeyDictionary()
for step in range(STEPS):
    request = Request()
    plans[request] = Plan(request)
    train(request.x[plans[request].order])
""",
        (("self.request = request", "self.request = weakref.ref(request)"),),
        "the value refers to the key, so the weak dictionary never loses it",
        "the value refers weakly to its key",
    ),
    Pair(
        "mask_per_shape",
        "masks",
        """\
masks = {}


def masked(x, offset):
    key = (tuple(x.shape), offset)
    if key not in masks:
        masks[key] = (torch.rand(x.shape) > 0.1).float()
    return x * masks[key]


for step in range(STEPS):
    train(masked(batch(12 + step % 4), step))
""",
        (("batch(12 + step % 4), step", "batch(12 + step % 4), 0"),),
        "the key has the number of the step",
        "there are four shapes",
        steps=(40, 400),
    ),
    Pair(
        "scratch_per_length",
        "scratch",
        """\
scratch = {}
for step in range(STEPS):
    length = 16 + step
    out = scratch.setdefault(length, torch.empty(length, 64))
    out.copy_(batch(length))
    train(out)
""",
        (("16 + step\n", "16 + step % 5\n"),),
        "the length rises by one in each step, and each has a buffer of its own",
        "there are five lengths",
        steps=(40, 400),
    ),
    Pair(
        "memo_by_id",
        "memo",
        """\
memo = {}


def prepared(x):
    if id(x) not in memo:
        memo[id(x)] = (x, x - x.mean())
    return memo[id(x)][1]


for step in range(STEPS):
    x = batch()
    train(prepared(x))
""",
        (("    train(prepared(x))\n", "    train(prepared(x))\n    del memo[id(x)]\n"),),
        "the memo keeps the tensor so that its id stays valid, and never forgets it",
        "the entry is removed after the step",
    ),
    Pair(
        "keys_and_values_of_a_stream",
        "past",
        """\
class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key = nn.Linear(64, 64), nn.Linear(64, 64)
        self.past = None

    def forward(self, x):
        key = self.key(x)
        self.past = key if self.past is None else torch.cat([self.past, key])
        return (self.query(x) @ self.past.T).softmax(-1) @ self.past


attention = Attention()
for step in range(STEPS):
    with torch.no_grad():
        x = attention(batch())
    train(x)
""",
        (("torch.cat([self.past, key])", "torch.cat([self.past, key])[-64:]"),),
        "keys are added to those of all earlier steps",
        "a window of 64 keys",
    ),
    Pair(
        "keys_and_values_of_a_sequence",
        "past",
        """\
class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.key = nn.Linear(64, 64)
        self.past = []

    @torch.no_grad()
    def decode(self, x):
        self.past.append(self.key(x))
        return torch.cat(self.past[-8:]).mean(0, keepdim=True)

    def reset(self):
        self.length = 0


decoder = Decoder()
for step in range(STEPS):
    train(batch() + decoder.decode(batch()))
    if step % 5 == 4:
        decoder.reset()
""",
        (("self.length = 0", "self.past = []"),),
        "the reset forgets the keys",
        "each sequence begins with an empty list of keys",
        steps=(40, 400),
    ),
    Pair(
        "prefixes_of_prompts",
        "prefixes",
        """\
class PrefixCache:
    def __init__(self):
        self.prefixes = {}

    def lookup(self, tokens):
        found = self.prefixes.get(tokens)
        if found is None:
            found = self.prefixes[tokens] = torch.randn(len(tokens), 64)
        return found


cache = PrefixCache()
for step in range(STEPS):
    prompt = tuple(random.randrange(32_000) for _ in range(16))
    train(cache.lookup(prompt))
""",
        (
            (
                "        return found\n",
                "        if len(self.prefixes) > 6:\n            self.prefixes.clear()\n        return found\n",
            ),
        ),
        "each prompt is new and stays",
        "the cache is cleared when it has more than six prompts",
    ),
    Pair(
        "rotary_positions",
        "cosines",
        """\
class Rotary(nn.Module):
    def __init__(self):
        super().__init__()
        self.cosines = {}

    def forward(self, x, offset):
        if offset not in self.cosines:
            angles = torch.outer(torch.arange(offset, offset + len(x)).float(), torch.rand(64))
            self.cosines[offset] = angles.cos()
        return x * self.cosines[offset]


rotary = Rotary()
for step in range(STEPS):
    train(rotary(batch(), step))
""",
        (("rotary(batch(), step)", "rotary(batch(), step % 4)"),),
        "the offset of the stream is new in each step",
        "there are four offsets",
        steps=(40, 400),
    ),
    Pair(
        "pieces_of_words",
        "pieces",
        """\
class Tokenizer:
    def __init__(self):
        self.pieces = {}

    def encode(self, word):
        if word not in self.pieces:
            self.pieces[word] = " ".join(word)
        return [ord(piece) % 64 for piece in self.pieces[word].split(" ")]


tokenizer = Tokenizer()
number = 0
for step in range(STEPS):
    tokens = []
    for _ in range(64):
        number += 1
        tokens += tokenizer.encode(f"user-{number:06d}-request")
    train(nn.functional.one_hot(torch.tensor(tokens[:16]), 64).float())
""",
        (("{number:06d}", "{number % 50:06d}"),),
        "words with numbers: 64 new ones in each step",
        "there are 50 words",
    ),
    Pair(
        "hashes_of_samples",
        "seen",
        """\
import hashlib

seen, previous = set(), set()
for step in range(STEPS):
    x = batch(128)
    for row in x:
        digest = hashlib.sha256(row.numpy().tobytes()).hexdigest()
        if digest not in seen and digest not in previous:
            seen.add(digest)
    train(x)
    if len(seen) >= 512:
        previous = set()
""",
        (("previous = set()\n", "previous, seen = seen, set()\n"),),
        "the set of hashes is never replaced",
        "two generations of hashes: the older is dropped",
    ),
    Pair(
        "entries_that_expire",
        "entries",
        """\
class Expiring:
    def __init__(self, life):
        self.life, self.entries = life, {}

    def put(self, key, value, now):
        self.entries[key] = (now, value)

    def get(self, key, now):
        born, value = self.entries[key]
        return value if now - born <= self.life else None

    def purge(self, now):
        for key in [key for key, (born, _) in self.entries.items() if now - born > self.life]:
            self.entries.pop(key)


store = Expiring(3)
for step in range(STEPS):
    store.put(step, batch(), step)
    train(store.get(step, step))
    store.purge(0)
""",
        (("store.purge(0)", "store.purge(step)"),),
        "the time that is given to the purge stands still",
        "entries older than three steps are purged",
    ),
    Pair(
        "bytes_of_a_cache",
        "blobs",
        """\
class Blobs:
    def __init__(self, most_bytes):
        self.most_bytes, self.total = most_bytes, 0
        self.blobs = OrderedDict()

    def put(self, key, blob):
        self.blobs[key] = blob
        self.total += 0
        while self.total > self.most_bytes:
            _, old = self.blobs.popitem(last=False)
            self.total -= len(old)


blobs = Blobs(40_000)
for step in range(STEPS):
    x = batch(32)
    blobs.put(step, x.numpy().tobytes())
    train(x)
""",
        (("self.total += 0", "self.total += len(blob)"),),
        "the total is never raised, so nothing is evicted",
        "40 kB of blobs, then the oldest goes",
    ),
    Pair(
        "nested_cache",
        "layers",
        """\
layers = {name: {} for name in ("first", "second")}
for step in range(STEPS):
    x = batch()
    for name, results in layers.items():
        results[step] = x * len(name)
        if len(layers) > 3:
            results.pop(next(iter(results)))
    train(x)
""",
        (("len(layers) > 3", "len(results) > 3"),),
        "the limit is compared with the number of layers",
        "each layer keeps three results",
    ),
    Pair(
        "attribute_of_a_function",
        "results",
        """\
def encode(key):
    if key not in encode.results:
        encode.results[key] = batch()
    return encode.results[key]


encode.results = {}
for step in range(STEPS):
    train(encode(step))
""",
        (("encode(step)", "encode(step % 3)"),),
        "the function's own table gets a new key in each step",
        "there are three keys",
        steps=(40, 400),
    ),
    Pair(
        "table_of_timings",
        "timings",
        """\
import time

timings = {}
for step in range(STEPS):
    x = batch()
    key = (x.shape, x.data_ptr(), step)
    started = time.perf_counter()
    train(x)
    timings[key] = torch.tensor([time.perf_counter() - started] * 512)
""",
        (("(x.shape, x.data_ptr(), step)", "(x.shape, x.dtype)"),),
        "the key has the address and the number of the step",
        "one shape, one entry",
    ),
    Pair(
        "traced_modules",
        "traced",
        """\
import torch.fx

traced = {}
for step in range(STEPS):
    key = step
    if key not in traced:
        traced[key] = torch.fx.symbolic_trace(net).graph
    train(batch())
""",
        (("key = step\n", "key = id(net)\n"),),
        "each step traces the model again and keeps the graph",
        "the model is traced once",
    ),
    Pair(
        "generations_of_a_table",
        "table",
        """\
table = {}
for step in range(STEPS):
    x = batch()
    table[step] = x
    if step % 4 == 0:
        table = dict(table)
    train(x)
""",
        (("table = dict(table)", "table = {}"),),
        "the table is copied, with all that it has",
        "a new table begins every four steps",
        steps=(40, 400),
    ),
    Pair(
        "declared_bound_beyond_memory",
        "history",
        """\
history = deque(maxlen=900_000)
for step in range(STEPS):
    x = batch(1024)
    history.append(x)
    train(x)
""",
        (("history.append(x)", "history.append(x[0].clone())"),),
        "900,000 batches of 256 kB are 230 GB; memory is full at 4",
        "900,000 rows of 256 bytes are far below 4 GB",
        limit="4G",
        full_after=-1,
    ),
    Pair(
        "checked_bound_beyond_memory",
        "history",
        """\
history = []
for step in range(STEPS):
    x = batch(1024)
    if len(history) < 900_000:
        history.append(x)
    train(x)
""",
        (("history.append(x)", "history.append(x[0].clone())"),),
        "900,000 batches of 256 kB are 230 GB; memory is full at 4",
        "900,000 rows of 256 bytes are far below 4 GB",
        limit="4G",
        full_after=-1,
    ),
    Pair(
        "places_beyond_memory",
        "rows",
        """\
rows = [None] * 100_000
for step in range(STEPS):
    x = batch(1024)
    rows[step] = x
    train(x)
""",
        (("rows[step] = x", "rows[step] = x[:4].clone()"),),
        "100,000 places for 256 kB each are 26 GB; memory is full at 4",
        "100,000 places for 1 kB each are far below 4 GB",
        limit="4G",
        full_after=-1,
    ),
)
