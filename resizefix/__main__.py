"""`python -m resizefix` is the same as the command `resizefix`."""

from resizefix.cli import main

if __name__ == "__main__":
    main()
