"""The server: its tools by name, each marked by what it may change."""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Callable
from typing import Any

from gradlife._version import __version__
from gradlife.errors import GradlifeError
from gradlife.mcp_server.tools import Tools

INSTRUCTIONS = """\
gradlife finds memory leaks of PyTorch programs. Begin with hunt: it runs the program and names the line that stores
what leaks (stored_at) and, where one is safe, the change (patch). Apply the patch, then hunt again: the verdict must be
clean. explain tells what a code such as GL402 means.
"""

#: Tools that run a program, which may do anything.
RUNNING = ("hunt", "snapshot")


class NoServer(GradlifeError):
    """The package that speaks the protocol is not installed."""


def make_server(root: str = ".") -> Any:
    """Make a server with all tools, for programs and files below a folder. Raises NoServer."""
    try:
        kind = importlib.import_module("mcp.server").MCPServer
        annotations = importlib.import_module("mcp.types").ToolAnnotations
        refusal = importlib.import_module("mcp.server.mcpserver.exceptions").ToolError
    except (ImportError, AttributeError):
        raise NoServer(
            "gradlife mcp needs the package mcp, version 2 or newer", "pip install 'gradlife[mcp]'"
        ) from None
    where = os.path.realpath(root)
    server = kind("gradlife", instructions=f"{INSTRUCTIONS}Paths are those below {where}.\n", version=__version__)
    tools = Tools(where)
    for tool in (tools.hunt, tools.why, tools.snapshot, tools.diff, tools.explain):
        runs = tool.__name__ in RUNNING
        effects = annotations(readOnlyHint=not runs, destructiveHint=runs)
        words = f"{tool.__doc__}\n\nIt runs programs below {where}, which may do anything." if runs else tool.__doc__
        server.tool(description=words, annotations=effects)(with_reason(tool, refusal))
    return server


def with_reason(tool: Callable[..., Any], refusal: type[Exception]) -> Callable[..., Any]:
    """A tool whose errors reach the assistant with their text: the server keeps that of all others but ``refusal`` back."""

    @functools.wraps(tool)
    def asked(*args: Any, **kwargs: Any) -> Any:
        try:
            return tool(*args, **kwargs)
        except GradlifeError as error:
            raise refusal(str(error)) from None

    return asked
