"""`gradlife mcp`: serve hunts, snapshots and explanations to coding assistants."""

from __future__ import annotations

import argparse

EPILOG = """\
The server speaks the Model Context Protocol on standard input and output, as an
assistant starts it: {"command": "gradlife", "args": ["mcp"]}. It needs the
package mcp: pip install 'gradlife[mcp]'. Its tools run programs as you do, and
change none of their files.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.epilog = EPILOG


def run(args: argparse.Namespace) -> int:
    """Serve until the assistant disconnects."""
    from gradlife.mcp_server.server import make_server

    make_server().run("stdio")
    return 0
