"""The inferred type of a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from mlir_sparse.affine import Dim
from mlir_sparse.encoding import Encoding, LevelFormat, LevelSpec, LevelType, TensorType, encoding
from mlir_sparse.notation import (
    Access,
    Apply,
    Assignment,
    AssignOp,
    Binary,
    BinaryOp,
    Expr,
    Fold,
    IndexVar,
    Reduce,
    Subscript,
    walk,
    with_explicit_sums,
)
from mlir_sparse.spec.computed_type import result_dtype
from mlir_sparse.spec.made_types import made_types
from mlir_sparse.spec.rounded_literals import round_literals
from mlir_sparse.spec.truth_arithmetic import logic_of
from mlir_sparse.spec.zeros import missing, vanishes

__all__ = ["infer_output"]


def infer_output(assignment: Assignment, types: Mapping[str, TensorType]) -> TensorType:
    """Infers the element type and storage of a result.

    The rule depends on the text and the types only, never on data:

    1. A matrix or higher tensor is sparse if each of its indices runs over sparse storage and the value is zero
    wherever nothing is stored; a vector also needs that nothing is reduced. Its storage is that of an operand with the
    same subscripts, or CSR or CSF. A format with padding is used only if the result has no further entries than that
    operand, or all operands have the format. 2. If only some of its indices do, and at least two of them run over
    levels of one operand that store coordinates, the levels of these are compressed, in that operand's order, and the
    others dense: TTM of CSF has dense rows below the stored ones. Under semirings and for operators it is dense. 3. All
    else is dense: SpMM of CSR, MTTKRP, and expressions that are nonzero where nothing is stored.

    >>> from mlir_sparse.notation import parse
    >>> csr, dense = TensorType.parse("f64[?,?] CSR"), TensorType.parse("f64[?,?]")
    >>> print(infer_output(parse("C(i,j) = A(i,k) * B(k,j)"), {"A": csr, "B": csr}))
    f64[?,?] CSR
    >>> print(infer_output(parse("C(i,j) = A(i,k) * B(k,j)"), {"A": csr, "B": dense}))
    f64[?,?]
    >>> csf = TensorType.parse("f64[?,?,?] CSF")
    >>> print(infer_output(parse("C(i,j,r) = T(i,j,k) * B(k,r)"), {"T": csf, "B": dense}))
    f64[?,?,?] (i, j, r) -> (i : compressed, j : compressed, r : dense)
    """
    types = {**made_types(assignment, types), **types}
    dtypes = {name: kind.dtype for name, kind in types.items()}
    explicit = value = logic_of(with_explicit_sums(assignment).value, dtypes)
    if assignment.op.reads_target:  # the present and the new value are combined in their common type
        truth = assignment.op in (AssignOp.OR, AssignOp.AND)
        value = Binary(BinaryOp.OR if truth else BinaryOp.ADD, assignment.target, value)
    dtype = result_dtype(value, dtypes)
    shape = tuple(_static_size(assignment, subscript, types) for subscript in assignment.target.subscripts)
    return TensorType(dtype, shape, _storage(assignment, round_literals(explicit, dtypes, dtype), types))


def _static_size(assignment: Assignment, subscript: Subscript, types: Mapping[str, TensorType]) -> int | None:
    for node in assignment.reads:
        if subscript in node.subscripts:
            size = types[node.tensor].shape[node.subscripts.index(subscript)]
            if size is not None:
                return size
    return None


def _storage(assignment: Assignment, value: Expr, types: Mapping[str, TensorType]) -> Encoding | None:
    """Returns the storage of a result; `value` has its sums written out."""
    if assignment.op.reads_target:
        return types[assignment.target.tensor].encoding
    sparse = [node for node in walk(value) if isinstance(node, Access) and _is_sparse(types[node.tensor])]
    target = assignment.target.subscripts
    reduces = any(isinstance(node, Reduce | Fold) and node.indices for node in walk(value))
    met = {index for access in sparse for index in access.indices}
    names = {access.tensor for access in sparse}
    # Missing elements of a fold have its identity, which may not be 0.
    if not (missing(value, names) if isinstance(value, Apply | Fold) else vanishes(value, names)):
        return None
    if not met.issuperset(assignment.target.indices):
        return None if isinstance(value, Apply | Fold) else _with_dense_tail(assignment.target, sparse, types)
    if not target or (reduces and len(target) == 1):
        return None
    apart = isinstance(value, Fold) and not value.monoid.gives_zero
    for access in sparse:
        kept = types[access.tensor].encoding
        if access.subscripts != target or kept is None or not kept.holds_all or kept.has_slices:
            continue
        if apart and kept.has_padding:
            continue
        if not _pads(kept) or _is_within(value, access) or all(types[a.tensor].encoding == kept for a in sparse):
            # The operand's widths and explicit value do not apply to the result.
            return replace(kept.with_widths(0, 0), explicit_val=None, implicit_val=None)
    return _default(len(target))


def _with_dense_tail(target: Access, sparse: Sequence[Access], types: Mapping[str, TensorType]) -> Encoding | None:
    """Returns storage with an operand's stored levels, and dense levels for indices that no sparse operand has."""
    for access in sparse:
        listed = [index for index in _stored_indices(access, types[access.tensor]) if index in target.indices]
        if len(listed) > 1:
            met = {index for other in sparse for index in other.indices}
            above = tuple(dict.fromkeys((*listed, *(index for index in target.indices if index in met))))
            return tailed(target, above)
    return None


def tailed(target: Access, above: Sequence[IndexVar]) -> Encoding:
    """Returns storage with a compressed level for each of some indices of a result, and dense ones below.

    >>> from mlir_sparse.notation import parse
    >>> target = parse("C(i,r) = A(i,k) * B(k,r)").target
    >>> tailed(target, target.indices[:1]).map_text()
    '(i, r) -> (i : compressed, r : dense)'
    """
    order = (*above, *(index for index in target.indices if index not in above))
    kinds = {index: LevelType(LevelFormat.COMPRESSED if index in above else LevelFormat.DENSE) for index in order}
    levels = tuple(LevelSpec(Dim(target.indices.index(index)), kinds[index]) for index in order)
    return Encoding(tuple(index.name for index in target.indices), levels)


def _stored_indices(access: Access, kind: TensorType) -> list[IndexVar]:
    """Returns the index variables whose coordinates an operand stores, in the order of its levels."""
    assert kind.encoding is not None
    found = dict.fromkeys(
        subscript
        for spec in kind.encoding.levels
        if spec.type.has_coordinates
        for dim in spec.expr.dims()
        if isinstance(subscript := access.subscripts[dim], IndexVar)
    )
    return list(found)


def _pads(encoding: Encoding) -> bool:
    """Returns whether an entry in a new place can add padding: in blocks, diagonals, slots and tables."""
    return encoding.has_padding or not encoding.is_native


def _is_within(value: Expr, access: Access) -> bool:
    """Returns whether a value is zero wherever an access has no entry."""
    others = (node for node in walk(value) if isinstance(node, Access) and node.tensor == access.tensor)
    return vanishes(value, {access.tensor}) and all(node.subscripts == access.subscripts for node in others)


def _is_sparse(kind: TensorType) -> bool:
    return kind.encoding is not None and not kind.encoding.is_dense


def _default(rank: int) -> Encoding:
    return encoding({1: "SparseVector", 2: "CSR"}.get(rank, "CSF"), rank=rank)
