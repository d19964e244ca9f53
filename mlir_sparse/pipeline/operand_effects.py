"""What functions do to the memory of their parameters, so that a call copies what it must and nothing else."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from mlir_sparse._mlir import ir

__all__ = ["FREES", "READS", "WRITES", "effects_on_parameters"]

READS, WRITES, FREES = 0, 1, 2

_READERS = frozenset(
    (
        *("memref.load", "memref.dim", "memref.rank", "memref.prefetch"),
        *("vector.load", "vector.maskedload", "vector.gather", "vector.expandload", "vector.transfer_read"),
        *("func.return", "affine.load"),
    )
)
_VIEWS = frozenset(
    (
        *("memref.subview", "memref.cast", "memref.reinterpret_cast", "memref.expand_shape", "memref.collapse_shape"),
        *("memref.transpose", "memref.view", "memref.extract_strided_metadata"),
    )
)
_FREERS = frozenset(("memref.dealloc", "memref.realloc", "bufferization.dealloc"))
# Functions outside of the module that only read what they are given.
_PRINTERS = "printMemref"


def effects_on_parameters(functions: Mapping[str, ir.Operation]) -> dict[str, tuple[int, ...]]:
    """Returns for each parameter of each function READS, WRITES or FREES; the last two are what may happen.

    Args:
        functions: the `func.func` of a module after bufferization, by name.
    """
    uses = _uses_in(functions.values())
    return {name: tuple(_Followed(functions, uses).of_parameters(name)) for name in functions}


_Uses: TypeAlias = "Mapping[ir.Value, Sequence[tuple[ir.Operation, int]]]"


def _uses_in(functions: Iterable[ir.Operation]) -> _Uses:
    """Returns the operations that use each value, by a walk: to ask a value loads Python's classes for all dialects."""
    found: dict[ir.Value, list[tuple[ir.Operation, int]]] = defaultdict(list)

    def visit(op: ir.Operation) -> ir.WalkResult:
        if not op.name.startswith("llvm."):  # they have no memrefs, and Python's classes for them take long to load
            for place, value in enumerate(op.operands):
                found[value].append((op, place))
        return ir.WalkResult.ADVANCE

    for function in functions:
        function.walk(visit)
    return found


class _Followed:
    """Follows a value through a module; what is followed already does no more than it was found to do."""

    def __init__(self, functions: Mapping[str, ir.Operation], uses: _Uses) -> None:
        self._functions = functions
        self._uses = uses
        self._followed: set[tuple[str, int]] = set()

    def of_parameters(self, name: str) -> Iterator[int]:
        body = self._functions[name].regions[0].blocks
        for parameter in body[0].arguments if len(body) else ():
            yield self._of(parameter) if _is_memory(parameter.type) else READS

    def _of(self, value: ir.Value) -> int:
        return max((self._by(op, place) for op, place in self._uses.get(value, ())), default=READS)

    def _by(self, op: ir.Operation, place: int) -> int:
        name = op.name
        if name in _READERS:
            return READS
        if name in _VIEWS:
            return max((self._of(result) for result in op.results if _is_memory(result.type)), default=READS)
        if name in _FREERS:
            return FREES
        if name == "memref.copy":
            return READS if place == 0 else WRITES
        if name == "func.call":
            return self._by_call(op, place)
        if name.startswith("linalg.") and "operandSegmentSizes" in op.attributes:
            return READS if place < ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"])[0] else WRITES
        if name in ("scf.for", "scf.yield", "scf.if", "scf.while", "scf.condition", "arith.select", "cf.br"):
            return FREES  # it goes on by another name, which is not followed
        return WRITES

    def _by_call(self, op: ir.Operation, place: int) -> int:
        callee = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
        body = self._functions[callee].regions[0].blocks if callee in self._functions else None
        if body is None or not len(body):
            return READS if _PRINTERS in callee else WRITES
        # What comes back may be what was given.
        after = max((self._of(result) for result in op.results if _is_memory(result.type)), default=READS)
        if (callee, place) in self._followed:
            return after
        self._followed.add((callee, place))
        return max(after, self._of(body[0].arguments[place]))


def _is_memory(kind: ir.Type) -> bool:
    return str(kind).startswith("memref<")
