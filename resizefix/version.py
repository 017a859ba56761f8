"""The package's version, as installed."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("resizefix")
except PackageNotFoundError:  # run from a source tree that nobody installed
    __version__ = "0+uninstalled"
