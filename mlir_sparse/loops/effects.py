"""What operations do to memory and to lanes of vectors, and what they cost: one table, and the questions about it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import Flag, auto

from mlir_sparse._mlir import ir
from mlir_sparse.classes import dataclass
from mlir_sparse.dtypes import DTYPES
from mlir_sparse.loops.regions import is_nest, operations_in
from mlir_sparse.loops.value_origins import maker, operation_around

__all__ = [
    "MemoryAccess",
    "access_of",
    "computes_lanes",
    "computes_pairs",
    "counts",
    "element_bits",
    "fits_lanes",
    "is_cheap",
    "is_complex",
    "is_contiguous",
    "is_pure",
    "is_truth",
    "lane_bits",
    "loads_in",
    "may_alias",
    "only_reads",
    "root_of",
    "stores_in",
    "writes_nothing",
]


class _Trait(Flag):
    """What is known of arithmetic besides that it has no effect."""

    LANES = auto()
    """On vectors it is what it is on their elements, rounding included."""
    COUNTS = auto()
    """It makes positions and coordinates of others; each lane does that by itself."""
    CHEAP = auto()
    """It costs less than a branch that was not foreseen, and may run where its result is not used."""
    PAIRS = auto()
    """Vectors that hold complex numbers in two lanes each have it: see `mlir_sparse.loops.complex_lanes`."""


def _rows(dialect: str, names: str, traits: _Trait) -> Iterator[tuple[str, _Trait]]:
    return ((f"{dialect}.{name}", traits) for name in names.split())


_LANES, _COUNTS, _CHEAP, _PAIRS = _Trait
_TRAITS: Mapping[str, _Trait] = dict(
    (
        *_rows("arith", "addf subf mulf negf extf truncf cmpf select", _LANES | _CHEAP),
        *_rows("arith", "maximumf minimumf maxnumf minnumf sitofp uitofp", _LANES | _CHEAP),
        *_rows("arith", "andi ori xori cmpi trunci maxsi minsi maxui minui", _LANES | _CHEAP),
        *_rows("arith", "addi subi muli extui extsi", _LANES | _COUNTS | _CHEAP),
        *_rows("arith", "index_cast index_castui", _COUNTS | _CHEAP),
        *_rows("arith", "constant", _CHEAP),
        # Integers are not divided: lanes that a mask leaves out are zeros.
        *_rows("arith", "divf", _LANES),
        *_rows("math", "absf absi", _LANES | _CHEAP),
        *_rows("math", "sqrt floor ceil exp exp2 expm1 log log10 log1p log2 powf tanh", _LANES),
        *_rows("complex", "add sub mul neg conj", _CHEAP | _PAIRS),
        *_rows("complex", "create re im constant", _CHEAP),
    )
)
_PURE_DIALECTS = ("arith.", "complex.", "math.")
_PURE = frozenset(
    (
        *("affine.apply", "affine.max", "affine.min"),
        *("memref.dim", "memref.subview", "memref.cast", "llvm.extractvalue", "llvm.insertvalue"),
        "builtin.unrealized_conversion_cast",
        *("scf.yield", "scf.condition", "linalg.yield"),
    )
)
# Arrays of complex numbers are seen as arrays of their parts by descriptors, in which some numbers are others.
_VIEWS = frozenset(("memref.subview", "memref.cast", "llvm.insertvalue", "builtin.unrealized_conversion_cast"))
_ALLOCATIONS = frozenset(("memref.alloc", "memref.alloca"))
# Which operand is the buffer, and which one is stored: None where nothing is.
_ACCESSES: Mapping[str, tuple[int, int | None]] = {
    "memref.load": (0, None),
    "memref.store": (1, 0),
    "vector.load": (0, None),
    "vector.store": (1, 0),
    "vector.maskedload": (0, None),
    "vector.maskedstore": (0, -1),
}


@dataclass(frozen=True, slots=True)
class MemoryAccess:
    """A load or a store.

    Args:
        op: the operation.
        buffer: the memref.
        at: the subscripts, of a vector those of its first element.
        value: what is stored; None for a load.
    """

    op: ir.Operation
    buffer: ir.Value
    at: tuple[ir.Value, ...]
    value: ir.Value | None

    @property
    def loaded(self) -> ir.Value:
        """Returns what a load reads."""
        return self.op.results[0]

    @property
    def address(self) -> tuple[ir.Value, ...]:
        """Returns the buffer and the subscripts: two accesses with one address are of one element."""
        return (self.buffer, *self.at)

    def move_to(self, buffer: ir.Value, *at: ir.Value) -> None:
        """Lets the operation be on another element."""
        first, _ = _ACCESSES[self.op.name]
        for place, value in enumerate((buffer, *at), first):
            self.op.operands[place] = value


def access_of(op: ir.Operation) -> MemoryAccess | None:
    """Returns an operation as a load or a store; None for any other."""
    places = _ACCESSES.get(op.name)
    if places is None:
        return None
    operands, (first, stored) = list(op.operands), places
    at = operands[first + 1 : first + 1 + ir.MemRefType(operands[first].type).rank]
    return MemoryAccess(op, operands[first], tuple(at), None if stored is None else operands[stored])


def loads_in(operations: Iterable[ir.Operation]) -> list[MemoryAccess]:
    """Returns the loads of single elements among operations."""
    return [access for op in operations if op.name == "memref.load" and (access := access_of(op)) is not None]


def stores_in(operations: Iterable[ir.Operation]) -> list[MemoryAccess]:
    """Returns the stores of single elements among operations."""
    return [access for op in operations if op.name == "memref.store" and (access := access_of(op)) is not None]


def is_pure(op: ir.Operation) -> bool:
    """Returns whether an operation does nothing but compute its results from its operands."""
    return op.name in _PURE or op.name.startswith(_PURE_DIALECTS)


def only_reads(op: ir.Operation) -> bool:
    """Returns whether an operation is pure, or a load: no loop, no branch and no store."""
    access = access_of(op)
    return is_pure(op) if access is None else access.value is None


def writes_nothing(op: ir.Operation, unread: ir.Value | None = None, besides: Collection[ir.Operation] = ()) -> bool:
    """Returns whether an operation, with all that is in it, writes nothing, and reads nothing of one buffer.

    Args:
        op: the operation.
        unread: the buffer; None where all may be read.
        besides: operations that may do both.
    """
    if op in besides:
        return True
    if is_nest(op):
        return all(writes_nothing(inner, unread, besides) for inner in operations_in(op))
    access = access_of(op)
    if access is None:
        return is_pure(op)
    return access.value is None and (unread is None or not may_alias(access.buffer, unread))


def computes_lanes(op: ir.Operation) -> bool:
    """Returns whether an operation on vectors is what it is on their elements."""
    return _has(op, _Trait.LANES)


def computes_pairs(op: ir.Operation) -> bool:
    """Returns whether an operation on complex numbers is one on vectors that hold them in two lanes each."""
    return _has(op, _Trait.PAIRS)


def counts(op: ir.Operation) -> bool:
    """Returns whether an operation makes positions and coordinates of others."""
    return _has(op, _Trait.COUNTS)


def is_cheap(op: ir.Operation) -> bool:
    """Returns whether an operation costs less than a branch that was not foreseen, and may run in vain."""
    return _has(op, _Trait.CHEAP)


def _has(op: ir.Operation, trait: _Trait) -> bool:
    return trait in _TRAITS.get(op.name, _Trait(0))


def root_of(buffer: ir.Value) -> ir.Value | None:
    """Returns the buffer that a view is into: an argument of the function, or an allocation; None where unknown.

    Two arguments share no memory where one is written: the runtime sees to it before each call.
    """
    op = maker(buffer)
    while op is not None and op.name in _VIEWS:
        buffer = op.operands[0]
        op = maker(buffer)
    if op is None:
        return buffer if operation_around(buffer).name == "func.func" else None
    return buffer if op.name in _ALLOCATIONS else None


def may_alias(buffer: ir.Value, other: ir.Value) -> bool:
    """Returns whether two buffers may be into one: what a view is into is not always known."""
    root, second = root_of(buffer), root_of(other)
    return root is None or second is None or bool(root == second)


_BITS = {dtype.mlir: dtype.bits for dtype in DTYPES if not dtype.is_complex}


def element_bits(kind: ir.Type) -> int:
    """Returns the width of an element that is a lane of vectors; 0 for a type that is none, such as complex numbers."""
    return _BITS.get(str(kind), 0)


def is_complex(kind: ir.Type) -> bool:
    """Returns whether an element is a complex number of parts that vectors hold."""
    return isinstance(kind, ir.ComplexType) and element_bits(kind.element_type) > 0


def lane_bits(kind: ir.Type) -> int:
    """Returns how many bits of a vector an element takes, also a complex number; 0 for one that vectors do not hold."""
    return 2 * element_bits(ir.ComplexType(kind).element_type) if is_complex(kind) else element_bits(kind)


def is_truth(kind: ir.Type) -> bool:
    """Returns whether values are truth values: what lanes are chosen by, and never stored."""
    return bool(kind == ir.IntegerType.get_signless(1))


def fits_lanes(kind: ir.Type) -> bool:
    """Returns whether lanes of vectors are of a type: an element, or a truth value that they are chosen by."""
    return element_bits(kind) > 0 or is_truth(kind)


def is_contiguous(buffer: ir.Value) -> bool:
    """Returns whether the elements of a buffer of rank 1 follow each other."""
    kind = ir.MemRefType(buffer.type)
    return kind.rank == 1 and list(kind.get_strides_and_offset()[0]) == [1]
