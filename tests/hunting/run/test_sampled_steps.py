"""Programs without an optimizer, a DataLoader or a backward pass: servers, loops of events, generation under no_grad."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.torch, pytest.mark.whole]

NET = """\
import torch
net = torch.nn.Linear(16, 4)
kept = []
"""
LOOP = (
    NET
    + """
def answer(number):
    with torch.no_grad():
        result = net(torch.randn(1, 16))
        KEEP

for number in range(300):
    answer(number)
"""
)
EVENTS = (
    NET
    + """
import asyncio

async def answer():
    with torch.no_grad():
        await asyncio.sleep(0)
        result = net(torch.randn(1, 16))
        KEEP

async def main():
    for _ in range(300):
        await asyncio.create_task(answer())

asyncio.run(main())
"""
)
SERVER = (
    NET
    + """
import http.server, threading, urllib.request

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        with torch.no_grad():
            result = net(torch.randn(1, 16))
            KEEP
        self.send_response(200)
        self.end_headers()

    def log_message(self, *args):
        pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
for _ in range(300):
    urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/").read()
server.shutdown()
"""
)
FLASK = (
    NET
    + """
import flask

app = flask.Flask(__name__)

@app.route("/")
def answer():
    with torch.no_grad():
        result = net(torch.randn(1, 16))
        KEEP
    return "answered"

client = app.test_client()
for _ in range(300):
    client.get("/")
"""
)
FASTAPI = (
    NET
    + """
import fastapi, threading, time, urllib.request, uvicorn

app = fastapi.FastAPI()

@app.get("/")
def answer():
    with torch.no_grad():
        result = net(torch.randn(1, 16))
        KEEP
    return "answered"

server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
threading.Thread(target=server.run, daemon=True).start()
while not server.started:
    time.sleep(0.01)
port = server.servers[0].sockets[0].getsockname()[1]
for _ in range(300):
    urllib.request.urlopen(f"http://127.0.0.1:{port}/").read()
server.should_exit = True
"""
)
GENERATION = """\
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(64, 32)
        self.head = torch.nn.Linear(32, 64)

    def forward(self, token, cache):
        cache.append(self.embedding(token))
        return self.head(torch.cat(cache, 1)[:, -1])

def generate(model):
    cache, token = [], torch.zeros(1, 1, dtype=torch.long)
    for _ in range(30):
        token = model(token, cache).argmax(-1, keepdim=True)
    return token

model, kept = Model(), []
with torch.no_grad():
    for _ in range(200):
        result = generate(model)
        KEEP
"""
PROGRAMS = {
    "call of answer (serve.py:5)": LOOP,
    "call of answer (serve.py:7)": EVENTS,
    "call of Handler.do_GET (serve.py:8)": SERVER,
    "call of generate (serve.py:13)": GENERATION,
}
SERVERS = {"flask": FLASK, "fastapi": FASTAPI}
LEAKS, CLEAN = "kept.append(result)", "kept[:] = [result]"

#: What is prepared is no step where an optimizer takes some later.
TRAINING = """\
import torch

def sample(number):
    return torch.full((16,), float(number))

samples = []
for number in range(400):
    samples.append(sample(number))

net = torch.nn.Linear(16, 1)
FIRES = getattr(torch.optim, "SGD")(net.parameters(), lr=0.01)
for number in range(200):
    net(samples[number]).sum().backward()
    FIRES.step()
    FIRES.zero_grad()
"""
TIMED = """\
import time
import torch

kept = []
while True:
    kept.append(torch.randn(64) + 1)
    time.sleep(0.005)
"""


def hunted(source: str, folder: Path, *options: str) -> dict[str, Any]:
    program, answer = folder / "serve.py", folder / "report.json"
    program.write_text(source)
    command = [sys.executable, "-m", "gradlife", "hunt", *options, "--json", str(answer), str(program)]
    subprocess.run(command, check=False, capture_output=True, timeout=900)
    report: dict[str, Any] = json.loads(answer.read_text())
    return report


@pytest.mark.parametrize("step", PROGRAMS)
def test_requests_are_steps_and_what_they_keep_is_a_leak(step: str, tmp_path: Path) -> None:
    report = hunted(PROGRAMS[step].replace("KEEP", LEAKS), tmp_path)
    assert (report["verdict"], report["stepped_by"], report["settings"]["steps"]) == ("leak", step, "sampled")
    assert "kept" in report["findings"][0]["trace"]["text"]
    assert report["findings"][0]["per_step"]["tensors"] == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("step", PROGRAMS)
def test_requests_that_keep_only_the_last_answer_are_clean(step: str, tmp_path: Path) -> None:
    report = hunted(PROGRAMS[step].replace("KEEP", CLEAN), tmp_path)
    assert (report["verdict"], report["stepped_by"], report["findings"]) == ("clean", step, [])


@pytest.mark.parametrize("framework", SERVERS)
def test_handlers_of_web_frameworks_are_steps(framework: str, tmp_path: Path) -> None:
    if importlib.util.find_spec(framework) is None:
        pytest.skip(f"{framework} is not installed")
    report = hunted(SERVERS[framework].replace("KEEP", LEAKS), tmp_path)
    assert report["verdict"] == "leak"
    assert report["stepped_by"].startswith(("call of answer (serve.py:", "call of Client.get"))
    assert hunted(SERVERS[framework].replace("KEEP", CLEAN), tmp_path)["findings"] == []


FLAT = (
    NET
    + """
with torch.no_grad():
    for number in range(30):
        result = net(torch.randn(64, 16))
        KEEP
"""
)
DECORATED = (
    NET
    + """
@torch.no_grad()
def answer():
    result = net(torch.randn(64, 16))
    KEEP

for number in range(30):
    answer()
"""
)


@pytest.mark.parametrize("short", [FLAT, DECORATED], ids=["flat", "decorated"])
def test_thirty_passes_under_no_grad_have_a_verdict(short: str, tmp_path: Path) -> None:
    """Such a script ended before a sample showed its steps: could not tell."""
    kept = hunted(short.replace("KEEP", "kept.append(result)"), tmp_path)
    assert (kept["verdict"], kept["findings"][0]["code"]) == ("leak", "GL512")
    assert hunted(short.replace("KEEP", "last = result.sum().item()"), tmp_path)["verdict"] == "clean"


DEEP = """\
import torch

class Deep(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(32, 32) for _ in range(400))

    def forward(self, x):
        features = []
        for one in self.layers:
            x = one(x).tanh()
            features.append(x)
        return torch.stack(features).mean(0)

net, kept = Deep(), []
with torch.no_grad():
    for _ in range(50):
        result = net(torch.randn(8, 32))
        KEEP
"""


def test_what_a_pass_collects_of_its_layers_does_not_grow(tmp_path: Path) -> None:
    """Each layer's call was a step, and the list of features a major leak."""
    assert hunted(DEEP.replace("KEEP", "last = result.sum()"), tmp_path)["verdict"] == "clean"
    kept = hunted(DEEP.replace("KEEP", "kept.append(result)"), tmp_path)
    assert ["variable 'kept'" in one["trace"]["text"] for one in kept["findings"]] == [True]


def test_an_optimizer_takes_the_place_of_calls_that_prepared_the_data(tmp_path: Path) -> None:
    report = hunted(TRAINING, tmp_path)
    assert (report["verdict"], report["stepped_by"]) == ("clean", "SGD.step")
    assert "steps" not in report["settings"]


def test_where_nothing_repeats_time_is_the_step(tmp_path: Path) -> None:
    report = hunted(TIMED, tmp_path, "--steps", "60")
    assert (report["verdict"], report["stepped_by"]) == ("leak", "0.1 s of time")
    assert report["settings"]["step_seconds"] == "0.1"


def test_so_many_requests_as_were_asked_for_end_a_server(tmp_path: Path) -> None:
    endless = SERVER.replace("KEEP", LEAKS).replace("for _ in range(300)", "while True")
    assert hunted(endless, tmp_path, "--steps", "60")["verdict"] == "leak"
