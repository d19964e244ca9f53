"""`#sparse_tensor.encoding` as a Python value: how a tensor is stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, fields, replace
from typing import Any

from mlir_sparse.affine import AffineMap, Dim
from mlir_sparse.affine.integer_form import Digit
from mlir_sparse.classes import dataclass
from mlir_sparse.encoding.bindings_objects import attribute_of, text_of_object
from mlir_sparse.encoding.coordinate_regions import coordinate_regions
from mlir_sparse.encoding.derived_fact import derived_fact
from mlir_sparse.encoding.describe import describe
from mlir_sparse.encoding.dim_slice import DimSlice
from mlir_sparse.encoding.encoding_printer import print_attribute, print_encoding_map
from mlir_sparse.encoding.level_bounds import bounds_of_levels, sized_slots
from mlir_sparse.encoding.level_map import LevelSpec, block_along
from mlir_sparse.encoding.level_maps import holds_all, infer_lvl_to_dim
from mlir_sparse.encoding.level_space import LevelSpace, level_space
from mlir_sparse.encoding.level_type import LevelType
from mlir_sparse.encoding.typed_literal import TypedValue
from mlir_sparse.encoding.unsupported_by_dialect import foreign_reason, is_native
from mlir_sparse.encoding.verify import Draft, checked_levels, checked_slices, first_fault
from mlir_sparse.errors import EncodingError, RankError, UnsupportedError
from mlir_sparse.process.forks import importing
from mlir_sparse.text.shown_text import PrintedValue

__all__ = ["ATTRIBUTE", "Encoding"]

ATTRIBUTE = "#sparse_tensor.encoding"


@dataclass(frozen=True, repr=False)
class Encoding(PrintedValue):
    """A storage format. Comparison ignores the names of dimensions and levels.

    Args:
        dim_names: a name for each dimension.
        levels: the levels, outermost first.
        slices: a slice for each dimension, or none at all.
        pos_width: bits of a position: 8, 16, 32, 64, or 0 for the machine's index.
        crd_width: bits of a coordinate, likewise.
        explicit_val: the one value that every stored entry has, if there is one.
        implicit_val: the value of missing entries; it must be zero.
        lvl_to_dim_given: the inverse map, if it was written out.
        preset: the preset this came from, for display.
        symbol_names: a name for each symbol of the map.

    Raises:
        EncodingError: for what the dialect's verifier refuses, in its words.

    >>> from mlir_sparse.encoding import encoding
    >>> print(encoding("CSR"))
    #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>
    """

    dim_names: tuple[str, ...] = field(compare=False)
    levels: tuple[LevelSpec, ...]
    slices: tuple[DimSlice | None, ...] = ()
    pos_width: int = 0
    crd_width: int = 0
    explicit_val: TypedValue | None = None
    implicit_val: TypedValue | None = None
    lvl_to_dim_given: AffineMap | None = field(default=None, compare=False)
    preset: str | None = field(default=None, compare=False)
    symbol_names: tuple[str, ...] = field(default=(), compare=False)
    # Ranks take part in comparison in place of the names.
    _ranks: tuple[int, int] = field(default=(0, 0), init=False)
    # Computed once: encodings are in the keys of calls.
    _hash: int | None = field(default=None, init=False, compare=False)
    # What follows from the rest, and from widths, a shape and the like.
    _derived: dict[object, Any] = field(default_factory=dict, init=False, compare=False)

    def __post_init__(self) -> None:
        levels, slices = checked_levels(self.dim_names, self.levels), checked_slices(self.slices)
        ranks, values = (len(self.dim_names), len(self.symbol_names)), (self.implicit_val, self.lvl_to_dim_given)
        draft = Draft(ranks[0], levels, slices, self.pos_width, self.crd_width, *values, ranks[1])
        if (fault := first_fault(draft)) is not None:
            raise EncodingError(fault.message)
        # Slices exist for all dimensions or none: MLIR gives the other dimensions the whole slice.
        slices = tuple(one or DimSlice() for one in slices) if any(slices) else ()
        own = {"dim_names": tuple(self.dim_names), "levels": levels, "slices": slices, "_ranks": ranks}
        for name, value in own.items():
            object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        # Most encodings that are compared are one object, or others by their hashes.
        return self is other or (hash(self) == hash(other) and self._compared() == other._compared())

    def _compared(self) -> tuple[object, ...]:
        widths = self.pos_width, self.crd_width
        return self.levels, self.slices, *widths, self._ranks, self.explicit_val, self.implicit_val

    def __hash__(self) -> int:
        if self._hash is None:
            object.__setattr__(self, "_hash", hash(self._compared()))
        return self._hash  # type: ignore[return-value]  # it is set now

    def __getstate__(self) -> list[object]:
        # Each process hashes text otherwise, and derives the rest in less time than it is sent in.
        return [None if one.name in ("_hash", "_derived") else getattr(self, one.name) for one in fields(self)]

    def __setstate__(self, state: Sequence[object]) -> None:
        for one, value in zip(fields(self), state, strict=True):
            object.__setattr__(self, one.name, value)
        object.__setattr__(self, "_hash", None)
        object.__setattr__(self, "_derived", {})

    @derived_fact
    def dim_rank(self) -> int:
        """Returns the number of dimensions of the tensor."""
        return len(self.dim_names)

    @derived_fact
    def lvl_rank(self) -> int:
        """Returns the number of levels of its storage."""
        return len(self.levels)

    @derived_fact
    def level_types(self) -> tuple[LevelType, ...]:
        """Returns the type of each level, outermost first."""
        return tuple(level.type for level in self.levels)

    @derived_fact
    def dim_to_lvl(self) -> AffineMap:
        """Returns the map from dimension coordinates to level coordinates."""
        return AffineMap(self.dim_rank, len(self.symbol_names), tuple(level.expr for level in self.levels))

    @property
    def lvl_to_dim(self) -> AffineMap:
        """Returns the map from level coordinates back to dimension coordinates.

        Raises:
            EncodingError: for a map with symbols that are not numbers of slots (`Slots`).

        >>> from mlir_sparse.encoding import encoding
        >>> print(encoding("BSR(2, 3)").lvl_to_dim)
        (d0, d1, d2, d3) -> (d0 * 2 + d2, d1 * 3 + d3)
        """
        inverse = infer_lvl_to_dim(self.dim_rank, self.levels)
        if isinstance(inverse, AffineMap):
            return inverse
        if self.lvl_to_dim_given is None:
            raise EncodingError(f"failed to infer lvlToDim from dimToLvl, which has symbols: {self.map_text()}")
        return self.lvl_to_dim_given

    @property
    def has_inferred_inverse(self) -> bool:
        """Returns whether the text of the map needs no inverse: it is inferred, or unknown."""
        if self.lvl_to_dim_given is None:
            return True
        return isinstance(infer_lvl_to_dim(self.dim_rank, self.levels), AffineMap)

    @derived_fact
    def is_permutation(self) -> bool:
        """Returns whether each level stores one dimension unchanged."""
        return self.dim_to_lvl.is_permutation

    @derived_fact
    def level_order(self) -> tuple[int, ...]:
        """Returns the dimension stored at each level.

        Raises:
            EncodingError: unless the map is a permutation.
        """
        if not self.is_permutation:
            raise EncodingError(f"expected a permutation of the dimensions, but got {self.map_text()}")
        return tuple(level.expr.position for level in self.levels if isinstance(level.expr, Dim))

    @derived_fact
    def is_dense(self) -> bool:
        """Returns whether all levels are dense: then only values are stored."""
        return all(kind.is_full for kind in self.level_types)

    @derived_fact
    def holds_all(self) -> bool:
        """Returns whether the format can store every tensor: it has no fixed band, width, triangle or n:m.

        >>> from mlir_sparse.encoding import encoding
        >>> names = "CSR", "DIA", "ELL", "SlotELL", "SlotELL(3)", "Skyline", "NV_24"
        >>> [name for name in names if encoding(name).holds_all]
        ['CSR', 'DIA', 'ELL', 'SlotELL']
        """
        return holds_all(self.levels)

    @derived_fact
    def has_padding(self) -> bool:
        """Returns whether padding is stored: zeros below dense, range and structured innermost levels.

        >>> from mlir_sparse.encoding import encoding
        >>> [name for name in ("CSR", "BSR", "DIA", "NV_24", "SlotELL") if encoding(name).has_padding]
        ['BSR', 'DIA', 'NV_24']
        """
        kinds = [kind.functions for kind in self.level_types if not kind.functions.is_computed]
        return not kinds or kinds[-1].fills

    @derived_fact
    def is_blocked(self) -> bool:
        """Returns whether some dimension is split into blocks."""
        return any(isinstance(atom, Digit) for level in self.levels for atom, _ in level.terms)

    @derived_fact
    def is_ordered(self) -> bool:
        """Returns whether the coordinates of every level ascend."""
        return all(kind.ordered for kind in self.level_types)

    @derived_fact
    def is_unique(self) -> bool:
        """Returns whether the innermost level stores each coordinate once."""
        return self.level_types[-1].unique

    @derived_fact
    def aos_regions(self) -> tuple[range, ...]:
        """Returns the runs of levels whose coordinates share one array of structs; see `coordinate_regions`."""
        return coordinate_regions(self.level_types)

    @property
    def aos_levels(self) -> range:
        """Returns the first of `aos_regions`, or an empty range at lvl_rank."""
        return next(iter(self.aos_regions), range(self.lvl_rank, self.lvl_rank))

    @property
    def aos_start(self) -> int:
        """Returns the first of `aos_levels`, or lvl_rank (MLIR's `getAoSCOOStart`)."""
        return self.aos_levels.start

    @derived_fact
    def batch_rank(self) -> int:
        """Returns the number of batch levels, which are the outermost ones (MLIR's `getBatchLvlRank`).

        >>> from mlir_sparse.encoding import encoding
        >>> encoding("BatchedCSR").batch_rank, encoding("CSR").batch_rank
        (1, 0)
        """
        return sum(kind.functions.is_axis for kind in self.level_types)

    @derived_fact
    def has_slices(self) -> bool:
        """Returns whether the encoding is of a slice of a larger tensor."""
        return bool(self.slices)

    def without_slices(self) -> Encoding:
        """Returns the encoding of the whole tensor."""
        return replace(self, slices=(), preset=None) if self.slices else self

    def block_of(self, dim: int) -> int:
        """Returns the block size of a dimension: that of the outermost blocks, or 1 without blocks."""
        kept, key = self._derived, ("block_of", dim)
        return int(kept.get(key) or kept.setdefault(key, block_along(self.levels, dim)))

    def level_sizes(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Returns the size of each level of a tensor of the given shape.

        Raises:
            RankError: for a shape of another rank.
            EncodingError: for a symbol without a value, such as the number of slots in `c * i`; see `with_slots`.

        >>> from mlir_sparse.encoding import encoding
        >>> encoding("BSR(2, 3)").level_sizes((10, 10))
        (5, 4, 2, 3)
        >>> encoding("(i, j) -> (j - i : compressed, i : range)").level_sizes((4, 6))
        (9, 4)
        """
        self.check_rank(len(shape))
        if self.is_permutation:
            return tuple([max(0, shape[dim]) for dim in self.level_order])
        return tuple(max(0, high - low) for low, high in self.level_bounds(shape))

    def level_bounds(self, shape: Sequence[int]) -> tuple[tuple[int, int], ...]:
        """Returns the least coordinate of each level and one more than the greatest.

        Raises:
            EncodingError: as `level_sizes`.

        >>> from mlir_sparse.encoding import encoding
        >>> encoding("(i, j) -> (j - i : compressed, i : range)").level_bounds((4, 6))
        ((-3, 6), (0, 4))
        """
        return bounds_of_levels(self.levels, shape, self.map_text())

    def with_slots(self, width: int) -> Encoding:
        """Returns the same format with `width` slots in every slot level `c * i`.

        >>> from mlir_sparse.encoding import encoding
        >>> encoding("[c](i, j) -> (c * i : dense, i : dense, j : singleton)").with_slots(3).map_text()
        '[c](i, j) -> (i * (c * 3) : dense, i : dense, j : singleton)'
        """
        return replace(self, levels=tuple(sized_slots(level, width) for level in self.levels))

    def check_rank(self, rank: int) -> None:
        """Raises RankError unless a tensor of `rank` dimensions can have this encoding."""
        if rank == 0:
            raise RankError(f"expected non-scalar sparse tensor, but got rank 0 for {self.map_text()}")
        if rank != self.dim_rank:
            raise RankError(
                f"dimension-rank mismatch between encoding and tensor shape: {self.dim_rank} != {rank}, "
                f"expected a tensor of rank {self.dim_rank} for {self.map_text()}"
            )

    def with_widths(self, pos_width: int, crd_width: int) -> Encoding:
        """Returns the same format with other widths of positions and coordinates."""
        widths = pos_width, crd_width
        if widths not in self._derived:
            self._derived[widths] = replace(self, pos_width=pos_width, crd_width=crd_width)
        found: Encoding = self._derived[widths]
        return found

    def with_default_names(self) -> Encoding:
        """Returns the same encoding with dimensions named d0, d1, and so on."""
        levels = tuple(replace(level, name=None) for level in self.levels)
        names = tuple(f"d{d}" for d in range(self.dim_rank))
        symbols = tuple(f"s{s}" for s in range(len(self.symbol_names)))
        return replace(self, dim_names=names, levels=levels, symbol_names=symbols)

    def map_text(self) -> str:
        """Returns the map alone, with its original names.

        >>> from mlir_sparse.encoding import encoding
        >>> encoding("(row, col) -> (col : dense, row : compressed)").map_text()
        '(row, col) -> (col : dense, row : compressed)'
        """
        return self._map_text

    @derived_fact
    def _map_text(self) -> str:
        return print_encoding_map(self, self.dim_names, self.symbol_names)

    def to_text(self) -> str:
        """Returns the attribute with its original names; `str` gives the canonical text."""
        return print_attribute(self, self.dim_names, self.symbol_names)

    @derived_fact
    def is_native(self) -> bool:
        """Returns whether the dialect has this encoding, so that a module can carry it."""
        return is_native(self)

    @property
    def foreign_reason(self) -> str | None:
        """Returns the first level that the dialect lacks, with the reason, or None.

        >>> from mlir_sparse.encoding import encoding
        >>> print(encoding("(i, j) -> (j - i : dense, i : dense)").foreign_reason)
        level 0 (j - i : dense): the dialect failed to infer lvlToDim from dimToLvl: ...
        """
        return foreign_reason(self)

    def level_space(self) -> LevelSpace:
        """Returns the plain encoding of the same buffers as a tensor with a dimension for each level.

        Raises:
            UnsupportedError: for slices, and for symbols that are not numbers of slots.
        """
        return level_space(self)

    def to_mlir(self) -> Any:
        """Returns the attribute as an `ir.Attribute` of MLIR's bindings, in the Context that the caller is in.

        Raises:
            OperandError, UnsupportedError: outside of a Context; for an encoding that the dialect lacks.
        """
        return attribute_of(self.mlir_text())

    @classmethod
    def from_mlir(cls, attribute: object) -> Encoding:
        """Returns the encoding of an `ir.Attribute` of any version of the bindings.

        Raises:
            OperandError: for any other object.

        >>> Encoding.from_mlir("CSR")
        Traceback (most recent call last):
        mlir_sparse.errors.OperandError: expected an attribute #sparse_tensor.encoding<...> ..., but got str: CSR
        """
        with importing():
            from mlir_sparse.encoding.encoding_parser import parse_encoding  # it stands on this module
        return parse_encoding(text_of_object(attribute, ATTRIBUTE, "an attribute"))

    def mlir_text(self) -> str:
        """Returns the attribute text exactly as MLIR prints it.

        Raises:
            UnsupportedError: for an encoding that the dialect lacks; `str` prints those too.
        """
        if (reason := self.foreign_reason) is not None:
            raise UnsupportedError(f"expected an encoding that the dialect can say, but got {reason}")
        return print_attribute(self)

    def describe(self) -> str:
        """Returns levels, properties, storage arrays and inverse map as text for people."""
        return describe(self)

    def __str__(self) -> str:
        return print_attribute(self)

    def __repr__(self) -> str:
        return f"encoding({self.to_text()!r})"
