"""Payloads that the sparsifier takes: what is not, is rewritten or read from dense copies.

Each rule names the defect it stands for; FINDINGS of the compiler are kept as
tests that run them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mlir_sparse.encoding import TensorType
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.kernel import depends_on, vanishes
from mlir_sparse.notation import (
    Access,
    Binary,
    BinaryOp,
    Call,
    Expr,
    IndexVar,
    children,
)
from mlir_sparse.plan.storage import is_sparse
from mlir_sparse.plan.terms import accesses_of, rebuild, replace_accesses, substitute, unites
from mlir_sparse.plan.values import Values

__all__ = ["Admission"]

# Functions with a lowering for complex numbers.
COMPLEX_FUNCTIONS = frozenset(
    {"abs", "conj", "sqrt", "exp", "expm1", "log", "log1p", "sin", "cos", "tan", "tanh", "pow"}
)


class Admission:
    """Rewrites payloads; conversions and temporaries that this takes become steps.

    Args:
        values: the program under construction.
        materialize: computes an expression into a temporary.
        densified: whether every payload must read dense arrays.
    """

    def __init__(self, values: Values, materialize: Callable[[Expr], Access], densified: bool) -> None:
        self._values = values
        self._materialize = materialize
        self._dense_only = densified

    def payload(self, body: Expr, *, sums: bool) -> Expr:
        """Returns a payload for a loop nest over sparse operands.

        Args:
            body: the scalar computation.
            sums: whether the nest accumulates by addition; any other operator must see every zero.
        """
        if self._dense_only:
            return self._densified(body, "arithmetic cancels sparse operands, which the sparsifier does not survive")
        if not sums:
            return self.dense_payload(body)
        body = self._plain_storage(body)
        body = self._admitted(body)
        return self._in_one_field(self._without_diagonals(body))

    def dense_payload(self, body: Expr) -> Expr:
        """Returns a payload that reads dense arrays only."""
        self._check_functions(body)
        return self._densified(body, "the loops must see every element")

    def _plain_storage(self, body: Expr) -> Expr:
        """Reads operands densely that the sparsifier cannot iterate at all, and takes away what it would misread."""
        names: dict[Access, str] = {}
        for access in accesses_of(body):
            kind = self._values.type_of(access.tensor)
            if kind.encoding is None:
                continue
            if not is_sparse(kind):
                names[access] = self._values.dense(access.tensor, "all levels are dense")
            elif not _plainly_subscripted(access):
                names[access] = self._values.dense(access.tensor, "sparse levels take one index variable each")
            elif kind.encoding.explicit_val is not None and kind.encoding.has_padding:
                plain = replace(kind, encoding=replace(kind.encoding, explicit_val=None))
                names[access] = self._values.convert(access.tensor, plain, "zeros that pad it are not its explicitVal")
        return replace_accesses(body, names)

    def _without_diagonals(self, body: Expr) -> Expr:
        """Reads diagonals of dense arrays beforehand: next to a sparse operand they do not lower."""
        if not depends_on(body, self._values.sparse_names()):
            return body
        diagonals = {access: self._materialize(access) for access in accesses_of(body) if _repeats(access)}
        return substitute(body, diagonals)

    def _admitted(self, node: Expr) -> Expr:
        sparse = self._values.sparse_names()
        if not depends_on(node, sparse):
            self._check_functions(node)
            return node
        match node:
            case Binary(BinaryOp.DIV) if not vanishes(node, sparse):
                return self._densified(node, "a divisor must be dense: what is not stored divides by zero")
            case Binary(BinaryOp.ADD | BinaryOp.SUB) if not unites(node, sparse):
                return self._densified(node, "a sum with a dense operand has no zeros to skip")
            case Call(function, _) if not vanishes(node, sparse):
                return self._densified(node, f"{function} of zeros is not zero")
            case Call(function, arguments) if len(arguments) > 1:
                return self._densified(node, f"the sparsifier does not know {function} of two operands")
            case _:
                self._check_function(node)
                return rebuild(node, tuple(self._admitted(child) for child in children(node)))

    def _densified(self, node: Expr, reason: str) -> Expr:
        self._check_functions(node)
        names = {
            access: self._values.dense(access.tensor, reason)
            for access in accesses_of(node)
            if self._values.type_of(access.tensor).encoding is not None
        }
        return replace_accesses(node, names)

    def _in_one_field(self, body: Expr) -> Expr:
        """Gives sparse operands of a complex kernel its type: the sparsifier cannot cast to complex on the way."""
        if self._values.dtype.kind != "c":
            return body
        names = {
            access: self._values.convert(access.tensor, self._complex(kind), "joins operands of another type")
            for access in accesses_of(body)
            if is_sparse(kind := self._values.type_of(access.tensor)) and kind.dtype != self._values.dtype
        }
        return replace_accesses(body, names)

    def _complex(self, kind: TensorType) -> TensorType:
        assert kind.encoding is not None
        # explicitVal and implicitVal are of the old element type.
        return replace(
            kind, dtype=self._values.dtype, encoding=replace(kind.encoding, explicit_val=None, implicit_val=None)
        )

    def _check_functions(self, node: Expr) -> None:
        self._check_function(node)
        for child in children(node):
            self._check_functions(child)

    def _check_function(self, node: Expr) -> None:
        if isinstance(node, Call) and self._values.dtype.kind == "c" and node.function not in COMPLEX_FUNCTIONS:
            raise UnsupportedError(
                f"expected a function that complex numbers have, but got {node.function} in {node}: "
                f"take the parts apart before the call"
            )


def _plainly_subscripted(access: Access) -> bool:
    return all(isinstance(subscript, IndexVar) for subscript in access.subscripts) and not _repeats(access)


def _repeats(access: Access) -> bool:
    plain = [subscript for subscript in access.subscripts if isinstance(subscript, IndexVar)]
    return len(plain) > len(set(plain))
