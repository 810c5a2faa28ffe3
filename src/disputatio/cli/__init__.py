"""The command line: one module for each group of commands."""

from __future__ import annotations

import os


def run() -> None:
    """Run the command line; Ctrl-C while its modules are loaded ends it in one line, as it does later."""
    try:
        from disputatio.cli.main import main
    except KeyboardInterrupt:
        os.write(2, b"disputatio: stopped\n")
        os._exit(130)  # what is half loaded is not to be unwound
    main()
