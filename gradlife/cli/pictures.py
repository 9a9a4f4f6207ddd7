"""Pictures of a neighbourhood, drawn by graphviz if installed."""

from __future__ import annotations

import shutil
import struct
import subprocess
import zlib

from gradlife.errors import UsageError
from gradlife.output import LostOutputError

#: Kinds of pictures that graphviz draws, by file suffix.
KINDS = ("png", "svg", "pdf")

#: Bytes of a PNG before its first optional chunk.
IMAGE_HEADER = 33

#: Time limit for a picture, in seconds.
TIME_LIMIT = 60


def picture_kind(path: str) -> str:
    """Return a picture's kind by its file name. Raises UsageError without graphviz or for other kinds."""
    kind = path.rpartition(".")[2].lower()
    if kind not in KINDS:
        raise UsageError(
            f"{path} names no kind of picture", f"a file that ends in {', '.join('.' + one for one in KINDS)}"
        )
    if shutil.which("dot") is None:
        raise UsageError("graphviz's dot is not installed", "install graphviz; or --dot FILE, which needs nothing")
    return kind


def drawn(text: str, kind: str) -> bytes:
    """Draw the picture with graphviz."""
    try:
        done = subprocess.run(
            ["dot", f"-T{kind}"], input=text.encode("utf-8"), capture_output=True, timeout=TIME_LIMIT, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LostOutputError(f"graphviz drew no picture: {error}", "--dot FILE") from None
    if done.returncode or not done.stdout:
        result = " ".join(done.stderr.decode("utf-8", "replace").split())[:200]
        raise LostOutputError(f"graphviz drew no picture: {result or f'status {done.returncode}'}", "--dot FILE")
    return marked(done.stdout)


def marked(image: bytes) -> bytes:
    """Return a PNG or PDF with a note of what made it; graphviz puts the name of the graph into an SVG by itself."""
    if image.startswith(b"%PDF"):
        return image.rstrip(b"\n") + b"\n%gradlife\n"
    if not image.startswith(b"\x89PNG"):
        return image
    chunk = b"tEXtSoftware\0gradlife"
    text = struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk))
    return image[:IMAGE_HEADER] + text + image[IMAGE_HEADER:]
