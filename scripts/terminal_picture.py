"""Draw what a command of ours prints: `python scripts/terminal_picture.py FILE.svg ask QUESTION ...`.

The command is run as a user runs it, on a terminal of 96 columns. The picture loads no font and no script.
"""

from __future__ import annotations

import contextlib
import html
import io
import os
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import SVG_EXPORT_THEME
from rich.text import Text

COLUMNS = 96
BLANK = "&#160;"
INDENTED = re.compile(rf'x="([\d.]+)"([^>]*)textLength="([\d.]+)"([^>]*)>((?:{BLANK})+)([^<]+)<')
# The frame of Rich's export, without its style sheet of fonts from elsewhere.
FRAME = """\
<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
  font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width; }}
.{unique_id}-title {{ font-size: 16px; font-family: ui-monospace, "DejaVu Sans Mono", Menlo, monospace; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def on_a_terminal(words: list[str]) -> tuple[int, str]:
    """Return the exit code of a command whose output is a terminal, and what it printed with its colours."""
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    environment |= {"TERM": "xterm-256color", "COLUMNS": str(COLUMNS)}
    ours, theirs = os.openpty()
    command = [sys.executable, "-c", "from disputatio.cli.main import main; main()", *words]
    with (
        subprocess.Popen(command, env=environment, stdout=theirs) as process,
        os.fdopen(ours, "rb") as screen,
    ):
        os.close(theirs)
        printed = b""
        with contextlib.suppress(OSError):  # how the end of a terminal is told
            while part := screen.read1():
                printed += part
    return process.returncode, printed.decode().replace("\r\n", "\n")


def drawn(printed: str, title: str) -> str:
    """Draw the screen of a terminal as SVG."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(printed.rstrip("\n")))
    picture = console.export_svg(title=title, theme=SVG_EXPORT_THEME, code_format=FRAME, unique_id="answer")
    return re.sub(r"<text [^>]*>\n</text>", "\n", INDENTED.sub(_moved, picture))


def _moved(match: re.Match[str]) -> str:
    """Return a text that starts where its first letter stands: some viewers drop blanks at its start."""
    x, rest, length, blanks = float(match[1]), match[2], float(match[3]), match[5].count(BLANK)
    cell = length / len(html.unescape(match[5] + match[6]))
    moved, shorter = x + blanks * cell, length - blanks * cell
    return f'x="{moved:g}"{rest}textLength="{shorter:g}"{match[4]}>{match[6]}<'


def main(arguments: list[str]) -> int:
    """Run the command and write the picture; returns the exit code of the command."""
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    file, *words = arguments
    code, printed = on_a_terminal(words)
    if code == 0:
        shown = " ".join(f'"{word}"' if " " in word else word for word in words)
        Path(file).write_text(drawn(printed, f"disputatio {shown}"), encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
