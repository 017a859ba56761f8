"""The program `resizefix`, and `python -m resizefix`.

Ctrl-C while the command line is still loading ends the program without a traceback.
"""

import sys


def main() -> None:
    """Load the command line and run it; exit code 130 where Ctrl-C comes first."""
    try:
        from resizefix.cli import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
