"""The package's version: the number in pyproject.toml, written down, since asking for it costs as much as `click`."""

__version__ = "0.2.0"
