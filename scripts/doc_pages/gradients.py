"""Gradients: derivatives of notation as notation, functions of PyTorch's tensors and of JAX's arrays, what has none.

All code of the page is run for it where its library is installed, and all that it prints is on it.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from doc_pages import markup
from doc_pages.running import session
from mlir_sparse.notation.adjoint import DERIVATIVES

__all__ = ["page"]

LEAD = """The derivative of a statement is a statement. `ms.adjoint` writes it down: from the operands and the
cotangent of the result (`dY`, the derivative of a loss by `Y`) it computes the cotangents of operands (`dA`).
Products turn into products with the other factors, sums into broadcasts, broadcasts into sums, gathers into scatters;
a comprehension is gone through backwards, statement by statement. A sparse operand's cotangent has its pattern: `if
A(i,j)` says so, explicit zeros included, so that the gradient of SpMM by the matrix is a sampled product of two
arrays."""
TEXT = """
import numpy as np
import mlir_sparse as ms

print(ms.adjoint("Y(i,k) = A(i,j) * B(j,k)", ["A", "B"], A="f64[?,?] CSR"))
print(ms.adjoint("y(i) = x(i) / sqrt(sum(j : x(j) ** 2))", "x"))
"""
SELECTED = """A subscript that is no plain variable of its own (`X(I(i))`, `x(2*i + k)`, `A(i,i)`, `A(3,j)`) reads one
element for each value of its variables. The adjoint adds to that element: it multiplies by a selection, a matrix with
one entry in each row, which `definitions` declares as `ms.define` takes it."""
SELECTION = """
found = ms.adjoint("y(i,k) = X(I(i),k)", "X")
print(found)
at = ms.define(found.definitions["at_X"], I=np.array([2, 2, 0]), shape=(None, 3))
print(ms.evaluate(str(found.statements[0]), at_X=at, dy=np.ones((3, 2))))
"""
KINKS = """Where a function has a kink, its subgradient is PyTorch's: all values that are the greatest share the
cotangent of `max(j : ...)` equally, as in `torch.amax`; the operands of `max(a, b)` take half each where they are
equal; `relu` and `abs` have 0 at 0. Cotangents of complex numbers are PyTorch's, the derivative by the real part plus
1j times that by the imaginary part; those of real operands are real. Comparisons, `floor`, `argmax`, `count` and what
else is constant nearly everywhere pass nothing on; a statement that depends on an operand through those alone is
refused. Semirings are refused, but for plus_times: of arrays write `min(j : A(i,j) + x(j))` for the products of
min_plus. Refused by name are also gradients by integers, by a mask or a subscript, which are structure, and by what is
not stored in place: slices, tensors by definition, files. Names that you use are never taken: a cotangent gets a
number where `dA` is a tensor or an index of yours."""
VALUES = """`A.with_values(v)` is a tensor with the structure of another, shared and not validated again. An element
that is stored twice has two values, each with a gradient; padding inside of blocks are values too; padding beyond the
edges stays zero."""
WITH = """
A = ms.tensor(np.array([[0.0, 2.0], [3.0, 0.0]]))
print(A.with_values([5.0, 7.0]).to_numpy())
"""
TORCH = """`ms.torch.kernel` makes a statement a function of PyTorch's tensors: strided ones, sparse ones in the
layouts COO, CSR, CSC, BSR and BSC, and stored values on the structure of a SparseTensor that is given when the kernel
is made. Gradients are differentiable themselves, forward mode is there too, and `torch.func` transforms calls, batches
one element at a time. Its program is one custom operator, so that `torch.compile` keeps calls with strided tensors in
its graph; calls with sparse ones break the graph. A result that is sparse comes as
PyTorch's sparse tensor; `out=P` with a SparseTensor computes the stored entries of P alone, and returns their values.
Kernels run on the processor: tensors on a GPU are refused."""
SPMM = """
import torch

spmm = ms.torch.kernel("Y(i,k) = A(i,j) * B(j,k)")
S = torch.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse_csr().requires_grad_()
B = torch.tensor([[1.0, 4.0], [2.0, 5.0]], requires_grad=True)
of_s, of_b = torch.autograd.grad(spmm(S, B).sum(), (S, B))
print(of_s.layout, of_s.values().tolist(), of_b.tolist())

layer = ms.torch.SparseLinear(A)
print(layer, layer(torch.ones(2, dtype=torch.float64)).tolist())
"""
JAX = """`ms.jax.kernel` is the same for JAX's arrays, by `custom_vjp` over `pure_callback`: it works under `jit`,
`grad` and `vjp`, of every order; `vmap` calls it once for each element of a batch; forward mode is refused by JAX.
Operands are arrays, and stored values on the structure of a SparseTensor."""
SPMV = """
import jax
import jax.numpy as jnp

single = A.astype(np.float32)
spmv = ms.jax.kernel("y(i) = A(i,j) * x(j)", A=single)
gradient = jax.jit(jax.grad(lambda v, x: spmv(v, x).sum(), argnums=(0, 1)))
print(gradient(jnp.asarray(single.storage.values), jnp.ones(2, jnp.float32)))
"""
TABLE = "The cotangents of the arguments a, b and c of each function, where g is that of its result:"


def page() -> str:
    """Returns the page."""
    names: dict[str, Any] = {}
    parts = [
        markup.paragraph(LEAD),
        session(TEXT, names),
        markup.paragraph(SELECTED),
        session(SELECTION, names),
        markup.paragraph(KINKS),
        markup.anchor("Values on a structure"),
        markup.paragraph(VALUES),
        session(WITH, names),
        markup.anchor("PyTorch"),
        markup.paragraph(TORCH),
        _where_installed("torch", SPMM, names),
        markup.anchor("JAX"),
        markup.paragraph(JAX),
        _where_installed("jax", SPMV, names),
        markup.anchor("Functions"),
        markup.paragraph(TABLE),
        markup.table(_rows()),
    ]
    return markup.document("gradients.html", parts)


def _where_installed(library: str, code: str, names: dict[str, Any]) -> str:
    return markup.pre(code.strip()) if find_spec(library) is None else session(code, names)


def _rows() -> list[list[str]]:
    rows = [["function", "cotangents"]]
    for name, known in DERIVATIVES.items():
        given = [markup.code(one) if one else "0" for one in known.formulas] or [f"none: {known.reason}"]
        rows.append([markup.code(name), ", ".join(given)])
    return rows
