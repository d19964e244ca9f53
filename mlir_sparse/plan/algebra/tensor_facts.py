"""What estimates know of the tensors that a statement reads."""

from __future__ import annotations

from functools import lru_cache

from mlir_sparse._search import EntryPattern, EntrySet, Pattern
from mlir_sparse.classes import dataclass
from mlir_sparse.dtypes import REAL
from mlir_sparse.encoding import Encoding, PatternSketch, TensorType, encoding
from mlir_sparse.encoding.sketch import AxisSketch, Sketch

__all__ = ["TensorFacts", "facts_of_part", "levels_of"]


@dataclass(frozen=True, slots=True)
class TensorFacts:
    """What estimates know of a tensor.

    Args:
        kind: its type.
        sketch: its numbers.
        most: the most entries that it can have, where their number is an estimate.
        symmetric: whether it is a matrix that is its own transpose, bit for bit.
        finite: whether its elements are finite where those of the operands of the whole computation are.
    """

    kind: TensorType
    sketch: Sketch
    most: float | None = None
    symmetric: bool = False
    finite: bool = True

    def relation(self, tensor: str, variables: tuple[int, ...]) -> EntrySet:
        """Returns the relation of an access of a tensor, by its name, at some variables."""
        sketch, encoding, source = self.sketch, self.kind.encoding, (tensor, variables)
        if encoding is None and not sketch.axes:  # an array
            return EntrySet(sum(variables), sketch.entries, False, {}, {}, variables, self.most, True, None, source)
        sparse, dims = levels_of(encoding)
        largest: dict[int, float] = {}
        squares: dict[int, float] = {}
        if sketch.axes:
            for variable, axis in zip(variables, sketch.axes, strict=True):
                largest[variable], squares[variable] = axis.largest, axis.squares
        order = variables if encoding is None else None
        if dims is not None and not self.symmetric:
            order = tuple([variables[dim] for dim in dims])
        entries, seen, pattern = sketch.entries, sketch.pattern, None
        if sparse and seen is not None:
            rows, columns = variables
            pattern = EntryPattern(tensor, rows, columns, entries, float(sketch.shape[0]), _pattern_of(seen))
        stored = sketch.levels if dims is not None and order is not None and self.most is None else ()
        # By position: names take longer to look at than values.
        return EntrySet(
            *(sum(variables), entries, sparse, largest, squares, order, self.most), True, pattern, source, stored
        )


def facts_of_part(shape: tuple[int, ...], variables: tuple[int, ...], relation: EntrySet) -> TensorFacts:
    """Returns what is known of a part, by dimension.

    Args:
        shape: its extents.
        variables: the bit of the variable of each dimension.
        relation: what it is to estimates.
    """
    largest, squares, rank = relation.largest, relation.squares, len(shape)
    axes = [
        AxisSketch(min(relation.entries, size), largest[bit], squares[bit])
        for bit, size in zip(variables, shape, strict=True)
        if bit in largest
    ]
    storage = encoding({1: "SparseVector", 2: "CSR"}.get(rank, "CSF"), rank=rank) if relation.sparse else None
    sketch = Sketch(shape, relation.entries, tuple(axes) if len(axes) == rank else ())
    return TensorFacts(TensorType(REAL, (None,) * rank, storage), sketch, relation.most)


@lru_cache(maxsize=256)  # all statements read tensors of a few encodings
def levels_of(storage: Encoding | None) -> tuple[bool, tuple[int, ...] | None]:
    """Returns whether storage is sparse, and the dimension of each of its levels, where levels are dimensions."""
    sparse = storage is not None and not storage.is_dense
    return sparse, storage.level_order if storage is not None and storage.is_permutation else None


@lru_cache(maxsize=256)  # a statement asks for those of its matrices again and again
def _pattern_of(sketch: PatternSketch) -> Pattern:
    return Pattern(sketch.offsets, sketch.mirrored)
