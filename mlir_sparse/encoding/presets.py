"""The named storage formats.

Look-up ignores case, `-`, `_` and spaces. Most formats are from the dialect's documentation and tests; CSF is from
Smith and Karypis 2015, CSB from Buluc et al. 2009, HiCOO from Li et al. 2018. The definition of formats by levels, and
DIA, ELL and hash maps as such, are from Chou et al. 2018, section 3. Banded, packed and skyline storage are those of
LAPACK and of direct solvers, by rows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.encoding.levels.level_property import LevelProperty
from mlir_sparse.encoding.preset import Preset, PresetOptions
from mlir_sparse.encoding.preset_foreign import banded, diagonals, hashed_rows, intervals, slots
from mlir_sparse.encoding.preset_levels import (
    batched_coo,
    batched_csr,
    blocked,
    blocked_along,
    blocks_in_coo,
    coo,
    csb,
    hicoo,
    mix,
    n_of_m,
    sliced_csr,
    uniform,
)
from mlir_sparse.errors import EncodingError, RankError, UnknownPresetError
from mlir_sparse.process.forks import importing
from mlir_sparse.text.given_arguments import several_of

__all__ = ["PRESETS", "UNORDERED", "canonical_name", "find_preset", "preset_encoding", "unordered_preset"]

UNORDERED = "unordered"
"""What stands behind the name of a preset, as in `CSR(unordered)`, where coordinates are in any order."""

_TABLE = (
    Preset("DenseVector", "a dense vector", 1, 1, 1, mix("dense")),
    Preset("Dense", "all levels dense, in row-major or the given order", 1, None, 2, uniform("dense"), "order"),
    Preset("SparseVector", "coordinates and values of the nonzeros", 1, 1, 1, mix("compressed")),
    Preset("CSR", "compressed sparse row", 2, 2, 2, mix("dense", "compressed")),
    Preset("CSC", "compressed sparse column", 2, 2, 2, mix("dense", "compressed", order=(1, 0))),
    Preset("DCSR", "CSR that stores only the rows with entries", 2, 2, 2, mix("compressed", "compressed")),
    Preset(
        "DCSC", "CSC that stores only the columns with entries", 2, 2, 2, mix("compressed", "compressed", order=(1, 0))
    ),
    Preset("COO", "coordinates, array of structs", 1, None, 2, coo(), "order"),
    Preset("SoA-COO", "coordinates, an array for each dimension", 1, None, 2, coo(soa=True), "order"),
    Preset("ColumnMajorCOO", "coordinates sorted by the last dimension first", 2, None, 2, coo(reverse=True)),
    Preset("UnorderedCOO", "coordinates in any order", 1, None, 2, coo(ordered=False), "order"),
    Preset("NonuniqueCOO", "coordinates in order, some of them more than once", 1, None, 2, coo(unique=False), "order"),
    Preset("BCOO", "a batch of COO along the first dimension", 2, None, 3, batched_coo),
    Preset("CSF", "compressed sparse fiber", 1, None, 3, uniform("compressed"), "order"),
    Preset("BSR", "compressed rows of dense blocks", 2, None, 2, blocked("dense", "compressed"), "block"),
    Preset(
        "BSC", "compressed columns of dense blocks", 2, 2, 2, blocked("dense", "compressed", by_column=True), "block"
    ),
    Preset(
        "DBSR",
        "BSR that stores only the block rows with entries",
        2,
        None,
        2,
        blocked("compressed", "compressed"),
        "block",
    ),
    Preset("RowBlocked", "CSR of pieces of columns, blocked along rows only", 2, None, 2, blocked_along(0), "size"),
    Preset("ColumnBlocked", "CSR of pieces of rows, blocked along columns only", 2, None, 2, blocked_along(1), "size"),
    Preset("ModeGeneric", "dense blocks, the coordinates of each in COO", 1, None, 2, blocks_in_coo, "block"),
    Preset("HiCOO", "COO of blocks, each in COO", 1, None, 3, hicoo, "block"),
    Preset("CSB", "a dense grid of blocks, each in COO", 2, 2, 2, csb, "block"),
    Preset("ELL", "rows of one width, each with its length", 2, 2, 2, mix("dense", "loose_compressed")),
    Preset("SlotELL", "ELL by slots, one coordinate a row in each (ITPACK)", 2, 2, 2, slots("singleton"), "width"),
    Preset("CountedELL", "ELL as the dialect documents it, by slots", 2, 2, 2, slots("compressed"), "width"),
    Preset("LooseCSR", "CSR with gaps between rows", 2, 2, 2, mix("dense", "loose_compressed")),
    Preset("DIA", "the diagonals with entries", 2, 2, 2, diagonals),
    Preset("Banded", "some diagonals beside the main one (LAPACK's GB, by rows)", 2, 2, 2, banded, "band"),
    Preset("PackedLower", "the lower triangle, row after row (LAPACK's TP)", 2, 2, 2, intervals("lower")),
    Preset("PackedUpper", "the upper triangle, row after row (LAPACK's TP)", 2, 2, 2, intervals("upper")),
    Preset("Skyline", "each row from its first entry to the diagonal", 2, 2, 2, intervals("skyline")),
    Preset(
        "UpperSkyline",
        "each column from its first entry to the diagonal",
        2,
        2,
        2,
        intervals("skyline", by_column=True),
    ),
    Preset("RowIntervals", "each row from its first entry to its last", 2, 2, 2, intervals("any")),
    Preset("HashVector", "a hash table of coordinates, and values", 1, 1, 1, uniform("hashed")),
    Preset("HashedRows", "a hash table for each row", 2, 2, 2, hashed_rows),
    Preset("NV_24", "2 of every 4 entries of a row", 1, None, 2, n_of_m),
    Preset("NM", "n of every m entries of a row", 1, None, 2, n_of_m, "n_m"),
    Preset("CSR_SLICE", "a slice of a CSR matrix", 2, 2, 2, sliced_csr, "slices"),
    Preset("BatchedCSR", "a batch of CSR matrices along the first dimension", 3, 3, 3, batched_csr),
    Preset("CompressedDense", "dense rows, only those with entries", 2, 2, 2, mix("compressed", "dense"), "order"),
    Preset(
        "DenseDenseCompressed",
        "a CSR matrix for each first index",
        3,
        3,
        3,
        mix("dense", "dense", "compressed"),
        "order",
    ),
    Preset("DenseCompressedDense", "CSR of dense vectors", 3, 3, 3, mix("dense", "compressed", "dense"), "order"),
    Preset(
        "DenseCompressedCompressed",
        "a DCSR matrix for each first index",
        3,
        3,
        3,
        mix("dense", "compressed", "compressed"),
        "order",
    ),
    Preset(
        "CompressedDenseDense",
        "dense slabs, only those with entries",
        3,
        3,
        3,
        mix("compressed", "dense", "dense"),
        "order",
    ),
    Preset(
        "CompressedCompressedDense", "DCSR of dense vectors", 3, 3, 3, mix("compressed", "compressed", "dense"), "order"
    ),
)

PRESETS: dict[str, Preset] = {preset.name: preset for preset in _TABLE}

_ALIASES = {
    "coosoa": "SoA-COO",
    "cooaos": "COO",
    "aoscoo": "COO",
    "coocolumnmajor": "ColumnMajorCOO",
    "colcoo": "ColumnMajorCOO",
    "coounordered": "UnorderedCOO",
    "duplicatescoo": "NonuniqueCOO",
    "batchedcoo": "BCOO",
    "raggedbatchedcsr": "DenseDenseCompressed",
    "bcsr": "BSR",
    "ellpack": "SlotELL",
    "jaggedell": "CountedELL",
    "looseell": "ELL",
    "diagonal": "DIA",
    "hashmapvector": "HashVector",
    "lowertriangular": "PackedLower",
    "uppertriangular": "PackedUpper",
    "modegenericcoo": "ModeGeneric",
    "nofm": "NM",
}
_MIX = "(?:dense|compressed)+"


def canonical_name(name: str) -> str:
    """Returns a preset name in the form for look-up: lower case, without `-`, `_` and spaces."""
    return re.sub(r"[-_\s]", "", name).lower()


_BY_NAME = {canonical_name(preset.name): preset for preset in _TABLE} | {
    alias: PRESETS[name] for alias, name in _ALIASES.items()
}


def find_preset(name: str) -> tuple[Preset, int | None]:
    """Returns the preset with a name, and the rank if the name has one (`COO3`).

    Raises:
        UnknownPresetError: with the nearest names.

    >>> find_preset("soa_coo")[0].name, find_preset("coo3")[1]
    ('SoA-COO', 3)
    """
    key = canonical_name(name)
    if key in _BY_NAME:
        return _BY_NAME[key], None
    base = _BY_NAME.get(key.rstrip("0123456789"))
    digits = key[len(key.rstrip("0123456789")) :]
    if base is not None and base.max_rank is None and 0 < len(digits) <= 2:
        return base, int(digits)
    if re.fullmatch(_MIX, key):
        words = re.findall("dense|compressed", key)
        title = "".join(word.capitalize() for word in words)
        return Preset(title, "levels by name", len(words), len(words), len(words), mix(*words), "order"), None
    with importing():
        import difflib  # for names that are misspelt

    near = difflib.get_close_matches(key, _BY_NAME, n=3, cutoff=0.5)
    names = dict.fromkeys(_BY_NAME[k].name for k in near)
    hint = f"did you mean {' or '.join(names)}" if names else f"expected one of {', '.join(PRESETS)}"
    raise UnknownPresetError(f"expected the name of a preset, but got {name!r}: {hint}")


def preset_encoding(
    name: str,
    rank: int | None = None,
    arguments: Sequence[int | None] = (),
    /,
    **parameters: object,
) -> Encoding:
    """Returns the encoding of a preset.

    Args:
        name: the name, in any case.
        rank: the number of dimensions, for presets of any rank.
        arguments: the parameters by position, as in `BSR(4, 4)`.
        parameters: the parameters by name, those of `encoding`.

    Raises:
        UnknownPresetError: for a name that is no preset.
        EncodingError: for a parameter that the preset lacks, or one of the wrong form.
        RankError: for a rank that the preset lacks.

    >>> print(preset_encoding("BSR", block=(2, 3)).map_text())
    (i, j) -> (i floordiv 2 : dense, j floordiv 3 : compressed, i mod 2 : dense, j mod 3 : dense)
    """
    preset, named_rank = find_preset(name)
    given = {key: (value,) if key in ("size", "width") else value for key, value in parameters.items()}
    if "n" in given or "m" in given:
        given["n_m"] = given.pop("n", None), given.pop("m", None)
    several = {key: several_of(value, f"{key}= as several numbers, such as (2, 3)") for key, value in given.items()}
    options = preset.options(several, tuple(arguments))
    resolved = _resolve_rank(preset, rank, named_rank, options)
    if options.order is not None and sorted(options.order) != list(range(resolved)):
        raise EncodingError(f"expected an order of the dimensions 0 to {resolved - 1}, but got {options.order}")
    return replace(preset.build(resolved, options), preset=preset.label(options))


def unordered_preset(ordered: Encoding) -> Encoding:
    """Returns the encoding of a preset with the coordinates of its last level in any order, each once.

    Such are the rows of products of sparse matrices as they come about: they are not sorted, which takes longer than
    to compute them where rows are short (Nagasaka et al. 2019, section 5). `CSR(unordered)` is its text.

    Args:
        ordered: the encoding of a preset: dense levels, then compressed ones.

    Raises:
        EncodingError: for one with other levels, or with parameters.

    >>> unordered_preset(preset_encoding("CSR")).map_text()
    '(i, j) -> (i : dense, j : compressed(nonordered))'
    """
    *above, last = ordered.levels
    known = all(kind.is_full or kind.has_adjacent_lists for kind in ordered.level_types)
    plain = known and ordered.is_permutation and not any(kind.properties for kind in ordered.level_types)
    if not plain or not last.type.has_adjacent_lists:
        raise EncodingError(
            f"expected {UNORDERED} behind the name of a preset of dense levels, then compressed ones, such as CSR, "
            f"but got {ordered.preset}({UNORDERED}): leave it out, or name UnorderedCOO"
        )
    loose = replace(last, type=replace(last.type, properties=(LevelProperty.NONORDERED,)))
    return replace(ordered, levels=(*above, loose), preset=f"{ordered.preset}({UNORDERED})")


def _resolve_rank(preset: Preset, rank: int | None, named: int | None, options: PresetOptions) -> int:
    wanted = {
        "rank": rank,
        "name": named,
        "order": len(options.order) if options.order is not None else None,
        "block": len(options.block) if options.block is not None else None,
        "slices": len(options.slices) if options.slices is not None else None,
    }
    ranks = {key: value for key, value in wanted.items() if value is not None}
    if len(set(ranks.values())) > 1:
        got = ", ".join(f"{value} from the {key}" for key, value in ranks.items())
        raise RankError(f"expected one rank for {preset.name}, but got {got}")
    resolved = next(iter(ranks.values()), preset.default_rank)
    preset.check_rank(resolved)
    return resolved
