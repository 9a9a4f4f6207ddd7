"""`gradlife codes`: the GLnnn codes, with what each says."""

from __future__ import annotations

import argparse
import sys

from gradlife.cli.formats import Outputs, add_svg, picture
from gradlife.cli.pager import paged
from gradlife.cli.report_file import add_force
from gradlife.errors import UsageError
from gradlife.patterns import SENTENCES, family, sentence
from gradlife.reports.codes import codes_text, print_codes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "words", nargs="*", metavar="WORD", help="only codes that begin so, or whose sentence has it: GL4, hook"
    )
    parser.add_argument("--json", metavar="FILE", help="write them as JSON; - for standard output")
    add_svg(parser)
    add_force(parser)


def run(args: argparse.Namespace) -> int:
    """Print the codes, or write them to a file."""
    with Outputs(args, {"json": codes_text, "svg": picture(print_codes, "gradlife codes")}) as outputs:
        codes = [code for code in sorted(SENTENCES) if all(is_about(code, word) for word in args.words)]
        if not codes:
            raise UsageError(f"no code is about {' '.join(args.words)}", "gradlife codes")
        if not outputs.is_stdout_taken:
            paged(lambda console: print_codes(console, codes), sys.stdout)
        outputs.write(codes)
    return 0


def is_about(code: str, word: str) -> bool:
    """Whether a code begins with a word, or its sentence or family has it."""
    text = f"{sentence(code)} {family(code)[0]}"
    return code.startswith(word.upper()) or word.lower() in text.lower()
