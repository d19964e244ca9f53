"""Names mean what they mean to Python, however a keyboard or a system spells them."""

from __future__ import annotations

import keyword
import unicodedata

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse.notation import AssignOp

A, X = np.array([[1.0, 2.0], [0.0, 3.0]]), np.array([1.0, 10.0])
MICRO, MU, LIGATURE = "\N{MICRO SIGN}", "\N{GREEK SMALL LETTER MU}", "\N{LATIN SMALL LIGATURE FI}"
COMPOSED = "gr\N{LATIN SMALL LETTER O WITH DIAERESIS}e\N{LATIN SMALL LETTER E WITH ACUTE}"
APART = unicodedata.normalize("NFD", COMPOSED)
KANA = "\N{HIRAGANA LETTER GA}"
PAIRS = [(MICRO, MU), (LIGATURE, "fi"), (APART, COMPOSED), (unicodedata.normalize("NFD", KANA), KANA)]


@pytest.mark.parametrize(("written", "spelled"), PAIRS, ids=["micro", "ligature", "accents", "kana"])
def test_every_spelling_is_the_same_name(written: str, spelled: str) -> None:
    assert eval(f"dict({written}=1)") == {spelled: 1}  # as Python takes a keyword
    want = A @ X
    for in_text, given in [(written, spelled), (spelled, written), (written, written)]:
        text = f"y(i) = A(i,j) * {in_text}(j)"
        np.testing.assert_array_equal(ms.evaluate(text, A=A, tensors={given: X}), want)
        kernel = ms.compile(text, tensors={"A": "f64[?,?] CSR", given: "f64[?]"})
        np.testing.assert_array_equal(kernel(**{"A": ms.tensor(A, "CSR"), given: X}), want)
        several = f"def f(double(N,M) A, double(M) {in_text}) -> (y) {{ y(i) +=! A(i,j) * {in_text}(j) }}"
        np.testing.assert_array_equal(ms.compile(several, A="f64[?,?]")(**{"A": A, given: X}), want)
    mixed = ms.evaluate(f"y(i) = A(i,{written}) * x({spelled})", A=A, x=X)
    np.testing.assert_array_equal(mixed, want)
    ms.compile(f"y(i) = A(i,{spelled}) * x({spelled})", A="f64[?,?]", x="f64[?]", schedule=f"order=i,{written}")


def test_builders_and_encodings_spell_them_so() -> None:
    y, tensor = ms.tensors(f"y {APART}")
    (i,) = ms.indices(MICRO)
    y[i] = 2 * tensor[i]
    assert y.assignment == ms.parse(f"y({MU}) = 2 * {COMPOSED}({MU})")
    assert ms.encoding(f"({MICRO}, j) -> ({MU} : dense, j : compressed)") == ms.encoding("CSR")


def test_two_spellings_of_one_name_are_one_operand() -> None:
    with pytest.raises(ms.OperandError, match=f"expected {MU} once, but got it twice by name"):
        ms.evaluate(f"y(i) = 2 * {MU}(i)", tensors={MICRO: X, MU: X})


@pytest.mark.parametrize("name", [*keyword.kwlist, *keyword.softkwlist, "max", "sum", "where", "exists", "stored"])
def test_words_of_grammars_are_names_of_results_too(name: str) -> None:
    """Without subscripts nothing but the operator tells `def max= x(i)` from the head of a comprehension."""
    forms = ("{0} {1} x(i)", "{0}(i) {1} x(i,j)", "{0}{1} {0}1(i)")
    for op, text in ((op, form.format(name, op.value)) for op in AssignOp for form in forms):
        if op.value[0].isalpha() and text.startswith(name + op.value):
            continue
        parsed = ms.parse(text)
        assert isinstance(parsed, ms.Assignment)
        assert (parsed.target.tensor, parsed.op) == (name, op)


@pytest.mark.parametrize(
    "name", ["index", "computed", "result", "levels", "p", "part", "places", "converted", "selected"]
)
def test_words_that_the_plan_names_its_own_by_are_names_of_places(name: str) -> None:
    rows, places = np.arange(9.0).reshape(3, 3), np.array([2, 0, 1])
    given = {"S": ms.tensor(rows, "CSR"), name: places, "x": X[[0, 1, 1]]}
    for text, want in {
        f"y(i,j) = S({name}(i),j) + S({name}(i),j)": 2 * rows[places],
        f"y(i) = exp(0.1 * S({name}(i),j) * x(j)) + exp(0.1 * S({name}(i),j) * x(j))":
            2 * np.exp(0.1 * rows[places] * given["x"]).sum(axis=1),
        f"y(i) = x({name}(i)) * x({name}(i))": given["x"][places] ** 2,
    }.items():  # fmt: skip
        operands = {one: given[one] for one in ms.parse(text).inputs}
        np.testing.assert_allclose(ms.evaluate(text, tensors=operands, out="dense"), want, err_msg=text)
