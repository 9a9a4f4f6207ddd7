"""A model server. Prints its port; keeps the answer of every Nth request.

``python service.py KEEP_EVERY SERVER [SOCKET]``: 0 keeps none; SERVER is http.server or fastapi; with a socket it opens
gradlife's socket there.
"""

from __future__ import annotations

import http.server
import socket
import sys

import torch

KEEP_EVERY = int(sys.argv[1])

net = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 256))
kept: list[torch.Tensor] = []
answered = 0


def answer() -> bytes:
    """Answer one request: a pass through the network."""
    global answered
    answered += 1
    result = net(torch.randn(8, 256))
    if KEEP_EVERY and answered % KEEP_EVERY == 0:
        kept.append(result)
    return b"%f" % result.sum().item()


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers each request with a number."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer with a number."""
        body = answer()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *words: object) -> None:
        """Say nothing."""


def serve_plainly() -> None:
    """Serve with the standard library: a thread for each connection."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()


def serve_fastapi() -> None:
    """Serve with FastAPI under uvicorn: an event loop, and threads for the answers."""
    import fastapi
    import uvicorn

    app = fastapi.FastAPI()
    app.add_api_route("/", lambda: fastapi.Response(answer()))
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()  # uvicorn is not there yet when the port is printed
    print(listener.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])


if len(sys.argv) > 3:
    import gradlife

    gradlife.serve(sys.argv[3])
torch.set_num_threads(1)
serve_fastapi() if sys.argv[2] == "fastapi" else serve_plainly()
