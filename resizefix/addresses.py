"""The public addresses of the project, read from its metadata: `[project.urls]` in pyproject.toml sets them."""

from __future__ import annotations

_PAGES = "docs/"


def address(label: str) -> str | None:
    """The address that `[project.urls]` gives under a label, such as "Issues"; None where none is set."""
    from importlib.metadata import PackageNotFoundError, metadata  # costly to import for the many that need no address

    try:
        rows = metadata("resizefix").get_all("Project-URL") or []
    except PackageNotFoundError:  # run from a checkout that is not installed
        return None
    addresses = dict(row.split(", ", 1) for row in rows)
    return addresses.get(label)


def page_address(page: str) -> str | None:
    """Where a page of docs/ is read: "docs/how-to/a-lost-pixel.md" below the address of the documentation."""
    documentation = address("Documentation")
    if documentation is None or not page.startswith(_PAGES):
        return None
    path = page.removeprefix(_PAGES).removesuffix(".md").removesuffix("index")
    return f"{documentation.rstrip('/')}/{path}{'/' if path else ''}"
