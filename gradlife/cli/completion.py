"""`gradlife completion`: the completion of commands and options, generated from the parser, for bash, zsh and fish.

shtab has no fish, and argcomplete starts Python at each Tab: a script with all words needs neither.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator

from gradlife.cli.parser import COMMANDS, Parser, command_parser
from gradlife.output import OutputStream

EPILOG = """\
bash:  gradlife completion bash >> ~/.bash_completion
zsh:   gradlife completion zsh > "${fpath[1]}/_gradlife"
fish:  gradlife completion fish > ~/.config/fish/completions/gradlife.fish
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.epilog = EPILOG
    parser.add_argument("shell", choices=[*SHELLS], metavar="SHELL", help="bash, zsh or fish")


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    OutputStream().write(SHELLS[args.shell]())
    return 0


def all_commands() -> dict[str, str]:
    """Return each command with its purpose."""
    return {**COMMANDS, "help": "describe a command"}


def parsers() -> Iterator[tuple[str, Parser]]:
    """Yield each command with its parser."""
    for name in COMMANDS:
        yield name, command_parser(name)


def bash() -> str:
    """Return the script for bash: after the command its options, else files."""
    cases = "".join(f"    {name}) words={shlex.quote(' '.join(options_of(parser)))} ;;\n" for name, parser in parsers())
    return f"""\
# Completion of gradlife for bash, written by `gradlife completion bash`.
_gradlife() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" words=""
  COMPREPLY=()
  if [[ $COMP_CWORD -eq 1 || ( $COMP_CWORD -eq 2 && ${{COMP_WORDS[1]}} == help ) ]]; then
    COMPREPLY=($(compgen -W {shlex.quote(" ".join(all_commands()))} -- "$current") $(compgen -f -X '!*.py' -- "$current"))
    return
  fi
  case "${{COMP_WORDS[1]}}" in
{cases}  esac
  [[ $current == -* ]] && COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _gradlife gradlife
"""


def zsh() -> str:
    """Return the script for zsh: commands and options with what they do."""
    commands = " ".join(map(described, all_commands(), all_commands().values()))
    cases = ""
    for name, parser in parsers():
        options = " ".join(described(word, text) for word, text in options_of(parser).items())
        cases += f"    {name}) options=({options}) ;;\n"
    return f"""\
#compdef gradlife
# Completion of gradlife for zsh, written by `gradlife completion zsh`.
_gradlife() {{
  local -a commands options
  commands=({commands})
  if (( CURRENT == 2 )) || [[ CURRENT -eq 3 && $words[2] == help ]]; then
    _describe command commands
    _files -g '*.py'
    return
  fi
  case $words[2] in
{cases}  esac
  [[ $PREFIX == -* ]] && _describe option options || _files
}}
if [[ $funcstack[1] == _gradlife ]]; then _gradlife "$@"; else compdef _gradlife gradlife; fi
"""


def fish() -> str:
    """Return the script for fish: commands and options with what they do."""
    lines = ["# Completion of gradlife for fish, written by `gradlife completion fish`."]
    for name, summary in all_commands().items():
        lines.append(f"complete -c gradlife -n __fish_use_subcommand -a {name} -d {quoted(summary)}")
    for name, parser in parsers():
        for action, text in parser.options():
            words = [("-l " if word.startswith("--") else "-s ") + word.lstrip("-") for word in action.option_strings]
            value = " -r" if action.nargs != 0 else ""
            here = f"complete -c gradlife -n '__fish_seen_subcommand_from {name}'"
            lines.append(f"{here} {' '.join(words)}{value} -d {quoted(text)}")
    return "\n".join(lines) + "\n"


#: The script of each shell.
SHELLS = {"bash": bash, "zsh": zsh, "fish": fish}


def options_of(parser: Parser) -> dict[str, str]:
    """Return the long options of a command, or the short ones that have no long form, with their help."""
    found = {}
    for action, text in parser.options():
        long = [word for word in action.option_strings if word.startswith("--")]
        found.update(dict.fromkeys(long or action.option_strings, text))
    return found


def described(word: str, text: str) -> str:
    """Return a word for zsh's `_describe`, with what it does."""
    return shlex.quote(f"{word}:{text}")


def quoted(text: str) -> str:
    """Quote a text for fish, in which a backslash escapes a quote."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
