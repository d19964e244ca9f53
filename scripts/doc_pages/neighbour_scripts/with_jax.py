"""JAX: BCOO and BCSR in and out, and statements under `jit`, `grad` and `vmap`.

A statement's operands are JAX' arrays, and stored values on the structure of a tensor. Arrays are immutable in JAX:
share memory, but write nothing into it.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import sparse as jsparse

import mlir_sparse as ms

dense = jnp.asarray(np.array([[0, 2, 0], [3, 0, 4]], np.float32))
for made in (jsparse.BCOO.fromdense(dense), jsparse.BCSR.fromdense(dense)):
    A = ms.tensor(made)
    print(repr(A), np.shares_memory(A.storage.values, np.asarray(made.data)))
    print(type(A.to("jax")).__name__, (A.to("jax").todense() == dense).all())

# A loss of the stored values and of a vector, compiled by JAX, with gradients for both.
structure = ms.tensor(np.asarray(dense), "CSR")
multiply = ms.jax.kernel("y(i) = A(i,j) * x(j)", A=structure)


@jax.jit
def loss(values, x):
    return (multiply(values, x) ** 2).sum()


values, x = jnp.asarray(structure.storage.values), jnp.array([1.0, 1.0, 2.0], jnp.float32)
of_values, of_x = jax.grad(loss, argnums=(0, 1))(values, x)
print(loss(values, x), of_values, of_x)
print(jax.vmap(multiply, in_axes=(None, 0))(values, jnp.eye(3, dtype=jnp.float32)).T.tolist() == dense.tolist())
