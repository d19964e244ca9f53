"""Functions of real numbers in arithmetic that vectors have: no branch, no table, no call.

An argument is taken apart into a power of 2 and a number near 1 or 0, where a polynomial serves; sums that lose digits
keep what they lost. (The method is that of all libraries of elementary functions: see Muller, "Elementary Functions",
2016, chapters 5 and 11.) NaN, infinities, zeros with their signs and numbers below the normal ones are those of
IEEE 754's functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mlir_sparse.pipeline.functions.exponentials import exp, exp2, expm1, tanh
from mlir_sparse.pipeline.functions.logarithms import log, log1p, log2, log10
from mlir_sparse.pipeline.functions.powers import power
from mlir_sparse.pipeline.functions.real_values import Real

__all__ = ["REAL_FUNCTIONS"]

REAL_FUNCTIONS: Mapping[str, Callable[..., Real]] = {
    "math.exp": exp,
    "math.exp2": exp2,
    "math.expm1": expm1,
    "math.log": log,
    "math.log10": log10,
    "math.log1p": log1p,
    "math.log2": log2,
    "math.powf": power,
    "math.tanh": tanh,
}
"""What replaces operations of MLIR's `math` on f32 and f64."""
