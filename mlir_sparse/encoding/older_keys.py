"""The keys that encodings had in place of `map`, from LLVM 13 to 17.

| LLVM | keys |
|---|---|
| 13 to 16 | `dimLevelType`, `dimOrdering`, `higherOrdering`, `slice`, `pointerBitWidth`, `indexBitWidth` |
| 17 | `lvlTypes`, `dimToLvl`, `dimSlices`, `posWidth`, `crdWidth` |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from mlir_sparse.affine import AffineMap
from mlir_sparse.affine.affine_parser import NamedMap, take_affine_map
from mlir_sparse.classes import dataclass
from mlir_sparse.encoding.dim_slice import DimSlice
from mlir_sparse.encoding.level_map import LevelSpec
from mlir_sparse.encoding.level_type import LevelType
from mlir_sparse.encoding.levels.level_property import LevelProperty
from mlir_sparse.encoding.map_parser import ParsedMap, parse_slice_number
from mlir_sparse.encoding.older_level_types import older_level_type
from mlir_sparse.encoding.verify import level_type_fault
from mlir_sparse.errors import EncodingError, EncodingSyntaxError
from mlir_sparse.text.cursor import Cursor
from mlir_sparse.text.edits import Edit
from mlir_sparse.text.lexer import Token, TokenKind
from mlir_sparse.text.source_text import Source, Span

__all__ = ["OLDER_KEYS", "OLDER_WIDTHS", "KeyEntry", "OlderParts", "edits_of_entries"]

OLDER_WIDTHS = {"pointerBitWidth": "posWidth", "indexBitWidth": "crdWidth"}
_TYPES = ("dimLevelType", "lvlTypes")
_SLICES = ("slice", "dimSlices")
_MAPS = ("dimOrdering", "higherOrdering", "dimToLvl")
OLDER_KEYS = frozenset((*_TYPES, *_SLICES, *_MAPS))


@dataclass(frozen=True, slots=True)
class KeyEntry:
    """A key with its value, and the comma behind it."""

    key: str
    span: Span
    comma: Span | None


class OlderParts:
    """What the older keys of one encoding say.

    Args:
        cursor: where their values are read; its `aliases` resolve `#map`.
    """

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self._keys: dict[str, Span] = {}
        self._types: list[tuple[LevelType, Span]] = []
        self._slices: list[tuple[DimSlice, Span]] = []
        self._maps: dict[str, NamedMap] = {}

    @property
    def given(self) -> bool:
        """Returns whether there is any."""
        return bool(self._keys)

    @property
    def first(self) -> Span:
        """Returns the place of the first."""
        return next(iter(self._keys.values()))

    def take(self, key: Token) -> None:
        """Takes the value of a key."""
        alike = next((names for names in (_TYPES, _SLICES) if key.text in names), (key.text,))
        if any(name in self._keys for name in alike):
            self._cursor.fail(f"expected {' or '.join(alike)} once, but got it again", key.span)
        self._keys[key.text] = key.span
        if key.text in _TYPES:
            self._take_list(self._take_type)
        elif key.text in _SLICES:
            self._take_list(self._take_slice)
        else:
            self._maps[key.text] = self._take_map(key.text)

    def _take_list(self, take_item: Callable[[], None]) -> None:
        cursor = self._cursor
        cursor.expect("[")
        while not cursor.at("]"):
            take_item()
            if not cursor.accept(","):
                break
        cursor.expect("]", "`,` or `]`")

    def _take_type(self) -> None:
        cursor = self._cursor
        token = cursor.expect_kind(TokenKind.STRING, 'a level type, as "dense" or "compressed-nu"')
        found = older_level_type(token.text.strip('"'))
        if found is None:
            known = "dense, compressed, compressed-hi or singleton with -nu, -no"
            cursor.fail(f"unexpected level type: {token.text}, expected {known}", token.span)
        if message := level_type_fault(found):
            cursor.fail(message, token.span, EncodingError)
        self._types.append((found, token.span))

    def _take_slice(self) -> None:
        cursor = self._cursor
        start = cursor.expect("(").span
        numbers = []
        for closing in (",", ",", ")"):
            numbers.append(parse_slice_number(cursor))
            cursor.expect(closing, f"`{closing}` in (offset, size, stride)")
        try:
            found = DimSlice(*numbers)
        except EncodingError as error:
            cursor.fail(error.message, start.to(cursor.previous), EncodingError)
        self._slices.append((found, start.to(cursor.previous)))

    def _take_map(self, key: str) -> NamedMap:
        cursor = self._cursor
        name = cursor.token
        if name.kind is TokenKind.HASH_NAME and (text := cursor.aliases.get(name.text)) is not None:
            cursor.take()
            inner = Cursor(Source(text, name.text), EncodingSyntaxError, bare_ids=True)
        else:
            inner = cursor
        what = {"dimOrdering": "dimension ordering", "higherOrdering": "higher ordering"}.get(key, key)
        inner.expect("affine_map", f"an affine map for {what}")
        inner.expect("<")
        start = inner.token.span
        found = take_affine_map(inner)
        if key == "dimOrdering" and not found.map.is_permutation:
            rule = "expected a permutation affine map for dimension ordering"
            inner.fail(f"{rule}, but got {found.map}", start.to(inner.previous), EncodingError)
        inner.expect(">")
        return found

    def as_map(self) -> ParsedMap:
        """Returns the map that says the same, with the names of dimensions that the text has."""
        named = self._dim_to_lvl()
        if len(self._types) != len(named.map.results):
            rule = f"expected as many level types as levels in {named.map}"
            self._cursor.fail(f"{rule}, but got {len(self._types)}", self._types_span(), EncodingError)
        if self._slices and len(self._slices) != len(named.dims):
            rule = f"expected {len(named.dims)} slices, one of each dimension"
            self._cursor.fail(f"{rule}, but got {len(self._slices)}", self._slices[0][1], EncodingError)
        parsed = ParsedMap(
            symbols={name: place for place, name in enumerate(named.symbols)},
            dims={name: place for place, name in enumerate(named.dims)},
            inverse=[None] * len(named.dims),
            slices=[one for one, _ in self._slices] or [None] * len(named.dims),
            levels=[LevelSpec(expr, kind) for expr, kind in zip(named.map.results, self._level_types(), strict=True)],
        )
        parsed.spans["map", 0] = self._types_span()
        parsed.spans |= {("level", place): span for place, (_, span) in enumerate(self._types)}
        parsed.spans |= {("dim", place): span for place, (_, span) in enumerate(self._slices)}
        return parsed

    def _level_types(self) -> list[LevelType]:
        """Returns the type of each level.

        Until LLVM 16 only a list of coordinates from level 0 on was an array of structs; below other levels each
        singleton had an array of its own, which is `soa` today.
        """
        types = [kind for kind, _ in self._types]
        if "dimLevelType" not in self._keys:
            return types
        start = 0
        for place, kind in enumerate(types):
            if not kind.functions.is_chained:
                start = place
            elif start:
                types[place] = replace(kind, properties=(*kind.properties, LevelProperty.SOA))
        return types

    def _types_span(self) -> Span:
        return self._types[0][1].to(self._types[-1][1]) if self._types else self.first

    def _dim_to_lvl(self) -> NamedMap:
        """Returns the map to levels: an ordering of the levels of a higher ordering, or one of them, or none."""
        cursor = self._cursor
        if not self._types:
            rule = "expected a non-empty array for dimLevelType"
            cursor.fail(f"{rule}, but got none", self.first, EncodingError)
        whole, ordering = self._maps.get("dimToLvl"), self._maps.get("dimOrdering")
        higher = self._maps.get("higherOrdering")
        if whole is not None and (ordering or higher):
            cursor.fail("expected dimToLvl alone, but got an ordering of older releases too", self._keys["dimToLvl"])
        if higher is not None and ordering is not None:
            if ordering.map.num_dims != higher.map.num_results:
                rule = f"expected dimOrdering to order the {higher.map.num_results} results of higherOrdering"
                cursor.fail(f"{rule}, but got {ordering.map}", self._keys["dimOrdering"], EncodingError)
            results = ordering.map.evaluate(higher.map.results)  # a permutation only picks
            return NamedMap(
                AffineMap(higher.map.num_dims, higher.map.num_symbols, results), higher.dims, higher.symbols
            )
        given = whole or higher or ordering
        if given is not None:
            return given
        rank = len(self._types)
        return NamedMap(AffineMap.identity(rank), tuple(f"d{place}" for place in range(rank)))


def edits_of_entries(entries: Sequence[KeyEntry], map_text: str) -> Iterator[Edit]:
    """Yields the edits that put a map in the place of level types, and take the other older keys away."""
    stays = [entry.key in _TYPES or entry.key not in OLDER_KEYS for entry in entries]
    for place, entry in enumerate(entries):
        if entry.key in _TYPES:
            yield Edit(entry.span, f"map = {map_text}")
        elif not stays[place]:
            yield Edit(entry.span)
        needs_comma = stays[place] and any(stays[place + 1 :])
        if entry.comma is not None and not needs_comma:
            yield Edit(entry.comma)
