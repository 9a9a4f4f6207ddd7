"""Text that XML can contain, for JUnit files and SVG pictures."""

import re

#: Characters that no XML 1.0 document may contain, not even escaped.
ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def legal(text: str) -> str:
    """Return the text with illegal characters replaced by their numbers, as pytest writes them."""
    return ILLEGAL.sub(lambda found: f"#x{ord(found[0]):02X}", text)
