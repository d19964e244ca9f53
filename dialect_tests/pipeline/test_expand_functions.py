"""Functions of real numbers as arithmetic: how far from the exact value, at the ends, in vectors as for numbers."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse import pipeline
from mlir_sparse._mlir import ir, mlir_context
from mlir_sparse.loops.operation_index import Seen
from mlir_sparse.pipeline.functions import expand_functions
from mlir_sparse.pipeline.machine_vectors import arithmetic_options

RNG = np.random.default_rng(20)
# Of each function, between which numbers its values are finite, and where digits are lost most easily.
RANGES = {
    "exp": ((-745.0, 709.7), (-2.0, 2.0), (-710.0, -705.0)),
    "exp2": ((-1074.0, 1023.9), (-2.0, 2.0), (-1030.0, -1018.0)),
    "expm1": ((-45.0, 709.7), (-2.0, 2.0), (-0.4, 0.4), (30.0, 45.0)),
    "log": ((0.0, 1e300), (0.5, 2.0), (0.9, 1.1), (0.0, 1e-300)),
    "log2": ((0.0, 1e300), (0.5, 2.0), (0.9, 1.1), (0.0, 1e-300)),
    "log10": ((0.0, 1e300), (0.5, 2.0), (0.9, 1.1), (0.0, 1e-300)),
    "log1p": ((-0.999999, 2.0), (-0.5, 0.5), (0.0, 1e10), (0.0, 1e300)),
    "tanh": ((-25.0, 25.0), (-1.0, 1.0), (-0.2, 0.2)),
}
WIDE = np.finfo(np.longdouble).nmant > 60
ENDS = (
    *(0.0, np.inf, np.nan, 5e-324, 1e-310, 1e-45, 1e-40, 1e308, 1e38, 1.0, 2.0, 8.0, 10.0, 1000.0, 1e-5, 1e-20),
    *(88.73, 89.0, 103.0, 104.0, 709.79, 710.0, 745.0, 745.2, 746.0, 1023.0, 1024.0, 1074.0, 1075.0, 1076.0, 22.0),
    *(126.0, 127.0, 128.0, 149.0, 150.0, 151.0, 0.5, 0.75, 9.0, 19.1),
)


def computed(name: str, x: np.ndarray) -> np.ndarray:
    return np.asarray(ms.evaluate(f"y(i) = {name}(x(i))", x=x))


def numbers(name: str, dtype: type) -> np.ndarray:
    """Returns arguments all over the ranges of a function, evenly and by magnitude, for which its values are finite."""
    parts = []
    for low, high in RANGES[name]:
        largest = max(abs(low), abs(high))
        magnitudes = largest * 10.0 ** RNG.uniform(-12, 0, 20000)
        parts += [RNG.uniform(low, high, 20000), np.clip(magnitudes * RNG.choice([-1, 1], 20000), low, high)]
    with np.errstate(over="ignore"):
        x = np.concatenate(parts).astype(dtype)
        return x[np.isfinite(x) & np.isfinite(value(name, x).astype(dtype))]


def value(name: str, x: np.ndarray) -> np.ndarray:
    """Returns the function in more digits than the element type has."""
    with np.errstate(all="ignore"):
        return getattr(np, name)(x.astype(np.longdouble if x.dtype == np.float64 else np.float64))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", RANGES)
def test_less_than_one_unit_of_the_last_place(name: str, dtype: type) -> None:
    if dtype is np.float64 and not WIDE:
        pytest.skip("long double has no more digits than f64 here; decimals have, in the test beside")
    x = numbers(name, dtype)
    exact, found = value(name, x), computed(name, x)
    unit = np.spacing(np.abs(exact.astype(dtype))).astype(exact.dtype)
    error = np.abs(found.astype(exact.dtype) - exact) / unit
    assert len(x) > 30000
    assert error.max() < 1, (name, x[error.argmax()])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", RANGES)
def test_ends(name: str, dtype: type) -> None:
    """Infinities, zeros with their signs, NaN, overflow, and numbers below the normal ones, as NumPy has them."""
    with np.errstate(all="ignore"):
        x = np.array([*ENDS, *(-end for end in ENDS)], dtype)
        wanted = value(name, x).astype(dtype)
    found = computed(name, x)
    special = ~np.isfinite(wanted) | (wanted == 0)
    np.testing.assert_array_equal(found[special], wanted[special])
    np.testing.assert_array_equal(np.signbit(found[wanted == 0]), np.signbit(wanted[wanted == 0]))
    np.testing.assert_allclose(found[~special], wanted[~special], rtol=2 * np.finfo(dtype).eps, atol=5e-324)


def test_exact_values_are_exact() -> None:
    powers = np.arange(-1074, 1024)
    np.testing.assert_array_equal(computed("log2", np.exp2(powers.astype(float))), powers)
    np.testing.assert_array_equal(computed("exp2", powers.astype(float)), np.ldexp(1.0, powers))
    tens = np.arange(0, 23)
    np.testing.assert_array_equal(computed("log10", np.array([float(f"1e{ten}") for ten in tens])), tens)
    assert computed("exp", np.zeros(1))[0] == 1.0
    assert computed("tanh", np.array([30.0, -30.0])).tolist() == [1.0, -1.0]


@pytest.mark.parametrize("name", RANGES)
@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_vectors_of_any_shape_have_the_bits_of_numbers(name: str, kind: str) -> None:
    dtype = {"f32": np.float32, "f64": np.float64}[kind]
    function = ms.module(f"""
        func.func @run(%x: memref<48x{kind}>, %y: memref<48x{kind}>) {{
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %c24 = arith.constant 24 : index
          scf.for %i = %c0 to %c24 step %c1 {{
            %v = memref.load %x[%i] : memref<48x{kind}>
            %w = math.{name} %v : {kind}
            memref.store %w, %y[%i] : memref<48x{kind}>
          }}
          %a = vector.load %x[%c24] : memref<48x{kind}>, vector<24x{kind}>
          %b = vector.shape_cast %a : vector<24x{kind}> to vector<3x8x{kind}>
          %c = math.{name} %b : vector<3x8x{kind}>
          %d = vector.shape_cast %c : vector<3x8x{kind}> to vector<24x{kind}>
          vector.store %d, %y[%c24] : memref<48x{kind}>, vector<24x{kind}>
          return
        }}
    """).run
    for _ in range(5):
        half = RNG.choice(numbers(name, dtype), 24)
        x, y = np.concatenate([half, half]), np.zeros(48, dtype)
        function(x, y)
        assert y[:24].tobytes() == y[24:].tobytes()
        assert y[:24].tobytes() == computed(name, half).tobytes()


def computed_power(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.asarray(ms.evaluate("r(i) = pow(x(i), y(i))", x=x, y=y))


# Bases, exponents: far apart, exponents that are far from 0, bases near 1, and integers, with which negative bases go.
POWERS = (
    lambda n, top: (10.0 ** RNG.uniform(-top, top, n), RNG.uniform(-1, 1, n)),
    lambda n, top: (RNG.uniform(0.5, 2, n), RNG.uniform(-1000, 1000, n)),
    lambda n, top: (RNG.uniform(0.999, 1.001, n), RNG.uniform(-7e5, 7e5, n)),
    lambda n, top: (1 + RNG.uniform(-1e-9, 1e-9, n), RNG.uniform(-7e11, 7e11, n)),
    lambda n, top: (RNG.uniform(-50, 50, n), RNG.integers(-20, 20, n).astype(float)),
)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", range(len(POWERS)))
def test_powers_lose_less_than_one_unit_of_the_last_place(kind: int, dtype: type) -> None:
    if dtype is np.float64 and not WIDE:
        pytest.skip("long double has no more digits than f64 here; decimals have, in the test beside")
    x, y = (part.astype(dtype) for part in POWERS[kind](50000, np.log10(np.finfo(dtype).max) - 1))
    wide = np.longdouble if dtype is np.float64 else np.float64
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(wide), y.astype(wide))
        rounded = exact.astype(dtype)
    kept = np.isfinite(rounded) & (rounded != 0)
    error = np.abs(computed_power(x, y).astype(wide) - exact)[kept] / np.spacing(np.abs(rounded[kept])).astype(wide)
    assert kept.sum() > 10000
    assert error.max() < 1, (x[kept][error.argmax()], y[kept][error.argmax()])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ends_of_powers(dtype: type) -> None:
    """Every pair of zeros, infinities, NaN, odd and even integers, fractions, numbers about 1 and very large ones."""
    more = (1.5, 3.0, 7.0, 2.0**24 - 1, 2.0**24, 2.0**53 - 1, 2.0**53, 1e300, 0.9999999, 1.0000001)
    with np.errstate(all="ignore"):
        ends = np.array([*ENDS, *more, *(-end for end in (*ENDS, *more))], dtype)
        x, y = (part.ravel() for part in np.meshgrid(ends, ends))
        wide = np.longdouble if dtype is np.float64 else np.float64
        exact = np.power(x.astype(wide), y.astype(wide))
        wanted = exact.astype(dtype)
    found = computed_power(x, y)
    special = ~np.isfinite(wanted) | (exact == 0)
    np.testing.assert_array_equal(found[special], wanted[special])
    known = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(found[known]), np.signbit(wanted[known]))
    least = np.finfo(dtype).smallest_subnormal
    np.testing.assert_allclose(found[~special], wanted[~special], rtol=4 * np.finfo(dtype).eps, atol=least)


IN_DECIMALS: dict[str, Callable[..., Decimal]] = {
    "exp": Decimal.exp,
    "exp2": lambda x: (x * Decimal(2).ln()).exp(),
    "expm1": lambda x: x.exp() - 1,
    "log": Decimal.ln,
    "log2": lambda x: x.ln() / Decimal(2).ln(),
    "log10": lambda x: x.ln() / Decimal(10).ln(),
    "log1p": lambda x: (1 + x).ln(),
    "tanh": lambda x: 1 - 2 / ((2 * x).exp() + 1),
    "pow": lambda x, y: (y * x.ln()).exp(),
}


@pytest.mark.parametrize("name", IN_DECIMALS)
def test_less_than_one_unit_beside_decimals(name: str) -> None:
    """On machines too whose long double is f64."""
    if name == "pow":
        x, y = RNG.uniform(0.5, 2, 300), RNG.uniform(-1000, 1000, 300)
        arguments, found = (x, y), computed_power(x, y)
    else:
        x = RNG.choice(numbers(name, np.float64), 300)
        arguments, found = (x,), computed(name, x)
    with localcontext(prec=80):
        for *given, result in zip(*arguments, found, strict=True):
            exact = IN_DECIMALS[name](*(Decimal(float(number)) for number in given))
            unit = Decimal(float(np.spacing(abs(np.float64(float(exact))))))
            assert abs(Decimal(float(result)) - exact) < unit, (name, given)


def expanded(text: str, fma: str = "true") -> tuple[bool, str]:
    with mlir_context():
        module = ir.Module.parse(text)
        changed = expand_functions(Seen(module), {"fma": fma, "bits": "512"})
        module.operation.verify()
        return changed, str(module)


@pytest.mark.parametrize("kind", ["f16", "bf16", "f80", "f128", "vector<[4]xf64>"])
def test_other_types_stay_calls(kind: str) -> None:
    text = f"func.func @f(%x: {kind}) -> {kind} {{\n%y = math.exp %x : {kind}\nreturn %y : {kind}\n}}"
    changed, after = expanded(text)
    assert not changed
    assert "math.exp" in after


def test_machines_without_products_rounded_once_call_the_library() -> None:
    text = "func.func @f(%x: f64) -> f64 {\n%y = math.exp %x : f64\nreturn %y : f64\n}"
    assert expanded(text, "false") == (False, expanded(text, "false")[1])
    changed, after = expanded(text)
    assert changed
    assert "math.exp" not in after
    assert "math.fma" in after
    assert "prefer-vector-width" in after


LOOP = """func.func @f(%x: memref<?xf64>, %s: f64, %n: index) -> f64 {{
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  {body}
  return %r : f64
}}"""
ALONE = "%v = memref.load %x[%i] : memref<?xf64>\n%w = math.powf %v, %s : f64"


SUM = """%r = scf.for %i = %0 to %n step %1 iter_args(%t = %s) -> f64 {
  %u = arith.addf %t, %w : f64
  scf.yield %u : f64
}""".replace("%u =", f"{ALONE}\n  %u =")
MAP = (
    f"scf.for %i = %0 to %n step %1 {{\n{ALONE}\nmemref.store %w, %x[%i] : memref<?xf64>\n}}\n%r = arith.negf %s : f64"
)


@pytest.mark.parametrize(("body", "in_lanes"), [(MAP, True), (SUM, False), ("%r = math.powf %s, %s : f64", False)])
def test_powers_of_numbers_that_no_vector_holds_stay_calls(body: str, in_lanes: bool) -> None:
    """One by one they take twice the time of the library's."""
    changed, after = expanded(LOOP.format(body=body))
    assert changed == in_lanes
    assert ("math.powf" in after) != in_lanes


def test_loops_of_functions_ask_for_no_entries_ahead() -> None:
    """They compute longer than they wait, and LLVM makes no vectors of loops that ask."""
    text = ms.compile("E(i,j) = tanh(A(i,j))", A="f64[?,?] CSR", out="CSR").ir("llvm")
    assert "prefetch" in ms.compile("E(i,j) = 2 * A(i,j)", A="f64[?,?] CSR", out="CSR").ir("llvm")
    assert "llvm.intr.prefetch" not in text


def test_the_pipeline_asks_the_machine() -> None:
    (step,) = (step for step in pipeline.cpu().passes if step.name == "expand-functions")
    assert step.options == arithmetic_options()


# Each row is one vector with a mask, or several; functions of entries, of elements that they name, of both.
STATEMENTS = (
    "y(i) = tanh(A(i,j))",
    "y(i) = A(i,j) * exp(x(j))",
    "y(i) = A(i,j) * pow(x(j) + 1, 1.5)",
    "y(i) = A(i,j) * log1p(A(i,j) * x(j))",
    "s = expm1(A(i,j))",
    "y(j) = tanh(A(i,j)) * x(j)",
    "Y(i,k) = A(i,j) * tanh(B(j,k))",
    "S(i,j) = A(i,j) * exp(B(i,k) * B(j,k))",
)


@pytest.mark.parametrize("storage", ["CSR", "CSC", "COO", "DCSR", "ELL"])
@pytest.mark.parametrize("statement", STATEMENTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_functions_in_loops_over_entries(statement: str, storage: str, dtype: type) -> None:
    n = 37
    dense = np.where(RNG.uniform(size=(n, n)) < 0.3, RNG.uniform(-2, 2, (n, n)), 0).astype(dtype)
    dense[3], dense[:, 5], dense[7, 7], dense[8, 8] = 0, 0, np.inf, np.nan
    x, wide = RNG.uniform(-0.4, 0.4, n).astype(dtype), RNG.uniform(-1, 1, (n, 5)).astype(dtype)
    operands = {"A": ms.tensor(dense, storage), "x": x, "B": wide}
    operands = {name: operand for name, operand in operands.items() if f"{name}(" in statement}
    with np.errstate(all="ignore"):
        terms = {
            "y(i) = tanh(A(i,j))": lambda: np.tanh(dense).sum(1),
            "y(i) = A(i,j) * exp(x(j))": lambda: entries_of(dense, dense * np.exp(x)).sum(1),
            "y(i) = A(i,j) * pow(x(j) + 1, 1.5)": lambda: entries_of(dense, dense * (x + 1) ** 1.5).sum(1),
            "y(i) = A(i,j) * log1p(A(i,j) * x(j))": lambda: entries_of(dense, dense * np.log1p(dense * x)).sum(1),
            "s = expm1(A(i,j))": lambda: np.expm1(dense).sum(),
            "y(j) = tanh(A(i,j)) * x(j)": lambda: np.tanh(dense).sum(0) * x,
            "Y(i,k) = A(i,j) * tanh(B(j,k))": lambda: (dense[:, :, None] * np.tanh(wide)).sum(1),
            "S(i,j) = A(i,j) * exp(B(i,k) * B(j,k))": lambda: entries_of(
                dense, dense * np.exp(wide[:, None] * wide).sum(2)
            ),
        }
        wanted = terms[statement]()
        for optimize in ("off", "auto"):
            result = ms.evaluate(statement, **operands, optimize=optimize)
            found = result.to_numpy() if isinstance(result, ms.SparseTensor) else np.asarray(result)
            np.testing.assert_allclose(found, wanted, rtol=2000 * np.finfo(dtype).eps, atol=200 * np.finfo(dtype).eps)


def entries_of(dense: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Returns values where a matrix has entries, zeros elsewhere."""
    return np.where(dense != 0, values, 0).astype(dense.dtype)
