"""Called by mkdocs: the addresses of `[project.urls]` in pyproject.toml, where they are set, are those of the site."""

from __future__ import annotations

import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The site's own address, and the repository's in the header."""
    settings = Path(config.config_file_path).with_name("pyproject.toml").read_text(encoding="utf-8")
    urls = tomllib.loads(settings)["project"].get("urls", {})
    if "Documentation" in urls:
        config.site_url = urls["Documentation"]
    if "Repository" in urls:
        config.repo_url = urls["Repository"]
    return config
