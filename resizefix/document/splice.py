"""Writes an edited message over its original records, so that everything untouched stays the bytes it was.

Three serialisations of one message meet: the original as it stands in the file (any field order, any encoding), `old`,
the canonical serialisation of what the original says, and `new`, the canonical serialisation of what it shall say.
Where `old` and `new` agree the original records stay; where they differ in a submessage, the same happens inside it.

Elements of repeated fields are matched monotonously, in linear time for real edits: equal ends first, then elements
that occur exactly once on both sides (the longest increasing run of them, as in patience diff), then again the ends of
the gaps between these. The matching need not be the largest possible: an element left out is written anew, never lost.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import NamedTuple

from resizefix.document.source import Piece, Source, Span, framed, size_of
from resizefix.document.wire import FIELDS, LENGTH_DELIMITED, Readable, Record, number_of, records

Match = tuple[int, int]


def increasing_matches(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[Match]:
    """Pairs (i, j) with `old[i] == new[j]`, increasing in both."""
    matches: list[Match] = []
    pending = [(0, len(old), 0, len(new))]
    while pending:
        old_start, old_end, new_start, new_end = pending.pop()
        while old_start < old_end and new_start < new_end and old[old_start] == new[new_start]:
            matches.append((old_start, new_start))
            old_start, new_start = old_start + 1, new_start + 1
        while old_start < old_end and new_start < new_end and old[old_end - 1] == new[new_end - 1]:
            old_end, new_end = old_end - 1, new_end - 1
            matches.append((old_end, new_end))
        anchors = _unique_in_both(old, new, range(old_start, old_end), range(new_start, new_end))
        if not anchors:
            continue
        for i, j in [*anchors, (old_end, new_end)]:
            if old_start < i and new_start < j:
                pending.append((old_start, i, new_start, j))
            old_start, new_start = i + 1, j + 1
        matches += anchors
    return sorted(matches)


def gaps(matches: Sequence[Match], old_length: int, new_length: int) -> list[tuple[range, range]]:
    """The unmatched stretches (of the old, of the new sequence) between matches, where both have elements."""
    spaces = []
    i = j = 0
    for next_i, next_j in [*matches, (old_length, new_length)]:
        if i < next_i and j < next_j:
            spaces.append((range(i, next_i), range(j, next_j)))
        i, j = next_i + 1, next_j + 1
    return spaces


def _unique_in_both(old: Sequence[Hashable], new: Sequence[Hashable], in_old: range, in_new: range) -> list[Match]:
    old_counts, new_counts = Counter(old[i] for i in in_old), Counter(new[j] for j in in_new)
    place = {old[i]: i for i in in_old if old_counts[old[i]] == 1}
    return _longest_increasing([(place[new[j]], j) for j in in_new if new_counts[new[j]] == 1 and new[j] in place])


def _longest_increasing(pairs: list[Match]) -> list[Match]:
    """The longest subsequence whose first members increase (the second ones do already)."""
    tails: list[int] = []
    tail_pairs: list[int] = []
    before: list[int] = []
    for index, (i, _) in enumerate(pairs):
        length = bisect_left(tails, i)
        before.append(tail_pairs[length - 1] if length else -1)
        if length == len(tails):
            tails.append(i)
            tail_pairs.append(index)
        else:
            tails[length], tail_pairs[length] = i, index
    chosen = []
    index = tail_pairs[-1] if tail_pairs else -1
    while index >= 0:
        chosen.append(pairs[index])
        index = before[index]
    return chosen[::-1]


# What says which element of a repeated field is which, tried in this order.
_IDENTITY = {
    kind: [number_of(kind, name) for name in names]
    for kind, names in {
        "NodeProto": ("name", "output"),
        "TensorProto": ("name",),
        "ValueInfoProto": ("name",),
        "AttributeProto": ("name",),
        "FunctionProto": ("name",),
        "TensorAnnotation": ("tensor_name",),
        "StringStringEntryProto": ("key",),
        "OperatorSetIdProto": ("domain",),
    }.items()
}

# Field number, whether a parser takes the record for that field, and if not, the wire type it keeps as unknown.
_Key = tuple[int, bool, int]
# (kind of message, records of it in canonical form) -> what is to be written for them
Expanding = Callable[[str, bytes], "list[Piece]"]


class _Layout(NamedTuple):
    """What becomes of the original records: `kept[i]` stands for record i, `before[i]` is new and precedes it."""

    original: list[Record]
    kept: list[list[Piece]]
    before: defaultdict[int, list[Piece]]

    def drop(self, places: Iterable[int]) -> None:
        for place in places:
            self.kept[place] = []

    def slot_of(self, number: int) -> int:
        """Where a field goes that the original does not have: in the order of field numbers."""
        later = (index for index, record in enumerate(self.original) if record.number > number)
        return next(later, len(self.original))

    def pieces(self) -> list[Piece]:
        out: list[Piece] = []
        for index, record_pieces in enumerate(self.kept):
            out += self.before.get(index, ())
            out += record_pieces
        return out + self.before.get(len(self.kept), [])


class _Side:
    """One of the two canonical serialisations, its records sorted by field."""

    def __init__(self, kind: str, data: bytes) -> None:
        self.data = data
        self.fields: dict[_Key, list[Record]] = defaultdict(list)
        for record in records(data, 0, len(data)):
            self.fields[_key(kind, record)].append(record)

    def texts(self, key: _Key) -> list[bytes]:
        """The records of one field, tags included."""
        return [self.data[record.start : record.end] for record in self.fields.get(key, ())]

    def contents(self, key: _Key) -> list[bytes]:
        """The values of the records of one field."""
        return [self.data[record.body : record.end] for record in self.fields.get(key, ())]


class Splicer(NamedTuple):
    """Merges edits into the model that `source` holds; `data` is the same file, mapped."""

    source: Source
    data: Readable
    expand: Expanding

    def merge(self, kind: str, original: list[Record], old: bytes, new: bytes) -> list[Piece]:
        """The message `kind` that says what `new` says, in the words of `original` wherever that said `old`."""
        was, shall = _Side(kind, old), _Side(kind, new)
        places: dict[_Key, list[int]] = defaultdict(list)
        for index, record in enumerate(original):
            places[_key(kind, record)].append(index)
        layout = _Layout(original, [[self._span(record)] for record in original], defaultdict(list))
        for key in sorted(was.fields.keys() | shall.fields.keys()):
            if was.texts(key) != shall.texts(key):
                self._merge_field(kind, key, places[key], layout, was, shall)
                for overridden in _rivals(kind, key) - shall.fields.keys():
                    layout.drop(places[overridden])
        return layout.pieces()

    def _merge_field(self, kind: str, key: _Key, places: list[int], layout: _Layout, was: _Side, shall: _Side) -> None:
        number, field, _ = key
        row = FIELDS[kind][number] if field else None
        count = len(was.fields.get(key, ()))
        if row and row.repeated and row.wire_type == LENGTH_DELIMITED and len(places) == count:
            self._merge_elements(kind, key, places, layout, was, shall)
        elif (
            row
            and row.message
            and places
            and count == len(shall.fields.get(key, ())) == 1
            and (len(places) == 1 or row.oneof is None)
        ):
            layout.drop(places)
            (old,), (new,) = was.contents(key), shall.contents(key)
            layout.kept[places[-1]] = self._merge_records(layout, places, row.message, old, new)
        else:
            layout.drop(places)
            slot = places[-1] if places else layout.slot_of(number)
            layout.before[slot] += self.expand(kind, b"".join(shall.texts(key)))

    def _merge_records(self, layout: _Layout, places: list[int], kind: str, old: bytes, new: bytes) -> list[Piece]:
        """One record for the records at `places`, which parsers merge if they are several."""
        last = layout.original[places[-1]]
        if len(places) == 1 and self._is_canonical(last, old):
            content = self.expand(kind, new)
        else:
            content = self.merge(kind, self._inside(layout, places), old, new)
        if size_of(content) == last.end - last.body:
            return [Span(self.source, last.start, last.body), *content]
        return framed(last.number, content)

    def _is_canonical(self, record: Record, old: bytes) -> bool:
        """Whether the file says it in the very words of `old`; then those of `new` are as good, and no search for what
        stays is needed. A message with payloads never does."""
        return record.end - record.body == len(old) and self.data[record.body : record.end] == old

    def _inside(self, layout: _Layout, places: list[int]) -> list[Record]:
        return [
            inner
            for place in places
            for inner in records(self.data, layout.original[place].body, layout.original[place].end)
        ]

    def _merge_elements(
        self, kind: str, key: _Key, places: list[int], layout: _Layout, was: _Side, shall: _Side
    ) -> None:
        """A repeated field of messages or strings: element by element."""
        number = key[0]
        message = FIELDS[kind][number].message
        old_texts, new_texts = was.texts(key), shall.texts(key)
        same = increasing_matches(old_texts, new_texts)
        changed = _changed_pairs(message, was.contents(key), shall.contents(key), same) if message else []
        partner = {j: i for i, j in [*same, *changed]}
        survivors = set(partner.values())
        layout.drop(place for i, place in enumerate(places) if i not in survivors)
        place_of = dict(zip(old_texts, places, strict=True))
        old_contents, new_contents = was.contents(key), shall.contents(key)
        slot = places[0] if places else layout.slot_of(number)
        for j, text in enumerate(new_texts):
            if j in partner:
                place = places[partner[j]]
                if message and old_texts[partner[j]] != text:
                    merged = self._merge_records(layout, [place], message, old_contents[partner[j]], new_contents[j])
                    layout.kept[place] = merged
                slot = place + 1
            elif text in place_of:
                layout.before[slot].append(self._span(layout.original[place_of[text]]))
            else:
                layout.before[slot] += self.expand(kind, text)

    def _span(self, record: Record) -> Span:
        return Span(self.source, record.start, record.end)


def _key(kind: str, record: Record) -> _Key:
    row = FIELDS[kind].get(record.number)
    # A repeated number may be packed or not, whatever the schema prefers.
    packed = row is not None and row.repeated and record.wire_type == LENGTH_DELIMITED
    if row is not None and (record.wire_type == row.wire_type or packed):
        return record.number, True, 0
    return record.number, False, record.wire_type


def _rivals(kind: str, key: _Key) -> set[_Key]:
    """The other members of the oneof that a field belongs to: the file may state several, of which the last counts."""
    row = FIELDS[kind].get(key[0])
    if row is None or row.oneof is None:
        return set()
    return {(number, True, 0) for number, other in FIELDS[kind].items() if other.oneof == row.oneof} - {key}


def _changed_pairs(message: str, old: list[bytes], new: list[bytes], same: list[Match]) -> list[Match]:
    """Which of the elements that differ are an old one and what became of it: by name, else by position."""
    changed: list[Match] = []
    for number in _IDENTITY.get(message, ()):
        for in_old, in_new in gaps(sorted([*same, *changed]), len(old), len(new)):
            names = increasing_matches([_said(old[i], number) for i in in_old], [_said(new[j], number) for j in in_new])
            changed += [(in_old[i], in_new[j]) for i, j in names]
    for in_old, in_new in gaps(sorted([*same, *changed]), len(old), len(new)):
        if len(in_old) == len(in_new):
            changed += zip(in_old, in_new, strict=True)
    return changed


def _said(message: bytes, number: int) -> object:
    """What the first record of field `number` says; something equal to nothing else if there is none."""
    for record in records(message, 0, len(message)):
        if record.number == number and record.body < record.end:
            return message[record.body : record.end]
    return object()
