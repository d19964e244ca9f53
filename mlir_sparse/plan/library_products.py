"""Recognises kernels of NVIDIA's libraries by the assignment and the storage of its tensors.

| product | assignment, up to names and transposes | storage |
|---|---|---|
| `spmv` | `y(i) = A(i,k) * x(k)` | CSR, CSC, SoA-COO, BSR |
| `spmm` | `C(i,j) = A(i,k) * B(k,j)`, one of them sparse | CSR, CSC, SoA-COO, BSR; NV_24 through cuSPARSELt |
| `sddmm` | `C(i,j) = S(i,j) * A(i,k) * B(k,j)`, the result stored as S | CSR, CSC |
| `spgemm` | `C(i,j) = A(i,k) * B(k,j)`, all sparse | CSR, CSC |

A transpose costs nothing: CSR read by columns is CSC, and dense matrices are read in either order.
"""

from __future__ import annotations

from collections.abc import Mapping

from mlir_sparse.dtypes import DTYPES, WIDE_TYPES
from mlir_sparse.encoding import TensorType
from mlir_sparse.encoding import encoding as as_encoding
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.notation import Access, AssignOp, Binary, BinaryOp, Expr, IndexVar, Reduce, ReduceOp
from mlir_sparse.program.library_product import DenseUse, LibraryProduct, SparseUse
from mlir_sparse.spec import KernelSpec
from mlir_sparse.text.listed_words import listed

__all__ = ["library_product"]

_TYPES = [dtype for dtype in DTYPES if dtype.cuda_type >= 0]
_FORMATS = ("CSR", "CSC", "SoA-COO", "NV_24")
_WAY_OUT = 'use via="codegen"'


def library_product(spec: KernelSpec) -> LibraryProduct:
    """Returns the call of a library that computes a kernel.

    Raises:
        UnsupportedError: if the libraries lack the kernel, with the reason.
    """
    if spec.assignment.op is not AssignOp.ASSIGN and spec.assignment.op.reads_target:
        raise _refused(spec, f"one that replaces its target, not {spec.assignment.op.value}")
    if spec.assignment.ranges or spec.assignment.exists:
        raise _refused(spec, "one whose variables run over whole tensors")
    summed, factors = _product_of(spec.explicit.value)
    if factors is None or len({access.tensor for access in factors}) != len(factors):
        raise _refused(spec, "a product of tensors, each read once")
    _check_types(spec)
    types, target = dict(spec.inputs), spec.explicit.target
    sparse = [access for access in factors if types[access.tensor].encoding is not None]
    if not all(isinstance(s, IndexVar) for access in (*factors, target) for s in access.subscripts):
        raise _refused(spec, "one with plain variables as subscripts")
    if any(len(set(access.subscripts)) != len(access.subscripts) for access in (*factors, target)):
        raise _refused(spec, "one that reads no diagonal")
    if len(summed) == 1 and len(factors) == 2 and len(sparse) == 1:
        return _times_dense(spec, types, sparse[0], next(a for a in factors if a is not sparse[0]), summed[0])
    if len(summed) == 1 and len(factors) == 3 and len(sparse) == 1:
        return _sampled(spec, types, sparse[0], [a for a in factors if a is not sparse[0]], summed[0])
    if len(summed) == 1 and len(factors) == 2 and len(sparse) == 2:
        return _times_sparse(spec, types, sparse, summed[0])
    raise _refused(spec, "SpMV, SpMM, SDDMM or SpGEMM")


def _product_of(value: Expr) -> tuple[tuple[IndexVar, ...], list[Access] | None]:
    """Returns the summed variables and the factors of a sum of products; None for other expressions."""
    match value:
        case Reduce(op=ReduceOp.SUM, indices=summed, body=body):
            inner, factors = _product_of(body)
            return (*summed, *inner), factors
        case Binary(op=BinaryOp.MUL, left=left, right=right):
            (ours, one), (theirs, other) = _product_of(left), _product_of(right)
            return (*ours, *theirs), None if one is None or other is None else [*one, *other]
        case Access():
            return (), [value]
        case _:
            return (), None


def _product(
    spec: KernelSpec,
    kind: str,
    sparse: tuple[SparseUse, ...],
    dense: tuple[DenseUse, ...] = (),
    transposed: bool = False,
) -> LibraryProduct:
    return LibraryProduct(kind, spec.explicit.target.tensor, spec.output, sparse, dense, transposed)


def _refused(spec: KernelSpec, rule: str) -> UnsupportedError:
    return UnsupportedError(f"expected a kernel that cuSPARSE has, {rule}, but got {spec.assignment}: {_WAY_OUT}")


def _check_types(spec: KernelSpec) -> None:
    kinds = {kind.dtype for kind in (*(kind for _, kind in spec.inputs), spec.output)}
    if len(kinds) != 1 or not kinds <= set(_TYPES):
        raise UnsupportedError(
            f"expected operands and a result of one type of {', '.join(map(str, _TYPES))} for cuSPARSE, "
            f"but got {', '.join(sorted(map(str, kinds)))}: {_WAY_OUT}"
        )
    for name, kind in spec.inputs:
        if kind.encoding is not None and any(w in (8, 16) for w in (kind.encoding.pos_width, kind.encoding.crd_width)):
            raise UnsupportedError(
                f"expected positions and coordinates of 32 or 64 bits for cuSPARSE, but got {name} stored as {kind}: "
                f"pass {name}.convert('CSR', pos_width=32, crd_width=32), or {_WAY_OUT}"
            )


def _format(name: str, kind: TensorType) -> str:
    """Returns the library's name of a tensor's storage."""
    encoding = kind.encoding
    assert encoding is not None
    plain = _bare(encoding)
    for preset in _FORMATS:
        if encoding.dim_rank == 2 and plain == _bare(as_encoding(preset)):
            return {"SoA-COO": "COO", "NV_24": "24"}.get(preset, preset)
    if encoding.dim_rank == 2 and not encoding.is_permutation:
        block = (encoding.block_of(0), encoding.block_of(1))
        if block[0] * block[1] > 1 and plain == _bare(as_encoding("BSR", block=block)):
            return "BSR"
    raise UnsupportedError(
        f"expected {name} in CSR, CSC, SoA-COO, BSR or NV_24 for NVIDIA's libraries, but got {encoding.map_text()}: "
        f"pass {name}.convert('CSR'), or {_WAY_OUT}"
    )


def _bare(encoding: Encoding) -> Encoding:
    return encoding.with_widths(0, 0).with_default_names()


def _turned(name: str, format: str, transposed: bool) -> SparseUse:
    """Returns a use of a matrix, or of its transpose."""
    if not transposed:
        return SparseUse(name, format)
    if format not in ("CSR", "CSC"):
        raise UnsupportedError(
            f"expected {name} in CSR or CSC to be read by columns by cuSPARSE, but got {format}: "
            f"pass {name}.convert('CSC'), or {_WAY_OUT}"
        )
    return SparseUse(name, "CSC" if format == "CSR" else "CSR", True)


def _times_dense(
    spec: KernelSpec, types: Mapping[str, TensorType], sparse: Access, dense: Access, summed: IndexVar
) -> LibraryProduct:
    target = spec.explicit.target.subscripts
    if spec.output.encoding is not None:
        raise _refused(spec, "with a dense result where an operand is dense")
    if len(sparse.subscripts) != 2 or summed not in sparse.subscripts or summed not in dense.subscripts:
        raise _refused(spec, "SpMV or SpMM")
    row = next(s for s in sparse.subscripts if s != summed)
    use = _turned(sparse.tensor, _format(sparse.tensor, types[sparse.tensor]), sparse.subscripts[0] == summed)
    if dense.subscripts == (summed,) and target == (row,):
        if use.format == "24":
            raise _refused(spec, "a product of a matrix in NV_24 with a matrix")
        return _product(spec, "spmv", (use,), (DenseUse(dense.tensor),))
    column = next((s for s in dense.subscripts if s != summed), None)
    if len(dense.subscripts) != 2 or column == row or set(target) != {row, column} or len(target) != 2:
        raise _refused(spec, "SpMV or SpMM")
    right = DenseUse(dense.tensor, dense.subscripts[0] != summed)
    transposed = target[0] != row
    if use.format == "24":
        _check_structured(spec, sparse.tensor, types[sparse.tensor], right.transposed or transposed)
    kind = "structured" if use.format == "24" else "spmm"
    return _product(spec, kind, (use,), (right,), transposed)


def _check_structured(spec: KernelSpec, name: str, kind: TensorType, turned: bool) -> None:
    narrow = [dtype for dtype in _TYPES if dtype.is_narrow]
    if kind.dtype not in narrow:
        raise UnsupportedError(
            f"expected {listed(narrow, 'or')} for cuSPARSELt, but got {name} of {kind.dtype}, "
            f"which it would round or saturate: pass {name}.astype('float16'), or {_WAY_OUT}"
        )
    if turned:
        raise _refused(spec, "C(i,j) = A(i,k) * B(k,j) without transposes where A is in NV_24")


def _sampled(
    spec: KernelSpec, types: Mapping[str, TensorType], sparse: Access, dense: list[Access], summed: IndexVar
) -> LibraryProduct:
    if spec.output.encoding is None or _bare(spec.output.encoding) != _bare(_encoding(types, sparse)):
        raise _refused(spec, f"SDDMM with a result stored as {sparse.tensor} is")
    if spec.explicit.target.subscripts != sparse.subscripts or len(sparse.subscripts) != 2:
        raise _refused(spec, "SDDMM")
    format = _format(sparse.tensor, types[sparse.tensor])
    if format not in ("CSR", "CSC"):
        raise UnsupportedError(
            f"expected {sparse.tensor} in CSR or CSC for SDDMM by cuSPARSE, but got {format}: {_WAY_OUT}"
        )
    use = SparseUse(sparse.tensor, "CSR", format == "CSC")
    row, column = sparse.subscripts if format == "CSR" else sparse.subscripts[::-1]
    by_variable = {frozenset(access.subscripts): access for access in dense}
    left, right = by_variable.get(frozenset((row, summed))), by_variable.get(frozenset((summed, column)))
    if left is None or right is None:
        raise _refused(spec, "SDDMM")
    operands = (DenseUse(left.tensor, left.subscripts[0] != row), DenseUse(right.tensor, right.subscripts[0] != summed))
    return _product(spec, "sddmm", (use,), operands)


def _times_sparse(
    spec: KernelSpec, types: Mapping[str, TensorType], operands: list[Access], summed: IndexVar
) -> LibraryProduct:
    target, formats = spec.explicit.target.subscripts, {_format(a.tensor, types[a.tensor]) for a in operands}
    wanted = spec.output.encoding
    if formats not in ({"CSR"}, {"CSC"}) or wanted is None or _bare(wanted) != _bare(_encoding(types, operands[0])):
        raise _refused(spec, "SpGEMM of CSR to CSR, or of CSC to CSC")
    if spec.output.dtype not in WIDE_TYPES:
        raise UnsupportedError(
            f"expected {listed(WIDE_TYPES, 'or')} for SpGEMM by cuSPARSE, but got {spec.output.dtype}: {_WAY_OUT}"
        )
    rows, columns = (target[0], target[1]) if len(target) == 2 else (None, None)
    left = next((a for a in operands if a.subscripts == (rows, summed)), None)
    right = next((a for a in operands if a.subscripts == (summed, columns)), None)
    if left is None or right is None:
        raise _refused(spec, "C(i,j) = A(i,k) * B(k,j)")
    if formats == {"CSR"}:
        return _product(spec, "spgemm", (SparseUse(left.tensor, "CSR"), SparseUse(right.tensor, "CSR")))
    # By columns it is the product of the transposes by rows, in reverse order.
    turned = (SparseUse(right.tensor, "CSR", True), SparseUse(left.tensor, "CSR", True))
    return _product(spec, "spgemm", turned, transposed=True)


def _encoding(types: Mapping[str, TensorType], access: Access) -> Encoding:
    encoding = types[access.tensor].encoding
    assert encoding is not None
    return encoding
