"""Data pipelines: caches of datasets and tokenizers, files, frames, iterators."""

from __future__ import annotations

from benchmarks.field.entry import PATTERN, Entry
from benchmarks.twins.pair import Pair

ENTRIES = (
    Entry(
        Pair(
            "cached_getitem",
            "__getitem__",
            """\
import functools


class Clips(torch.utils.data.Dataset):
    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size

    @functools.lru_cache(maxsize=None)
    def __getitem__(self, index):
        return torch.randn(64, generator=torch.Generator().manual_seed(index))


clips = Clips(STEPS * 16)
for x in torch.utils.data.DataLoader(clips, batch_size=16):
    train(x)
""",
            (("maxsize=None", "maxsize=16"),),
            "each sample stays in a cache without a bound",
            "the cache has sixteen places",
        ),
        "MoonshotAI/Kimi-Audio#117",
        "@functools.lru_cache(maxsize=None)|def __getitem__",
    ),
    Entry(
        Pair(
            "cached_property_of_each_slide",
            "slides|image",
            """\
import functools


class Slide:
    def __init__(self, seed):
        self.seed = seed

    @functools.cached_property
    def image(self):
        return np.random.default_rng(self.seed).standard_normal((64, 64)).astype(np.float32)

    def patch(self):
        return torch.from_numpy(self.image[:16].copy())


slides = [Slide(seed) for seed in range(STEPS)]
for slide in slides:
    train(slide.patch())
""",
            (("@functools.cached_property", "@property"),),
            "each slide that was read once keeps its image",
            "the image is read again when it is needed",
        ),
        "kaiko-ai/eva#388",
        "functools.cached_property|def image|return np.random|self.image",
    ),
    Entry(
        Pair(
            "document_closed_at_exit",
            "atexit|cleanup|Provider|pages",
            """\
import atexit


class Provider:
    def __init__(self, seed):
        self.pages = np.random.default_rng(seed).integers(0, 255, (8, 64, 64), dtype=np.uint8)
        atexit.register(self.cleanup)

    def cleanup(self):
        self.pages = None

    def close(self):
        self.cleanup()
        atexit.unregister(self.cleanup)


def convert(seed):
    provider = Provider(seed)
    x = torch.from_numpy(provider.pages[0, :16].astype(np.float32))
    return train(x)


for seed in range(STEPS):
    convert(seed)
""",
            (("    return train(x)\n\n\nfor", "    provider.close()\n    return train(x)\n\n\nfor"),),
            "each document registers a method to run at exit, which holds it until then",
            "the document is closed and unregistered",
        ),
        "datalab-to/marker#419",
        "atexit.register(",
        advice="unregister|weakref",
    ),
    Entry(
        Pair(
            "atexit_close_of_a_connection",
            "atexit|close|Connection|buffer",
            """\
import atexit


class Connection:
    def __init__(self, host):
        self.host = host
        self.buffer = bytearray(50_000)
        self._close = self.close
        atexit.register(self._close)

    def execute(self, command):
        self.buffer[: len(command)] = command.encode()
        return bytes(self.buffer[:4])

    def close(self):
        self.buffer = None

    def __enter__(self):
        return self

    def __exit__(self, *reason):
        self.close()
        atexit.unregister(self._close)
        del self._close


def fetch(number):
    connection = Connection("host")
    return connection.execute(f"read {number}")


for number in range(STEPS):
    fetch(number)
    train(batch())
""",
            (
                (
                    '    connection = Connection("host")\n    return connection.execute(f"read {number}")\n',
                    '    with Connection("host") as connection:\n        return connection.execute(f"read {number}")\n',
                ),
            ),
            "each connection is closed at exit only",
            "the context manager closes and unregisters it",
        ),
        "ARM-software/devlib#676",
        "atexit.register(",
        advice="unregister|weakref",
    ),
    Entry(
        Pair(
            "cache_of_long_words",
            "cache",
            """\
class Tokenizer:
    def __init__(self, capacity):
        self.capacity = capacity
        self.cache = {}

    def encode(self, word):
        if word in self.cache:
            return self.cache[word]
        ids = [ord(letter) for letter in word]
        if len(self.cache) < self.capacity:
            self.cache[word] = ids
        return ids


tokenizer = Tokenizer(capacity=10_000_000)
for number in range(STEPS):
    ids = tokenizer.encode(f"{number}" + "abc" * 500)
    train(torch.tensor(ids[:1024], dtype=torch.float32).reshape(16, 64))
""",
            (("capacity=10_000_000", "capacity=4"),),
            "a document without spaces is one word, and each has its place in the cache",
            "the cache has four places",
        ),
        "huggingface/tokenizers#1539",
        "self.cache[word] =",
    ),
    Entry(
        Pair(
            "shards_left_mapped",
            "open_shards",
            """\
import tempfile
from pathlib import Path

folder = tempfile.TemporaryDirectory()
shards = []
for number in range(8):
    path = Path(folder.name) / f"shard-{number}.npy"
    np.save(path, np.random.rand(64, 64).astype(np.float32))
    shards.append(path)
open_shards = []


def rows(number):
    shard = np.load(shards[number % 8], mmap_mode="r")
    open_shards.append(shard)
    return torch.from_numpy(np.array(shard[:16]))


for number in range(STEPS):
    train(rows(number))
""",
            (("    open_shards.append(shard)\n", "    open_shards[:] = [shard]\n"),),
            "each read maps the shard once more, and the map is kept",
            "the last map is kept",
        ),
        PATTERN,
        "open_shards.append(",
    ),
    Entry(
        Pair(
            "sqlite_in_memory",
            "",
            """\
import sqlite3

store = sqlite3.connect(":memory:")
store.execute("create table samples (step integer, data blob)")
for number in range(STEPS):
    x = batch(64)
    store.execute("insert into samples values (?, ?)", (number, x.numpy().tobytes()))
    if number >= 3:
        store.execute("delete from samples where step < ?", (0,))
    train(x)
""",
            (("(0,)", "(number - 3,)"),),
            "a database in memory keeps each batch",
            "rows older than three steps are deleted",
        ),
        PATTERN,
        "store.execute(",
    ),
    Entry(
        Pair(
            "writer_into_one_buffer",
            "buffer|writer",
            """\
import io
import tarfile


class ShardWriter:
    def __init__(self, samples_per_shard):
        self.samples_per_shard = samples_per_shard
        self.uploaded = 0
        self.next_shard()

    def next_shard(self):
        self.buffer = io.BytesIO()
        self.tar = tarfile.open(fileobj=self.buffer, mode="w")
        self.count = 0

    def write(self, name, data):
        entry = tarfile.TarInfo(name)
        entry.size = len(data)
        self.tar.addfile(entry, io.BytesIO(data))
        self.count += 1
        if self.count == self.samples_per_shard:
            self.tar.close()
            self.uploaded += len(self.buffer.getvalue())
            self.next_shard()


writer = ShardWriter(samples_per_shard=1_000_000)
for number in range(STEPS):
    x = batch()
    writer.write(f"{number}.bin", x.numpy().tobytes())
    train(x)
""",
            (("samples_per_shard=1_000_000", "samples_per_shard=3"),),
            "the shard in memory never reaches its million samples",
            "a shard has three samples",
        ),
        PATTERN,
        "self.tar.addfile(",
    ),
    Entry(
        Pair(
            "frame_that_is_concatenated",
            "frame|log",
            """\
class Log:
    def __init__(self):
        self.frame = np.empty((0, 64), dtype=np.float32)

    def add(self, rows):
        self.frame = np.concatenate([self.frame, rows])


log = Log()
for _ in range(STEPS):
    x = batch()
    log.add(x.numpy())
    train(x)
""",
            (("np.concatenate([self.frame, rows])", "np.concatenate([self.frame, rows])[-64:]"),),
            "each step makes the frame longer",
            "the frame keeps its last 64 rows",
        ),
        PATTERN,
        "np.concatenate(",
    ),
    Entry(
        Pair(
            "tee_with_one_reader",
            "tee|validation|tee_dataobject",
            """\
import itertools


def stream():
    while True:
        yield batch()


training, validation = itertools.tee(stream())
for step in range(STEPS):
    train(next(training))
    if step < 0:
        next(validation)
""",
            (("if step < 0:", "if step >= 0:"),),
            "what one reader of two has read waits for the other",
            "both read",
        ),
        PATTERN,
        "itertools.tee(|next(training)",
    ),
    Entry(
        Pair(
            "iterators_of_past_epochs",
            "iterators",
            """\
class Loader:
    def __init__(self, size):
        self.data = torch.randn(size, 64)
        self.iterators = []

    def batches(self):
        shuffled = self.data[torch.randperm(len(self.data))]
        for start in range(0, len(shuffled), 16):
            yield shuffled[start : start + 16]

    def __iter__(self):
        iterator = self.batches()
        self.iterators.append(iterator)
        return iterator


loader = Loader(64)
for _ in range(STEPS):
    for number, x in enumerate(loader):
        train(x)
        if number == 1:
            break  # an epoch is half of the data
""",
            (("        self.iterators.append(iterator)\n", "        self.iterators = [iterator]\n"),),
            "each epoch's suspended generator stays with its shuffled copy",
            "the last one stays",
        ),
        "meta-pytorch/data#1185",
        "self.iterators.append(",
    ),
    Entry(
        Pair(
            "cache_in_a_worker",
            "imgs|dataset",
            """\
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    def __init__(self, size):
        self.imgs = [None] * size

    def __len__(self):
        return len(self.imgs)

    def __getitem__(self, index):
        image = self.imgs[index]
        if image is None:
            image = torch.randn(64, 64)
            self.imgs[index] = image
        return image[0]


def main():
    images = Images(STEPS * 16)
    for x in DataLoader(images, batch_size=16, num_workers=1):
        train(x)


if __name__ == "__main__":
    main()
""",
            (("            self.imgs[index] = image\n", ""),),
            "the worker keeps each image that it reads",
            "images are read again",
            full_after=1,
        ),
        "ultralytics/yolov3#642",
        "self.imgs[index] =",
    ),
    Entry(
        Pair(
            "cached_series_of_a_file",
            "_get_series|Recording",
            """\
import functools


class Recording:
    def __init__(self, seed):
        self.notebook = np.random.default_rng(seed).standard_normal((64, 64)).astype(np.float32)

    @functools.lru_cache(maxsize=None)
    def _get_series(self, name):
        return self.notebook[:16]

    def series(self, name):
        return torch.from_numpy(self._get_series(name).copy())


for seed in range(STEPS):
    recording = Recording(seed)
    train(recording.series("voltage"))
""",
            (("    @functools.lru_cache(maxsize=None)\n", ""),),
            "the cache of the method has `self` as its key",
            "the method has no cache",
        ),
        "AllenInstitute/ipfx#495",
        "@functools.lru_cache(|def _get_series",
    ),
    Entry(
        Pair(
            "futures_kept_with_results",
            "futures",
            """\
from concurrent.futures import ThreadPoolExecutor, as_completed


def load(seed):
    return torch.randn(16, 64, generator=torch.Generator().manual_seed(seed))


futures = []
with ThreadPoolExecutor(1) as pool:
    for seed in range(STEPS):
        future = pool.submit(load, seed)
        futures.append(future)
        x = future.result()
        train(x)
    done = sum(future.done() for future in futures)
""",
            (("        futures.append(future)\n", "        futures = [future]\n"),),
            "each future is kept with its result, to be counted at the end",
            "the last one is kept",
        ),
        "agronholm/pythonfutures#77",
        "futures.append(",
    ),
)
