"""The programs of the paper on tensor comprehensions (Vasilache et al. 2018) against NumPy, dense and sparse."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms

Array = np.ndarray[Any, Any]
Arrays = dict[str, Array]


@dataclass(frozen=True)
class Program:
    """A program, operands for it, and what NumPy makes of them.

    Args:
        text: the program.
        shapes: of each operand.
        expected: its outputs.
        integers: operands that hold positions, each below a bound, or one number.
        sparse: operands and the storage to pass them in, beside all dense.
    """

    text: str
    shapes: Mapping[str, tuple[int, ...]]
    expected: Callable[[Any], Any]
    integers: Mapping[str, int] = field(default_factory=dict)
    sparse: tuple[Mapping[str, str], ...] = ()


def _windows(image: Array, height: int, width: int, steps: tuple[int, int] = (1, 1)) -> Array:
    found = np.lib.stride_tricks.sliding_window_view(image, (height, width), axis=(-2, -1))
    return found[..., :: steps[0], :: steps[1], :, :]


PROGRAMS = {
    "mv": Program(
        """
        def mv(float(M,K) A, float(K) x) -> (C) {
          C(i) +=! A(i,k) * x(k)
        }""",
        {"A": (5, 7), "x": (7,)},
        lambda a: a["A"] @ a["x"],
        sparse=({"A": "CSR"}, {"A": "COO"}, {"A": "BSR(2, 2)"}, {"x": "SparseVector"}),
    ),
    "mv in two statements": Program(
        """
        def mv(float(M,K) A, float(K) x) -> (C) {
          C(i)  = 0
          C(i) += A(i,k) * x(k)
        }""",
        {"A": (5, 7), "x": (7,)},
        lambda a: a["A"] @ a["x"],
        sparse=({"A": "CSC"},),
    ),
    "sgemm": Program(
        """
        def sgemm(float a, float b, float(N,M) A, float(M,K) B) -> (C) {
          C(i,j)  = b * C(i,j)             # initialization
          C(i,j) += a * A(i,k) * B(k,j)    # accumulation
        }""",
        {"a": (), "b": (), "A": (4, 3), "B": (3, 5), "C": (4, 5)},
        lambda a: a["b"] * a["C"] + a["a"] * (a["A"] @ a["B"]),
        sparse=({"A": "CSR"}, {"A": "CSR", "B": "CSR"}, {"A": "CSR", "B": "CSR", "C": "CSR"}),
    ),
    "fcrelu": Program(
        """
        def fcrelu(float(B,I) in, float(O,I) weight, float(O) bias) -> (out) {
          out(i,j)  = bias(j) where i in 0:B
          out(i,j) += in(i,k) * weight(j,k)
          out(i,j)  = fmaxf(out(i,j), 0)
        }""",
        {"in": (4, 6), "weight": (3, 6), "bias": (3,)},
        lambda a: np.maximum(a["in"] @ a["weight"].T + a["bias"], 0),
        sparse=({"weight": "CSR"}, {"in": "CSR", "weight": "CSC"}),
    ),
    "conv2d": Program(
        """
        def conv2d(float(B,IP,H,W) in, float(OP,IP,KH,KW) weight) -> (out) {
          out(b,op,h,w) +=! in(b,ip, h + kh, w + kw) * weight(op,ip,kh,kw)
        }""",
        {"in": (2, 3, 6, 7), "weight": (4, 3, 3, 2)},
        lambda a: np.einsum("bihwkl,oikl->bohw", _windows(a["in"], 3, 2), a["weight"]),
        sparse=({"weight": "CSF"},),
    ),
    "sconv2d": Program(
        """
        def sconv2d(int sh, int sw, float(N,C,H,W) I, float(F,C,KH,KW) W1, float(F) B) -> (O) {
          O(n,f,h,w)  = B(f)
          O(n,f,h,w) += I(n,c, sh * h + kh, sw * w + kw) * W1(f,c,kh,kw)
        }""",
        {"sh": (), "sw": (), "I": (2, 3, 9, 8), "W1": (4, 3, 3, 2), "B": (4,)},
        lambda a: np.einsum("bihwkl,oikl->bohw", _windows(a["I"], 3, 2, (2, 3)), a["W1"]) + a["B"][None, :, None, None],
        integers={"sh": 2, "sw": 3},
    ),
    "maxpool2x2": Program(
        """
        def maxpool2x2(float(B,C,H,W) in) -> (out) {
          out(b,c,i,j) max=! in(b,c, 2*i + kw, 2*j + kh) where kw in 0:2, kh in 0:2
        }""",
        {"in": (2, 3, 7, 6)},
        lambda a: _windows(a["in"], 2, 2, (2, 2)).max(axis=(-2, -1)),
        sparse=({"in": "CSF"},),
    ),
    "tbmm": Program(
        """
        def tbmm(float(B,N,M) X, float(B,K,M) Y) -> (Z) {
          Z(b,n,k) +=! X(b,n,m) * Y(b,k,m)
        }""",
        {"X": (3, 4, 5), "Y": (3, 6, 5)},
        lambda a: a["X"] @ a["Y"].transpose(0, 2, 1),
        sparse=({"X": "CSF"}, {"X": "CSF", "Y": "CSF"}),
    ),
    "tmm": Program(
        """
        def tmm(float(M,K) A, float(N,K) B) -> (C) {
          C(m,n) +=! A(m,k) * B(n,k)
        }""",
        {"A": (3, 4), "B": (5, 4)},
        lambda a: a["A"] @ a["B"].T,
        sparse=({"A": "CSR"}, {"A": "CSR", "B": "CSR"}),
    ),
    "gconv": Program(
        """
        def gconv(float(N,G,C,H,W) I, float(G,F,C,KH,KW) W1, float(G,F) M) -> (O) {
          O(n,g,o,h,w) +=! I(n,g,i, h + kh, w + kw) * W1(g,o,i,kh,kw)
          O(n,g,o,h,w)  = O(n,g,o,h,w) + M(g,o)
        }""",
        {"I": (2, 2, 3, 5, 6), "W1": (2, 4, 3, 3, 2), "M": (2, 4)},
        lambda a: np.einsum("ngihwkl,goikl->ngohw", _windows(a["I"], 3, 2), a["W1"]) + a["M"][None, :, :, None, None],
    ),
    "MLP3": Program(
        """
        def MLP3(float(B,N) I, float(O,N) W2, float(O) B2, float(P,O) W3, float(P) B3, float(Q,P) W4, float(Q) B4)
            -> (O2, O3, O4) {
          O2(b,o) +=! I(b,n) * W2(o,n)
          O2(b,o)  = O2(b,o) + B2(o)
          O2(b,o)  = fmax(O2(b,o), 0)
          O3(b,p) +=! O2(b,o) * W3(p,o)
          O3(b,p)  = O3(b,p) + B3(p)
          O3(b,p)  = fmax(O3(b,p), 0)
          O4(b,q) +=! O3(b,p) * W4(q,p)
          O4(b,q)  = O4(b,q) + B4(q)
          O4(b,q)  = fmax(O4(b,q), 0)
        }""",
        {"I": (4, 5), "W2": (6, 5), "B2": (6,), "W3": (3, 6), "B3": (3,), "W4": (2, 3), "B4": (2,)},
        lambda a: _perceptron(a),
        sparse=({"W2": "CSR", "W3": "CSR", "W4": "CSC"}, {"I": "CSR"}),
    ),
    "gather": Program(
        """
        def gather(float(N) X, int(A,B) I) -> (Z) {
          Z(i,j) = X(I(i,j))
        }""",
        {"X": (9,), "I": (3, 4)},
        lambda a: a["X"][a["I"]],
        integers={"I": 9},
        sparse=({"X": "SparseVector"},),
    ),
    "2LUT": Program(
        """
        def 2LUT(float(E1,D) LUT1, int(B,L1) I1, float(E2,D) LUT2, int(B,L2) I2) -> (O1, O2) {
          O1(i,j) +=! LUT1(I1(i,k), j)
          O2(i,j) +=! LUT2(I2(i,k), j)
        }""",
        {"LUT1": (7, 3), "I1": (4, 2), "LUT2": (6, 3), "I2": (4, 5)},
        lambda a: (a["LUT1"][a["I1"]].sum(axis=1), a["LUT2"][a["I2"]].sum(axis=1)),
        integers={"I1": 7, "I2": 6},
        sparse=({"LUT1": "CSR"},),
    ),
    "softmax": Program(
        """
        def softmax(float(N,D) I) -> (O) {
          greatest(n) max=! I(n,d)
          O(n,d)         = expf(I(n,d) - greatest(n))
          total(n)    +=! O(n,d)
          O(n,d)         = O(n,d) / total(n)
        }""",
        {"I": (4, 6)},
        lambda a: _softmax(a["I"]),
        sparse=({"I": "CSR"},),
    ),
    "layernorm": Program(
        """
        def layernorm(float(T,B,C) I) -> (O, mean, centered, var) {
          mean(t,b) +=! I(t,b,c)
          mean(t,b)  = mean(t,b) / C
          centered(t,b,c) = I(t,b,c) - mean(t,b)
          var(t,b) +=! centered(t,b,c) * centered(t,b,c)
          var(t,b)  = (var(t,b) + 0.000001) / C
          O(t,b,c)  = centered(t,b,c) / sqrt(var(t,b))
        }""",
        {"I": (3, 2, 5)},
        lambda a: _layernorm(a["I"]),
    ),
}


def _perceptron(arrays: Arrays) -> tuple[Array, ...]:
    found = [arrays["I"]]
    for layer in (2, 3, 4):
        found.append(np.maximum(found[-1] @ arrays[f"W{layer}"].T + arrays[f"B{layer}"], 0))
    return tuple(found[1:])


def _softmax(image: Array) -> Array:
    powers = np.exp(image - image.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def _layernorm(image: Array) -> tuple[Array, ...]:
    mean = image.mean(axis=2)
    centered = image - mean[..., None]
    variance = ((centered**2).sum(axis=2) + 1e-6) / image.shape[2]
    return centered / np.sqrt(variance)[..., None], mean, centered, variance


def _operands(program: Program) -> Arrays:
    random = np.random.default_rng(1)
    found: Arrays = {}
    for name, shape in program.shapes.items():
        if name in program.integers:
            bound = program.integers[name]
            found[name] = random.integers(bound, size=shape, dtype=np.int32) if shape else np.int32(bound)[()]
            continue
        values = random.standard_normal(shape).astype(np.float32)
        found[name] = np.where(random.random(shape) < 0.4, np.float32(0), values) if shape else np.asarray(values)
    return found


CASES = [
    pytest.param(name, storage, id=f"{name}-{','.join(f'{n}:{s}' for n, s in storage.items()) or 'dense'}")
    for name, program in PROGRAMS.items()
    for storage in ({}, *program.sparse)
]


@pytest.mark.parametrize(("name", "storage"), CASES)
def test_a_program_of_the_paper_computes_what_numpy_does(name: str, storage: Mapping[str, str]) -> None:
    program = PROGRAMS[name]
    arrays = _operands(program)
    operands = {n: ms.tensor(a, storage[n]) if n in storage else a for n, a in arrays.items()}
    results = ms.evaluate(program.text, tensors=operands)
    expected = program.expected({n: a.astype(np.float64) if a.dtype.kind == "f" else a for n, a in arrays.items()})
    for found, wanted in zip(*(r if isinstance(r, tuple) else (r,) for r in (results, expected)), strict=True):
        dense = found.to_numpy() if isinstance(found, ms.SparseTensor) else found
        assert dense.dtype == np.float32
        assert dense.shape == wanted.shape
        np.testing.assert_allclose(dense, wanted, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_of_the_paper_reads_back_as_it_prints(name: str) -> None:
    program = ms.parse(PROGRAMS[name].text)
    assert ms.parse(str(program)) == program
