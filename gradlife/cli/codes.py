"""`gradlife codes`: the GLnnn codes, with what each says, and the known leaks of libraries."""

from __future__ import annotations

import argparse
import sys

from gradlife.cli.formats import Outputs, add_svg, picture
from gradlife.cli.pager import paged
from gradlife.cli.report_file import add_force
from gradlife.errors import UsageError
from gradlife.patterns import SENTENCES, family, sentence
from gradlife.patterns.known_leaks import KnownLeak, known_leaks
from gradlife.reports.codes import codes_text, print_codes
from gradlife.reports.known_leaks import known_leaks_text, print_known_leaks


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "words", nargs="*", metavar="WORD", help="only codes that begin so, or whose sentence has it: GL4, hook"
    )
    parser.add_argument(
        "--known",
        action="store_true",
        help="list the known leaks of libraries instead: WORD is a library, a code, or a word of the line",
    )
    parser.add_argument("--json", metavar="FILE", help="write them as JSON; - for standard output")
    add_svg(parser)
    add_force(parser)


def run(args: argparse.Namespace) -> int:
    """Print the codes or the known leaks, or write them to a file."""
    if args.known:
        return run_known(args)
    with Outputs(args, {"json": codes_text, "svg": picture(print_codes, "gradlife codes")}) as outputs:
        codes = [code for code in sorted(SENTENCES) if all(is_about(code, word) for word in args.words)]
        if not codes:
            raise UsageError(f"no code is about {' '.join(args.words)}", "gradlife codes")
        if not outputs.is_stdout_taken:
            paged(lambda console: print_codes(console, codes), sys.stdout)
        outputs.write(codes)
    return 0


def run_known(args: argparse.Namespace) -> int:
    """Print the known leaks of libraries, or write them to a file."""
    writers = {"json": known_leaks_text, "svg": picture(print_known_leaks, "gradlife codes --known")}
    with Outputs(args, writers) as outputs:
        leaks = [leak for leak in known_leaks() if all(is_known_about(leak, word) for word in args.words)]
        if not leaks:
            raise UsageError(f"no known leak is about {' '.join(args.words)}", "gradlife codes --known")
        if not outputs.is_stdout_taken:
            paged(lambda console: print_known_leaks(console, leaks), sys.stdout)
        outputs.write(leaks)
    return 0


def is_known_about(leak: KnownLeak, word: str) -> bool:
    """Whether a known leak has a code that begins with a word, or its line has the word."""
    return any(code.startswith(word.upper()) for code in leak.codes) or word.lower() in leak.text.lower()


def is_about(code: str, word: str) -> bool:
    """Whether a code begins with a word, or its sentence or family has it."""
    text = f"{sentence(code)} {family(code)[0]}"
    return code.startswith(word.upper()) or word.lower() in text.lower()
