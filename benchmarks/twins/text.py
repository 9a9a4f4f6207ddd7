"""Strings, numbers and bytes: vocabularies, indexes, counters, token streams. Many of them are no objects with references."""

from __future__ import annotations

from benchmarks.twins.pair import Pair

PAIRS = (
    Pair(
        "vocabulary",
        "vocabulary",
        """\
vocabulary = {}
number = 0
for step in range(STEPS):
    for _ in range(128):
        number += 1
        vocabulary.setdefault(f"token-{number:08d}", len(vocabulary))
    train(batch())
""",
        (("{number:08d}", "{number % 1000:08d}"),),
        "128 new tokens in each step",
        "a thousand tokens, all seen after eight steps",
        steps=(40, 400),
    ),
    Pair(
        "vocabulary_with_a_limit",
        "index",
        """\
class Vocabulary:
    def __init__(self, limit):
        self.limit = limit
        self.index = {}

    def add(self, word):
        if word not in self.index and len(word) < self.limit:
            self.index[word] = len(self.index)
        return self.index.get(word, 0)


vocabulary = Vocabulary(400)
number = 0
for step in range(STEPS):
    for _ in range(100):
        number += 1
        vocabulary.add(f"word-{number:08d}" + "-" * 40)
    train(batch())
""",
        (("len(word) < self.limit", "len(self.index) < self.limit"),),
        "the limit is compared with the length of the word",
        "400 words, then the rest is unknown",
    ),
    Pair(
        "index_of_documents",
        "index",
        """\
index = {}
for step in range(STEPS):
    for i in range(1024):
        index[f"doc-{step:05d}-{i:04d}-" + "x" * 24] = step
    train(batch())
""",
        (("{step:05d}", "{step % 3:05d}"),),
        "1,024 new strings in each step",
        "the names come round again after three steps",
        steps=(40, 400),
    ),
    Pair(
        "documents_in_a_list",
        "documents",
        """\
documents = []
for step in range(STEPS):
    for i in range(64):
        documents.append(f"{step} {i} " + "lorem ipsum " * 10)
    train(batch())
    if step % 4 == 3:
        words = sum(len(one) for one in documents)
""",
        (("for one in documents)\n", "for one in documents)\n        documents.clear()\n"),),
        "64 long strings a step, counted and kept",
        "cleared once counted",
        steps=(40, 400),
    ),
    Pair(
        "counter_of_pairs",
        "pairs",
        """\
pairs = Counter()
for step in range(STEPS):
    words = [f"w{random.randrange(100_000)}" for _ in range(128)]
    pairs.update(f"{a} {b}" for a, b in zip(words, words[1:]))
    train(batch())
    if len(pairs) > 300:
        common = Counter(dict(pairs.most_common(100)))
""",
        (("common = Counter(", "pairs = Counter("),),
        "the counter is read, not cut: 127 new pairs of words in each step",
        "the counter is cut to its hundred most common pairs",
    ),
    Pair(
        "counter_of_kinds",
        "kinds",
        """\
kinds = Counter()
number = 0
for step in range(STEPS):
    for _ in range(100):
        number += 1
        kinds[f"error in record {number:012d} of the input"] += 1
    train(batch())
""",
        (("{number:012d}", "{number % 10:012d}"),),
        "the text of an error has a number, so each is a kind of its own",
        "there are ten kinds",
    ),
    Pair(
        "numbers_seen",
        "seen",
        """\
seen = set()
number = 10**6
for step in range(STEPS):
    for _ in range(512):
        number += 1
        seen.add(number)
    train(batch())
    if len(seen) > 1000:
        smallest = min(seen)
""",
        (("smallest = min(seen)", "seen.clear()"),),
        "512 new numbers in each step",
        "the set is cleared when it has more than a thousand",
        steps=(40, 400),
    ),
    Pair(
        "messages_of_users",
        "messages",
        """\
messages = defaultdict(list)
for step in range(STEPS):
    for user in range(8):
        history = messages[user]
        history.append(f"{step}: " + random.choice("abc") * 1000)
        shortened = history[-3:]
    train(batch())
""",
        (("shortened = history[-3:]", "del history[:-3]"),),
        "eight messages of 1 kB a step; a short copy is made, the history stays",
        "three messages for each user",
    ),
    Pair(
        "postings",
        "postings",
        """\
postings = {f"word{i}": [] for i in range(50)}
document = 10**6
for step in range(STEPS):
    for _ in range(10):
        document += 1
        for word in random.sample(sorted(postings), 20):
            postings[word].append(document + random.random())
            if len(postings) > 100:
                del postings[word][0]
    train(batch())
""",
        (("len(postings) > 100", "len(postings[word]) > 20"),),
        "200 entries a step; the limit is compared with the number of words",
        "twenty entries for each word",
        steps=(40, 400),
    ),
    Pair(
        "digests_of_samples",
        "digests",
        """\
import hashlib

digests = set()
for step in range(STEPS):
    x = batch(128)
    for row in x.numpy():
        digest = hashlib.blake2b(row.tobytes(), digest_size=32).digest()
        digests.add(digest)
    train(x)
""",
        (("digests.add(digest)", "digests.add(digest[:1])"),),
        "128 digests of 32 bytes a step",
        "there are 256 first bytes",
        steps=(40, 400),
    ),
    Pair(
        "chunks_of_bytes",
        "chunks",
        """\
chunks = []
for step in range(STEPS):
    x = batch(32)
    chunks.append(x.numpy().tobytes())
    train(x)
    if step % 5 == 4:
        data = b"".join(chunks)
""",
        (('b"".join(chunks)\n', 'b"".join(chunks)\n        chunks = []\n'),),
        "the chunks are joined and kept",
        "a new list begins after they were joined",
        steps=(40, 400),
    ),
    Pair(
        "array_of_numbers",
        "numbers",
        """\
from array import array

numbers = array("d")
for step in range(STEPS):
    x = batch()
    numbers.extend(x.flatten().tolist())
    train(x)
    mean = sum(numbers[-1024:]) / 1024
""",
        (("    mean =", "    del numbers[:-1024]\n    mean ="),),
        "an array that gets 8 kB longer in each step",
        "it is cut to its newest 1,024 numbers",
    ),
    Pair(
        "bytes_received",
        "received",
        """\
received = bytearray()
for step in range(STEPS):
    x = batch(32)
    received += x.numpy().tobytes()
    while len(received) >= 1024 and received[0] == 1000:
        del received[:1024]
    train(x)
""",
        ((" and received[0] == 1000", ""),),
        "a byte is never 1000, so no packet is taken out",
        "packets of 1,024 bytes are taken out",
    ),
    Pair(
        "tokens_to_pack",
        "tokens",
        """\
class Packer:
    def __init__(self):
        self.tokens = []

    def add(self, document):
        self.tokens += document
        blocks = []
        while len(self.tokens) >= 512 * (1 + len(blocks)):
            start = 512 * len(blocks)
            blocks.append(self.tokens[start : start + 512])
        return blocks[-2:]


packer = Packer()
for step in range(STEPS):
    packer.add([random.randrange(300, 32_000) for _ in range(600)])
    train(batch())
""",
        (
            (
                "        return blocks[-2:]\n",
                "        del self.tokens[: 512 * len(blocks)]\n        return blocks[-2:]\n",
            ),
        ),
        "blocks are copied out of the list, which keeps all tokens: 600 a step",
        "what was packed is deleted; less than a block is left",
    ),
    Pair(
        "numbers_in_a_list",
        "scores",
        """\
scores = []
for step in range(STEPS):
    x = batch()
    train(x)
    scores.extend(x.flatten().tolist())
""",
        (("scores.extend(x.flatten().tolist())", "scores.append(x.mean().item())"),),
        "1,024 numbers a step",
        "one number a step, as a log",
        logs=True,
    ),
    Pair(
        "dict_of_records",
        "records",
        """\
from typing import NamedTuple


class Record(NamedTuple):
    name: str
    score: float
    text: str


records = {}
for step in range(STEPS):
    for i in range(16):
        name = f"sample {step} {i}"
        records[name] = Record(name, random.random(), name * 20)
    train(batch())
""",
        (('f"sample {step} {i}"', 'f"sample {step % 2} {i}"'),),
        "sixteen records with new names a step",
        "the names come round again",
    ),
    Pair(
        "nested_counts",
        "counts",
        """\
counts = defaultdict(lambda: defaultdict(int))
for step in range(STEPS):
    for i in range(64):
        counts[f"day {step // 5}"][f"user {random.randrange(10**9)}"] += 1
    for day in list(counts)[:-2]:
        counts[day].get("total")
    train(batch())
""",
        (('counts[day].get("total")', "del counts[day]"),),
        "the days before are read, not removed",
        "two days are kept",
        steps=(40, 400),
    ),
    Pair(
        "trie_of_sequences",
        "trie",
        """\
trie = {}
for step in range(STEPS):
    for _ in range(4):
        node = trie
        for _ in range(6):
            node = node.setdefault(random.randrange(2, 3 + 10**6), {})
    train(batch())
""",
        (("random.randrange(2, 3 + 10**6)", "random.randrange(2, 4)"),),
        "sequences over a million symbols make new branches, 24 a step",
        "six levels of two symbols: 126 nodes",
        steps=(400,),
    ),
    Pair(
        "merges_of_pieces",
        "merges",
        """\
merges = []
words = [f"{random.randrange(10**6)}" for _ in range(64)]
for step in range(STEPS):
    if len(words) < 1000:
        merges.append({word: "".join(random.choices("abcdefgh", k=64)) for word in words})
    train(batch())
""",
        (("len(words) < 1000", "len(merges) < 6"),),
        "the limit is compared with another list, which stays short",
        "six tables of merges",
    ),
    Pair(
        "names_of_a_module",
        "names",
        """\
import types

names = types.SimpleNamespace()
for step in range(STEPS):
    x = batch()
    setattr(names, f"input_{step}", x)
    train(x)
""",
        (('f"input_{step}"', '"input"'),),
        "each step sets a new attribute",
        "the same attribute is set again",
    ),
)
