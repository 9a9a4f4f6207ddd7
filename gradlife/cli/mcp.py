"""`gradlife mcp`: serve hunts, snapshots and explanations to coding assistants."""

from __future__ import annotations

import argparse
import os

from gradlife.errors import UsageError

EPILOG = """\
The server speaks the Model Context Protocol on standard input and output, as an
assistant starts it: {"command": "gradlife", "args": ["mcp"]}. It needs the
package mcp: pip install 'gradlife[mcp]'. Its tools run programs as you do, and
change none of their files. Programs and files outside of the root folder are
refused, also those that a symbolic link leads to.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.epilog = EPILOG
    parser.add_argument(
        "--root", metavar="FOLDER", default=".", help="the folder of the programs and files (default: the current one)"
    )


def run(args: argparse.Namespace) -> int:
    """Serve until the assistant disconnects."""
    from gradlife.mcp_server.server import make_server

    if not os.path.isdir(args.root):
        raise UsageError(f"{args.root} is no folder", "--root with the folder of the programs")
    make_server(args.root).run("stdio")
    return 0
