"""The word that somebody probably meant, where the one that was given is none of those that there are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_NEAR = 0.6  # of difflib's ratio, 1 for equal words


def nearest(word: object, known: Iterable[str], near: float = _NEAR) -> str | None:
    """The one of the words `known` that is most like `word`, whatever the case; None where none is near, or for what
    is no text."""
    if not isinstance(word, str):
        return None
    import difflib  # which only a wrong word needs

    by_lower = {each.lower(): each for each in known}
    return next((by_lower[each] for each in difflib.get_close_matches(word.strip().lower(), by_lower, 1, near)), None)


def proposal(near: Sequence[str | None]) -> str:
    """What goes before the list of the words that there are: `did you mean linear? There are`."""
    words = [word for word in near if word is not None]
    return f"did you mean {' or '.join(words)}? There are" if words else "there are"
