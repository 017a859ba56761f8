"""Targets that a file describes: TOML with rows of plain conditions, read into the same rules as the measured targets.

A rule is broken by a node for which `where` is known to hold and all of `needs` are known not to; without `needs`, by
every node of `where`. A `computes` table names the properties in which the device differs from what ONNX asks for; a
node breaks such a rule where that changes a sample.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import onnx.defs

from resizefix.diagnostics import UsageError
from resizefix.interpolation import CoordinateTransformationMode, NearestMode
from resizefix.targets.facts import SiteFacts
from resizefix.targets.foreign.described_conditions import (
    CONDITIONS,
    FLAG,
    NUMBER,
    TYPES,
    ConditionKind,
    all_of,
    any_of,
)
from resizefix.targets.foreign.deviations import (
    BY_LENGTHS,
    EXACT_ROUNDINGS,
    by_ratio,
    symmetric_ties,
    without_antialias,
)
from resizefix.targets.foreign.sampling import Deviation, Sampling, by, resized, samples_alike
from resizefix.targets.target import Effect, OperatorLimit, Rule, Target
from resizefix.words import nearest

_SYMMETRIC = CoordinateTransformationMode.HALF_PIXEL_SYMMETRIC
_OFF = FLAG._replace(takes="false")


class Property(NamedTuple):
    """One word of a `computes` table, and what it says."""

    name: str
    kind: ConditionKind
    says: str


def _one_of(*choices: str) -> ConditionKind:
    return ConditionKind("one of " + ", ".join(choices), choices)


PROPERTIES: tuple[Property, ...] = (
    Property(
        "coordinate_transformation_mode",
        _one_of(*(mode.value for mode in CoordinateTransformationMode if mode.value != "tf_crop_and_resize")),
        "the device computes in this mode",
    ),
    Property(
        "nearest_mode",
        _one_of(*(mode.value for mode in NearestMode if mode is not NearestMode.SIMPLE)),
        "the device rounds in this way",
    ),
    Property("cubic_coeff_a", NUMBER._replace(takes="a number"), "the device has this coefficient"),
    Property("exclude_outside", _OFF, "false: the device does not read the attribute"),
    Property("antialias", _OFF, "false: the device does not read the attribute"),
    Property(
        "positions",
        _one_of("ratio", "float32"),
        "ratio: positions follow the two lengths, whatever the scales are; float32: so they do, in float32 throughout",
    ),
    Property("ties", _one_of("exact"), "exact: positions next to one half are rounded as they are, and are no ties"),
)


def allows(name: str, value: Any) -> bool:
    """Whether a file may say this of a property."""
    kind = next(one.kind for one in PROPERTIES if one.name == name)
    return value is False if kind is _OFF else not isinstance(value, (list, dict)) and kind.allows(value)


class Computation(NamedTuple):
    """What the device computes of the nodes that `applies` to."""

    applies: Callable[[SiteFacts], bool]
    properties: Mapping[str, Any]

    def changed(self, f: SiteFacts, sampling: Sampling) -> Sampling:
        """The sampling as the device computes it."""
        wanted = self.properties
        mode, rounding = wanted.get("coordinate_transformation_mode"), wanted.get("nearest_mode")
        if mode is not None or (rounding is not None and sampling.mode == "nearest"):
            sampling = by(mode or sampling.form[0].value, rounding)(sampling)
        if "cubic_coeff_a" in wanted and sampling.mode == "cubic":
            sampling = sampling._replace(cubic_coeff_a=float(wanted["cubic_coeff_a"]))
        if "exclude_outside" in wanted and sampling.exclude_outside:
            sampling = sampling._replace(exclude_outside=False)
        if "antialias" in wanted:
            sampling = without_antialias(f, sampling)
        if wanted.get("positions") == "ratio":
            sampling = by_ratio(f, sampling)
        if wanted.get("positions") == "float32":
            sampling = _in_float32(f, sampling)
        return _with_exact_ties(f, sampling) if "ties" in wanted else sampling


def deviation_of(computations: Sequence[Computation]) -> Deviation:
    """The first of them that applies to a node."""

    def deviation(f: SiteFacts, sampling: Sampling) -> Sampling:
        one = next((one for one in computations if one.applies(f)), None)
        return sampling if one is None else one.changed(f, sampling)

    return deviation


def computes_alike(computations: Sequence[Computation], after: Sequence[Deviation]) -> Callable[[SiteFacts], bool]:
    """The condition of a rule: what the device computes is what ONNX asks for, given those `after` which it comes."""
    alike = samples_alike(deviation_of(computations), after)
    drops_antialias = any("antialias" in one.properties for one in computations)

    def holds(f: SiteFacts) -> bool:
        crop = drops_antialias and f.antialias and f.crops  # of which there is no sampling to compare
        return alike(f) and not (crop and any(scale < 1 for *_, scale in resized(f)))

    return holds


def _in_float32(f: SiteFacts, sampling: Sampling) -> Sampling:
    if sampling.form[0] is _SYMMETRIC:
        return symmetric_ties(f, sampling)
    return _with_exact_ties(f, sampling._replace(positions=BY_LENGTHS[sampling.form[0]]))


def _with_exact_ties(f: SiteFacts, sampling: Sampling) -> Sampling:
    rounding = EXACT_ROUNDINGS.get(str(sampling.form[1].value if sampling.form[1] else ""))
    return sampling._replace(rounding=rounding) if sampling.mode == "nearest" and rounding is not None else sampling


if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).parent / "devices"
"""The files of the targets that are shipped."""
EFFECTS = tuple(effect.value for effect in Effect)
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9.]+)*")
TOP = ("name", "title", "source", "rule", "limit")
RULE = ("name", "effect", "because", "fix", "source", "where", "needs", "computes")
LIMIT = ("operators", "types", "ranks", "source")
QUOTED: Mapping[str, str] = {
    "operator": "op_type",
    "opset": "opset",
    "mode": "mode",
    "coordinate_transformation_mode": "coordinate_transformation_mode",
    "nearest_mode": "nearest_mode",
    "cubic_coeff_a": "cubic_coeff_a",
    "keep_aspect_ratio_policy": "keep_aspect_ratio_policy",
    "axes": "axes",
    "values": "values",
    "extent": "extent_name",
    "source": "source.value",
    "dtype": "type_name",
    "rank": "rank_name",
    "input_shape": "shown_input_shape",
}
"""What sentences may quote of a node, as `{mode}`, and the fact that it is; `extent` is the word scales or sizes."""
_PLACE = re.compile(r"\{([^{}]*)\}")
_BY_NAME = {condition.name: condition for condition in CONDITIONS}


def target_in(path: str | os.PathLike[str]) -> Target:
    """The target that a file describes. Raises UsageError, which names the file and the place in it."""
    shown = os.fspath(path)
    try:
        return _read(shown, Path(shown).read_bytes())
    except OSError as error:
        raise UsageError("targets.file-not-opened", path=shown, why=error.strerror or error) from error


@lru_cache(maxsize=64)
def _read(path: str, content: bytes) -> Target:
    return _TargetReader(path).target(_parsed(path, content))


def shipped() -> tuple[Target, ...]:
    """The targets whose files are part of this package, by name."""
    return tuple(target_in(path) for path in sorted(FOLDER.glob("*.toml"), key=lambda path: path.stem))


def _parsed(path: str, content: bytes) -> dict[str, Any]:
    try:
        document: dict[str, Any] = tomllib.loads(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise UsageError("targets.file-not-toml", path=path, why=str(error)) from error
    except tomllib.TOMLDecodeError as error:
        why = f"{error}{_hint(str(error), content.decode('utf-8').splitlines())}"
        raise UsageError("targets.file-not-toml", path=path, why=why) from error
    except RecursionError as error:
        raise UsageError("targets.file-not-toml", path=path, why="too many brackets in one another") from error
    return document


def _hint(why: str, lines: Sequence[str]) -> str:
    """The line that cannot be read, and what TOML wants there where that is known."""
    place = re.search(r"at line (\d+)", why)
    line = lines[int(place[1]) - 1].strip() if place and int(place[1]) <= len(lines) else ""
    if not line:
        return ""
    open_braces = line.count("{") > line.count("}")
    wanted = "; write a table in braces on one line" if open_braces else "; write words in quotes"
    return f": {line[:60]}{wanted if open_braces or 'Invalid value' in why else ''}"


@dataclass(frozen=True)
class _TargetReader:
    """Reads one file; errors name the place in it."""

    path: str

    def target(self, table: Mapping[str, Any]) -> Target:
        self._keys(table, "the file", TOP, ("name", "title", "source"))
        name = self._text(table, "the file", "name")
        if NAME.fullmatch(name) is None:
            self._wrong("the file", "name", name, "lower-case letters, digits, - and .")
        source = self._text(table, "the file", "source")
        rules: list[Rule] = []
        before: list[Deviation] = []
        for number, row in enumerate(self._tables(table, "the file", "rule", alone=False), 1):
            rule, deviation = self._rule(row, f"rule {number}", source, tuple(before))
            if any(rule.name == other.name for other in rules):
                raise UsageError("targets.file-rule-twice", path=self.path, name=rule.name)
            rules.append(rule)
            before += [] if deviation is None else [deviation]
        limits = [
            self._limit(row, f"limit {number}", source)
            for number, row in enumerate(self._tables(table, "the file", "limit", alone=False), 1)
        ]
        file = "" if Path(self.path).parent == FOLDER else self.path
        return Target(name, "", self._text(table, "the file", "title"), tuple(rules), tuple(limits), file=file)

    def _rule(
        self, row: Mapping[str, Any], place: str, source: str, after: tuple[Deviation, ...]
    ) -> tuple[Rule, Deviation | None]:
        self._keys(row, place, RULE, ("name",))
        name = self._text(row, place, "name")
        if NAME.fullmatch(name) is None:
            self._wrong(place, "name", name, "lower-case letters, digits, - and .")
        place = f"rule {name}"
        self._keys(row, place, RULE, ("because",))
        where, needs = self._tables(row, place, "where"), self._tables(row, place, "needs")
        computes = self._tables(row, place, "computes")
        if not where and not needs and not computes:
            raise UsageError("targets.file-empty-rule", path=self.path, name=name)
        if needs and computes:
            raise UsageError("targets.file-needs-and-computes", path=self.path, name=name)
        effect = row.get("effect", Effect.DIFFERENT.value if computes else Effect.REJECTED.value)
        if effect not in EFFECTS:
            self._wrong(place, "effect", effect, "one of " + ", ".join(EFFECTS), EFFECTS)
        applies = self._any_of(where, place)
        deviation, holds = None, _holds(applies if where else None, self._any_of(needs, place) if needs else None)
        if computes:
            parts = [self._computation(one, place, applies if where else None) for one in computes]
            deviation, holds = deviation_of(parts), computes_alike(parts, after)
        rule = Rule(
            name=name,
            holds=holds,
            because=self._sentence(row, place, "because"),
            source=self._text(row, place, "source") if "source" in row else source,
            effect=Effect(effect),
        )
        return rule._replace(fix=self._sentence(row, place, "fix")) if "fix" in row else rule, deviation

    def _computation(
        self, table: Mapping[str, Any], place: str, applies: Callable[[SiteFacts], bool | None] | None
    ) -> Computation:
        names = tuple(one.name for one in PROPERTIES)
        self._keys(table, f"computes of {place}", (*names, "where"), ())
        for name, value in table.items():
            if name != "where" and not allows(name, value):
                kind = next(one.kind for one in PROPERTIES if one.name == name)
                self._wrong(f"computes of {place}", name, value, kind.takes, kind.choices)
        inner = self._any_of(self._tables(table, place, "where"), place) if "where" in table else None
        both = [one for one in (applies, inner) if one is not None]
        properties = {name: value for name, value in table.items() if name != "where"}
        return Computation(lambda f: all(one(f) is True for one in both), properties)

    def _any_of(self, tables: Iterable[Mapping[str, Any]], place: str) -> Callable[[SiteFacts], bool | None]:
        """One of these tables holds: all of its conditions do."""
        alternatives = []
        for table in tables:
            self._keys(table, f"a condition of {place}", tuple(_BY_NAME), ())
            for name, value in table.items():
                kind = _BY_NAME[name].kind
                if not kind.allows(value):
                    self._wrong(place, name, value, kind.takes, kind.choices)
            alternatives.append([(_BY_NAME[name].holds, value) for name, value in table.items()])
        return lambda f: any_of(all_of(holds(f, value) for holds, value in each) for each in alternatives)

    def _limit(self, row: Mapping[str, Any], place: str, source: str) -> OperatorLimit:
        self._keys(row, place, LIMIT, ("operators",))
        operators, types, ranks = row["operators"], row.get("types", []), row.get("ranks", [])
        if not _is_list(operators, str) or not operators:
            self._wrong(place, "operators", operators, "a list of operators")
        for operator in operators:
            if not onnx.defs.has(operator):
                self._wrong(place, "operators", operator, "ONNX operators", _operators())
        if not _is_list(types, str) or not set(types) <= TYPES.keys():
            self._wrong(place, "types", types, "a list of element types, such as float16")
        if not _is_list(ranks, int):
            self._wrong(place, "ranks", ranks, "a list of whole numbers")
        return OperatorLimit(
            frozenset(operators),
            self._text(row, place, "source") if "source" in row else source,
            frozenset(TYPES[name] for name in types),
            frozenset(ranks),
        )

    def _tables(self, table: Mapping[str, Any], place: str, key: str, *, alone: bool = True) -> list[Mapping[str, Any]]:
        """A list of tables; where it may stand `alone`, one table is a list of one."""
        value = table.get(key, [])
        tables = [value] if alone and isinstance(value, dict) else value
        if not _is_list(tables, dict) or (key in table and not all([tables, *tables])):
            takes = "a table with entries, or a list of them" if alone else f"tables, each under its own [[{key}]]"
            self._wrong(place, key, value, takes)
        return list(tables)

    def _keys(self, table: Mapping[str, Any], place: str, allowed: tuple[str, ...], needed: tuple[str, ...]) -> None:
        for key in table:
            if key not in allowed:
                near = nearest(key, allowed)
                proposal = f"did you mean {near}?" if near else f"it has {', '.join(allowed)}"
                raise UsageError("targets.file-unknown-key", path=self.path, place=place, key=key, proposal=proposal)
        for key in needed:
            if key not in table:
                raise UsageError("targets.file-missing-key", path=self.path, place=place, key=key)

    def _text(self, table: Mapping[str, Any], place: str, key: str) -> str:
        value = table[key]
        if not isinstance(value, str) or not value.strip():
            self._wrong(place, key, value, "a text")
        return str(value)

    def _sentence(self, table: Mapping[str, Any], place: str, key: str) -> str:
        """A template over the facts of a node, of what the file writes as `{mode}`."""
        text = self._text(table, place, key)
        for word in _PLACE.findall(text):
            if word not in QUOTED:
                words = [f"{{{name}}}" for name in QUOTED]
                self._wrong(place, key, f"{{{word}}}", f"one of {', '.join(words)}", words)
        pieces = _PLACE.split(text)
        literal = [piece.replace("{", "{{").replace("}", "}}") for piece in pieces[::2]]
        quoted = [f"{{f.{QUOTED[word]}}}" for word in pieces[1::2]]
        return "".join(one + two for one, two in zip(literal, [*quoted, ""], strict=True))

    def _wrong(self, place: str, key: str, value: Any, takes: str, choices: Sequence[str] = ()) -> None:
        """`choices`: the words that may stand there, of which the nearest is proposed."""
        near = nearest(value, choices)
        takes = f"did you mean {near}? It takes {takes}" if near else f"it takes {takes}"
        raise UsageError(
            "targets.file-wrong-value", path=self.path, place=place, key=key, value=_shown(value)[:60], takes=takes
        )


def _holds(
    where: Callable[[SiteFacts], bool | None] | None, needs: Callable[[SiteFacts], bool | None] | None
) -> Callable[[SiteFacts], bool]:
    def holds(f: SiteFacts) -> bool:
        if where is not None and where(f) is not True:
            return True
        return needs is not None and needs(f) is not False

    return holds


def _shown(value: Any) -> str:
    """The value as TOML writes it."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_shown(one)}" for key, one in value.items()) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value))}]"
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _operators() -> list[str]:
    return sorted({one.name for one in onnx.defs.get_all_schemas()})


def _is_list(value: Any, of: type) -> bool:
    return isinstance(value, list) and all(isinstance(one, of) and not isinstance(one, bool) for one in value)
