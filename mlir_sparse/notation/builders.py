"""Index notation from Python objects: `y[i] = A[i, j] * x[j]`.

The Assignment built equals the one that `parse` returns for the same formula as text.

    i, j = indices("i j")
    y, A, x = tensors("y A x")
    y[i] = A[i, j] * x[j]
    y.assignment                      # the Assignment `y(i) = A(i,j) * x(j)`
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NoReturn

from mlir_sparse.errors import NotationError
from mlir_sparse.notation.ast import Access, Assignment, AssignOp, Binary, IndexVar, Range, Subscript
from mlir_sparse.notation.check_assignment import check_height
from mlir_sparse.notation.formula import Formula, call, described, node_of, reduce, where
from mlir_sparse.notation.index import Index, checked_name, indices, integer_of, split_names
from mlir_sparse.notation.linear_subscript import as_affine
from mlir_sparse.notation.notation_parser import parse
from mlir_sparse.notation.shifted_gathers import shifted_expression

__all__ = ["Formula", "Index", "TensorVar", "call", "indices", "reduce", "tensors", "where"]


class TensorVar(Formula):
    """A tensor by name: `A[i, j]` reads it, `A[i, j] = ...` records an assignment to it.

    A scalar is read without subscripts (`alpha * x[i]`) and assigned with `a[()] = ...`.

    >>> i, j = indices("i j")
    >>> y, A, x = TensorVar("y"), TensorVar("A"), TensorVar("x")
    >>> y[i] = A[i, j] * x[j]
    >>> print(y.assignment)
    y(i) = A(i,j) * x(j)
    """

    __slots__ = ("_assignment", "name")

    def __init__(self, name: str) -> None:
        self.name = checked_name(name)
        self._assignment: Assignment | None = None
        super().__init__(Access(self.name))

    @property
    def assignment(self) -> Assignment:
        """Returns the assignment recorded last.

        Raises:
            NotationError: when there is none.
        """
        if self._assignment is None:
            raise NotationError(f"expected an assignment to `{self.name}`, but got none; write {self.name}[...] = ...")
        return self._assignment

    def __getitem__(self, subscripts: object) -> Formula:
        return Formula(self._access(subscripts))

    def __setitem__(self, subscripts: object, value: object) -> None:
        if isinstance(value, Formula) and value.update is not None:
            update = value.node
            # Only `y[i] += e` itself is an update: `t = x[i]; t += e` builds a plain sum.
            if isinstance(update, Binary) and update.left == self._access(subscripts):
                self.assign(subscripts, Formula(update.right), value.update)
                return
        self.assign(subscripts, value)

    def __iadd__(self, other: object) -> NoReturn:
        raise NotationError(
            f"expected subscripts on `{self.name}`, as Python would rebind the name; write {self.name}[()] += ..."
        )

    def __imul__(self, other: object) -> NoReturn:
        raise NotationError(
            f"expected subscripts on `{self.name}`, as Python would rebind the name; write {self.name}[()] *= ..."
        )

    def assign(
        self,
        subscripts: object,
        value: object,
        op: str | AssignOp = AssignOp.ASSIGN,
        ranges: Mapping[Index, range | tuple[int, int]] | None = None,
    ) -> Assignment:
        """Records and returns `self(subscripts) op value`, for any of the operators.

        Args:
            subscripts: an index or a tuple of them.
            value: an expression or a number.
            op: the operator as in text: `=`, `+=`, `max=`, `max=!`, ...
            ranges: for an index (`where k in 0:2` in text) a `range`, or its first value and its end.

        Raises:
            NotationError: for an assignment without a meaning, as `parse` does, with the place in the printed text.

        >>> (i, j), (y, A) = indices("i j"), tensors("y A")
        >>> print(y.assign(i, A[i, j], "max=!"))
        y(i) max=! A(i,j)
        >>> print(y.assign(i, A[2 * i, j], "+=!", ranges={j: range(2)}))
        y(i) +=! A(2*i,j) where j in 0:2
        """
        clauses = tuple(_range(index, bounds) for index, bounds in (ranges or {}).items())
        built = Assignment(self._access(subscripts), _assign_op(op), node_of(value), ranges=clauses)
        check_height(built)
        # Parse the printed text, so that errors have a place to point at.
        self._assignment = parse(str(built))
        return self._assignment

    def __repr__(self) -> str:
        return f"TensorVar({self.name!r})"

    def _access(self, subscripts: object) -> Access:
        items = subscripts if isinstance(subscripts, tuple) else (subscripts,)
        return Access(self.name, tuple(self._subscript(item) for item in items))

    def _subscript(self, item: object) -> Subscript:
        if isinstance(item, Index):
            return item.subscript
        gather = shifted_expression(item.node) if isinstance(item, Formula) else None  # as in `X[I[i] + 1, j]`
        if gather is not None:
            return gather
        number = integer_of(item)
        if number is None:
            raise NotationError(
                f"expected indices in the subscripts of `{self.name}`, but got {described(item)}; "
                'make them by `indices("i j")`'
            )
        return as_affine(number)


def tensors(names: str | Iterable[str]) -> tuple[TensorVar, ...]:
    """Returns tensors for names, given as one text or several.

    >>> tensors("y A x")
    (TensorVar('y'), TensorVar('A'), TensorVar('x'))
    """
    return tuple(TensorVar(name) for name in split_names(names))


def _range(index: Index, bounds: range | tuple[int, int]) -> Range:
    if isinstance(bounds, range) and bounds.step != 1:
        raise NotationError(f"expected a range of steps of 1 for {index!r}, but got {bounds}; scale the subscript")
    ends = (bounds.start, bounds.stop) if isinstance(bounds, range) else tuple(bounds)
    low, high = (integer_of(end) for end in ends) if len(ends) == 2 else (None, None)
    if not isinstance(index, Index) or not isinstance(index.subscript, IndexVar) or low is None or high is None:
        raise NotationError(f"expected an index and the range that it runs over, but got {index!r} and {bounds!r}")
    return Range(index.subscript, as_affine(low), as_affine(high))


def _assign_op(op: str | AssignOp) -> AssignOp:
    known = {known.value: known for known in AssignOp}
    chosen = op if isinstance(op, AssignOp) else known.get(op)
    if chosen is None:
        raise NotationError(f"expected one of {' '.join(known)}, but got {op!r}")
    return chosen
