"""Whatever users call tensors and index variables: no name of theirs meets one that the compiler makes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.crossing import crossed
from mlir_sparse.notation import Access, Assignment, AssignOp, IndexVar
from mlir_sparse.plan import plan
from mlir_sparse.text.identifiers import generated_name
from mlir_sparse.text.lexer import is_name

Array = np.ndarray[Any, Any]

RANDOM = np.random.default_rng(11)


def some(*shape: int) -> Array:
    return np.where(RANDOM.random(shape) < 0.4, RANDOM.integers(1, 9, shape), 0).astype(float)


A, B, T, X, Y, x = some(6, 6), some(6, 6), some(6, 6, 6), some(6, 6), some(6, 6), np.arange(1.0, 7.0)
PLACES = np.array([1, 0, 3, 2, 5, 5])
OPERANDS = {
    "A": ("CSR", A),
    "B": ("CSC", B),
    "R": ("RowBlocked(4)", A),
    "D": ("DIA", A),
    "H": ("HashedRows", A),
    "T": ("CSF", T),
    "X": (None, X),
    "Y": (None, Y),
    "x": (None, x),
    "I": (None, PLACES),
}
# What each makes: values at entries, conversions, fibres, views over levels, extents, picked elements, temporaries.
KERNELS: dict[str, tuple[str | None, Array]] = {
    "S(i,j) = A(i,j) * X(i,k) * Y(k,j)": (None, A * (X @ Y)),
    "S(i,j) = 2 * A(i,j)": (None, 2 * A),
    "S(i,j) = A(i,j) + A(j,i) + B(i,j)": (None, A + A.T + B),
    "S(i,j,l) = T(i,j,k) * X(k,l)": ("CSF", T @ X),
    "S(i,j) = T(i,j,k) * x(k)": ("CSR", T @ x),
    "y(i) = R(i,j) * x(j)": (None, A @ x),
    "y(i) = D(i,j) * x(j)": (None, A @ x),
    "y(i) = H(i,j) * x(j)": (None, A @ x),
    "S(i,j) = A(I(i),j)": (None, A[PLACES]),
    "y(i) = argmax(j : A(i,j) * x(j))": (None, np.argmax(A * x, 1)),
    "S(i,j) = A(i,k) * B(k,l) * A(l,j)": ("CSR", A @ B @ A),
    "y(i) = x(i) - A(i,j) * x(j)": (None, x - A @ x),
}
# Names that stages make or once made, the dialect's and Python's words, letters of other scripts, and a long one.
WORDS = """
    p t l0 l1 d0 s0 e0 a0 out entry fibre result A_converted A_levels A_1 t_1 y_1 S_values k_extent
    mod floordiv ceildiv dense compressed singleton symbol affine_map kernel self text None lambda class
    _ __ Größe 名
"""
NAMES = (*WORDS.split(), "n" * 120)


def renamed(text: str, names: Mapping[str, str]) -> str:
    return re.sub(r"[A-Za-z]\w*", lambda found: names.get(found.group(), found.group()), text)


def check(text: str, names: Mapping[str, str], folder: Path | None = None) -> None:
    out, wanted = KERNELS[text]
    operands = {}
    for name, (storage, data) in OPERANDS.items():
        if re.search(rf"\b{name}\(", text.partition("=")[2]):
            operands[names.get(name, name)] = data if storage is None else ms.tensor(data, storage)
    kernel = ms.compile(renamed(text, names), out=out, tensors=operands)
    results = [kernel(*(operands[name] for name in kernel.parameters))]
    if folder is not None:
        kernel.save(folder / "kernel.msk")
        loaded = ms.load(folder / "kernel.msk")
        results.append(loaded(*(operands[name] for name in loaded.parameters)))
    for result in results:
        found = result.to_numpy() if isinstance(result, ms.SparseTensor) else result
        np.testing.assert_array_equal(found, wanted, renamed(text, names))


@pytest.mark.parametrize("text", KERNELS)
def test_any_names(text: str, tmp_path: Path) -> None:
    """Each name stands for each thing in some kernel: the first name of the list moves on from text to text."""
    words = [word for word in dict.fromkeys(re.findall(r"[A-Za-z]\w*", text)) if word != "argmax"]
    start = list(KERNELS).index(text) * 5
    for turn in range(3):
        places = range(start + 13 * turn, start + 13 * turn + len(words))
        check(text, {word: NAMES[at % len(NAMES)] for word, at in zip(words, places, strict=True)}, tmp_path)


@crossed(
    text=[text for text in KERNELS if "X(" in text or "R(" in text or "T(" in text],
    variable=["i", "j", "k", "l"],
    name=["p", "t", "l0", "A_values"],
)
def test_an_index_variable(text: str, variable: str, name: str) -> None:
    if f"{variable}" in re.findall(r"\w+", text):
        check(text, {variable: name})


def test_tensors_called_as_arguments_of_python_functions() -> None:
    kernel = ms.compile("y(i) = self(i,j) * text(j)", self=ms.tensor(A), text=x)
    np.testing.assert_array_equal(kernel(self=ms.tensor(A), text=x), A @ x)
    np.testing.assert_array_equal(ms.evaluate("y(i) = self(i,j) * text(j)", self=ms.tensor(A), text=x), A @ x)


def test_no_text_has_a_name_that_is_made() -> None:
    made = [generated_name("A", "converted"), generated_name("t"), generated_name("A", "converted", {"A.converted"})]
    assert len(set(made)) == 3
    assert not any(map(is_name, made))


@pytest.mark.parametrize("text", KERNELS)
def test_what_the_plan_names_is_no_name_in_notation(text: str) -> None:
    types = {name: "f64[?]" if name in "xI" else "f64[?,?]" for name in OPERANDS}
    types |= {"T": "f64[?,?,?] CSF"}
    types = {n: f"{kind} {OPERANDS[n][0]}" if OPERANDS[n][0] and n != "T" else kind for n, kind in types.items()}
    types |= {"I": "i64[?]"}
    read = {name: kind for name, kind in types.items() if re.search(rf"\b{name}\(", text.partition("=")[2])}
    kernel = ms.compile(text, out=KERNELS[text][0], **read)
    program = plan(kernel.spec)
    users = {*kernel.spec.assignment.inputs, kernel.spec.assignment.target.tensor}
    assert not [name for name, _ in program.types if name not in users and is_name(name)]


@pytest.mark.parametrize("name", ["A.converted", "", "2x", "a b", "x²"])
def test_names_that_are_not_of_the_grammar_are_refused(name: str) -> None:
    i = IndexVar("i")
    for target, read in ((Access("y", (i,)), Access(name, (i,))), (Access(name, (i,)), Access("x", (i,)))):
        with pytest.raises(ms.NotationError, match="expected a name of letters"):
            ms.parse(Assignment(target, AssignOp.ASSIGN, read))
    odd = IndexVar(name)
    with pytest.raises(ms.NotationError, match="expected a name of letters"):
        ms.parse(Assignment(Access("y", (odd,)), AssignOp.ASSIGN, Access("x", (odd,))))
