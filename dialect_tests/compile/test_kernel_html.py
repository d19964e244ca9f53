"""Kernels, ways to compute, and tunings in notebooks: HTML that holds what they say, whatever names stand in it."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pytest

import mlir_sparse as ms


class _Balanced(HTMLParser):
    """Reads HTML, and checks that each tag is closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += f"{data}\n"


def _text(shown: object) -> str:
    parser = _Balanced()
    parser.feed(shown._repr_html_())  # type: ignore[attr-defined]
    assert parser.open == []
    return parser.text


def test_kernels() -> None:
    A, x = ms.tensor(np.eye(3)), np.ones(3)
    kernel = ms.compile("y(i) = A(i,j) * x(j) if j < i", A=A, x=x)
    text = _text(kernel)
    assert text.startswith("Kernel\n")
    for held in ("y(i) = select(A(i,j) * x(j), j < i)", "f64[?,?] CSR", "explain()", "plan", "indices as values"):
        assert held in text
    assert "j.index\n" not in text.partition("plan")[0]  # calls make it
    ranged = _text(ms.compile("c(i + 1) = A(i,j) * x(j)", A=A, x=x))
    assert "ComprehensionKernel" in ranged
    assert "c(i + 1) = A(i,j) * x(j)" in ranged
    waits = ms.compile("def f(float(N) x, int w) -> (y) { y(i) = x(i + w) }", x="f32[?]", w="i32[]")
    assert "expected numbers for w" in _text(waits)  # it says what it waits for
    G = ms.define("G(i,j) = 2 * A(i,j)", A=A)
    assert "G(i,j) * x(j)" in _text(ms.compile("y(i) = G(i,j) * x(j)", G=G, x=x))
    on_device = ms.compile("y(i) = A(i,j) * x(j)", A="f32[?,?] CSR", x="f32[?]", target="cuda:sm_90")
    assert "runs on: cuda:sm_90" in _text(on_device)


def test_alternatives_are_a_tuple_that_shows_itself() -> None:
    A, x = ms.tensor(np.ones((30, 30))), np.ones(30)
    ways = ms.compile("y(i) = A(i,j) * A(j,k) * x(k)", A=A, x=x).alternatives()
    assert isinstance(ways, tuple)
    assert ways == tuple(ways)
    for shown in (ways, ways[0]):
        assert "y.part(j) = sum(k : A(j,k) * x(k))" in _text(shown)
        assert " ms" in _text(shown)


def test_tunings() -> None:
    A, x = ms.tensor(np.eye(30)), np.ones(30)
    found = ms.tune("y(i) = A(i,j) * x(j)", A, x, budget=0.05, formats={"A": ["COO"]}, fresh=True)
    text = _text(found)
    for held in ("Tuning", "fastest", "measurements", "candidate", "convert ms"):
        assert held in text, held
    assert "candidate" in _text(found.table)
    assert str(found.table).splitlines()[0].split()[:2] == ["candidate", "ms"]


@pytest.mark.parametrize("name", ["α", "lt", "index"])
def test_names_are_text(name: str) -> None:
    statement = f"y(i) = {name}(i) < 2 & {name}(i) > 1"
    assert statement in _text(ms.compile(statement, tensors={name: "f64[?]"}))
