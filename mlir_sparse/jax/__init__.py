"""Index notation as differentiable functions of JAX's arrays: under `jit`, `grad`, `vjp` and `vmap`, on the processor.

JAX is imported at the first use; `import mlir_sparse` does not.
"""

from mlir_sparse.jax.jax_kernel import JaxKernel, kernel

__all__ = ["JaxKernel", "kernel"]
