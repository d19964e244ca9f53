"""Random kernels on numbers that show rounding: of all magnitudes, that cancel, that are not finite, at the ends."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np
from hypothesis import strategies as st

import mlir_sparse as ms
from dialect_tests import bounded, oracle
from dialect_tests.calls import Call, Results, Trial, densified
from dialect_tests.entries_oracle import entries_of
from dialect_tests.generated import FAMILY, KernelCase, kernels, needs_order, places
from dialect_tests.kernel_cases import check_storage
from dialect_tests.test_kernel_properties import StoredCase, stored
from mlir_sparse.notation import parse

__all__ = ["PROFILES", "Case", "cases", "numbers", "run", "trial"]

Array = np.ndarray[Any, Any]

# Kernels in which a factor could stand inside a sum or outside, or on another side of another factor.
FACTORED = (
    "y(i) = alpha * A(i,j) * x(j)",
    "y(i) = alpha * (A(i,j) * x(j))",
    "y(i) = A(i,j) * x(j) * alpha",
    "y(i) = z(i) * A(i,j) * x(j)",
    "y(i) = A(i,j) * z(i) * x(j) * alpha",
    "y(j) = alpha * A(i,j) * x(i)",
    "y(j) = z(j) * A(i,j) * x(i)",
    "y(i) = 0.5 * A(i,j)",
    "y(i) = 1e200 * A(i,j) * x(j)",
    "y(i) = A(i,j) * 1e-320 * x(j)",
    "y(i) = A(i,j) * x(j) / alpha",
    "y(i) = A(i,j) * x(j) / (1.5 + alpha * alpha)",
    "y(i) = alpha * A(i,j)",
    "s = alpha * x(i)",
    "s = alpha * x(i) * z(i)",
    "s = alpha * A(i,j) * B(i,j)",
    "s = A(i,j) * x(i) * z(j)",
    "s = -alpha * A(i,j)",
    "C(i,j) = alpha * A(i,k) * B(k,j)",
    "C(i,j) = A(i,k) * B(k,j) * z(j)",
    "C(i,j) = z(i) * A(i,k) * B(k,j)",
    "C(i,j) = S(i,j) * z(i) * (U(i,k) * V(j,k))",
    "C(i,j) = alpha * S(i,j) * U(i,k) * V(j,k)",
    "C(i,j) = alpha * T(i,j,k) * x(k)",
    "C(i,j) = T(i,k,l) * D(l,j) * E(k,j) * alpha",
    "C(i,j) = alpha * A(i,j) + beta * B(i,j)",
    "C(i,j) = alpha * (A(i,j) + B(i,j))",
    "y(i) = (alpha * A(i,j) + B(i,j)) * x(j)",
    "y(i) = alpha * (b(i) - A(i,j) * x(j))",
    "y(i) = A(i,j) + alpha * B(i,j) * x(j)",
    "y(i) += alpha * A(i,j) * x(j)",
    "C(i,j) += alpha * A(i,k) * B(k,j)",
    "y(i) = max(j : alpha * A(i,j))",
    "y(i) = A(i,j) * sum(k : B(j,k) * alpha)",
)
TEXTS = (*(text for text in FAMILY if bounded.is_bounded(parse(text)) and not places(parse(text))), *FACTORED)
_USUAL = {1: "SparseVector", 2: "CSR", 3: "CSF"}
# Levels that list the coordinates of their entries: what lies there is an entry.
_LISTED = ("compressed", "singleton", "loose_compressed")

_NAMES = (*["float64"] * 4, "float32", "float16", "complex128", "int8", "int32", "int64")
DTYPES: tuple[np.dtype[Any], ...] = (*map(np.dtype, _NAMES), np.dtype(ml_dtypes.bfloat16))
PROFILES = ("normal", "scaled", "wide", "cancelling", "ends", "special")

_SHARES = (0.1, 0.4, 0.1, 0.15, 0.1, 0.15)


def numbers(profile: str, shape: tuple[int, ...], dtype: np.dtype[Any], random: np.random.Generator) -> Array:
    """Returns numbers of one kind.

    Args:
        profile: `scaled` are all of about one magnitude, `wide` of any, `cancelling` add up to little; `ends` are
            the largest and the least; `special` has zeros of both signs, infinities and NaN among them.
        shape: of the array.
        dtype: its element type; of integers most profiles are their ends.
        random: where they come from.
    """
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        ends = [limits.min, limits.min + 1, limits.max, limits.max - 1, -1, 0, 1, 2]
        low, high = (limits.min, limits.max) if profile == "wide" else (-3, 4)
        drawn = random.integers(low, high, shape, dtype, endpoint=profile == "wide")
        return np.where(random.random(shape) < 0.5, random.choice(np.array(ends, dtype), shape), drawn).astype(dtype)
    if dtype.kind == "c":
        kind = np.dtype(np.float64 if dtype.itemsize == 16 else np.float32)
        calm = "wide" if profile in ("ends", "special") else profile
        return (numbers(calm, shape, kind, random) + 1j * numbers(calm, shape, kind, random)).astype(dtype)
    about = ml_dtypes.finfo(dtype) if dtype == ml_dtypes.bfloat16 else np.finfo(dtype)
    decades = float(np.log10(np.float64(about.max))) * 0.97
    plain = random.standard_normal(shape)
    with np.errstate(all="ignore"):
        match profile:
            case "scaled":
                found = plain * 10.0 ** (decades * random.choice([-0.65, -0.65, 0.65, 0.65, 0.3, -0.3]))
            case "wide":
                found = plain * 10.0 ** random.uniform(-decades, decades, shape)
            case "cancelling":
                found = np.where(random.random(shape) < 0.5, 1e8, -1e8) * (1 + plain * 1e-3)
                found = found if dtype.itemsize > 2 else found * 1e-6
            case "ends":
                ends = [about.max, -about.max, about.tiny, about.smallest_subnormal, 1.0, about.eps, -0.0, 0.5]
                found = random.choice(np.array([float(end) for end in ends]), shape)
            case "special":
                odd = random.choice(np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0]), shape)
                found = np.where(random.random(shape) < 0.2, odd, np.round(plain * 4))
            case _:
                found = plain
        return np.asarray(found).astype(dtype)


@dataclass(frozen=True)
class Case:
    """A kernel on stored data, of which the bounds are known."""

    stored: StoredCase
    profile: str

    def __str__(self) -> str:
        return f"{self.stored}, {self.profile} numbers"

    def on_other_data(self, seed: int) -> Case:
        """Returns the same kernel in the same storage on other numbers."""
        return _filled(self.stored.on_other_data(seed), seed)


def _filled(case: StoredCase, seed: int) -> Case:
    """Returns a case with numbers of some profile, from sparse to full."""
    random = np.random.default_rng(seed)
    profile = str(random.choice(PROFILES, p=_SHARES))
    density = float(random.choice([0.3, 0.7, 1.0, 1.0]))
    kernel = case.kernel
    data = {}
    for name, array in sorted(kernel.tensors.items()):
        own = profile if profile == "scaled" or random.random() < 0.8 else "normal"
        drawn = numbers(own, array.shape, kernel.dtype, random)
        kept = random.random(array.shape) < density
        data[name] = np.where(kept, drawn, np.zeros((), kernel.dtype)).astype(kernel.dtype)
    return Case(replace(case, kernel=replace(kernel, tensors=data)), profile)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draws kernels of sums and products on numbers that show rounding, in any storage."""
    kernel = draw(kernels(draw(st.sampled_from([TEXTS, FACTORED])), st.sampled_from(DTYPES)).filter(_has_meaning))
    case = draw(stored(kernel, foreign=draw(st.booleans())))
    # Most are stored as most matrices are.
    usual = {name: ms.encoding(_USUAL[len(encoding.dim_names)]) for name, encoding in case.storage.items()}
    chosen = {name: draw(st.sampled_from([usual[name], encoding])) for name, encoding in case.storage.items()}
    return _filled(replace(case, storage=chosen), draw(st.integers(0, 2**32)))


def _has_meaning(kernel: KernelCase) -> bool:
    return kernel.dtype.kind != "c" or not needs_order(kernel.assignment)


def _pads(encoding: ms.Encoding) -> bool:
    """Returns whether zeros of a tensor may be padding: unless dense levels are followed by lists of coordinates."""
    formats = [level.type.format.value for level in encoding.levels]
    while formats and formats[0] == "dense":
        formats.pop(0)
    return encoding.lvl_rank != encoding.dim_rank or not all(one in _LISTED for one in formats)


def _operand(value: Any) -> bounded.Operand:
    if not isinstance(value, ms.SparseTensor) or value.encoding.is_dense:
        array = densified(value)
        return bounded.Operand(array, np.ones(array.shape, bool), np.zeros(array.shape, bool))
    array, present = entries_of(value)
    pads = _pads(value.encoding)
    unsure = (array == 0) & np.full(array.shape, pads)
    return bounded.Operand(array, present, unsure, sparse=True)


def trial(case: Case) -> Trial:
    """Returns the call that a case is, and what judges it: exactly for integers, by bounds for other numbers."""
    kernel, storage = case.stored.kernel, case.stored.storage
    tensors: dict[str, Any] = dict(kernel.tensors)
    for name, encoding in storage.items():
        tensors[name] = ms.tensor(tensors[name], encoding)

    def judge(results: Results) -> None:
        (result,) = results
        if isinstance(result, ms.SparseTensor):
            check_storage(result)
        found = densified(result)
        wanted = oracle.result_dtype(kernel.assignment, {n: a.dtype for n, a in kernel.tensors.items()})
        assert found.dtype == wanted, f"expected {wanted}, but got {found.dtype}"
        if kernel.dtype.kind in "iu":
            oracle.assert_close(found, oracle.evaluate(kernel.assignment, kernel.tensors), terms=kernel.terms)
        elif wanted == kernel.dtype:
            operands = {name: _operand(value) for name, value in tensors.items()}
            bounded.assert_within(found, bounded.evaluate(kernel.assignment, operands, kernel.extents))

    return Trial(Call(kernel.assignment, tensors, case.stored.out), judge)


def run(case: Case) -> None:
    """Evaluates a case and judges it.

    Raises:
        SparseError: for a case that is refused by name.
    """
    trial(case).run()
