"""What the last line of a notebook's cell shows: of every public value, as text and as HTML that does no harm."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse.text.shown_text import ShownText

A = ms.tensor(np.eye(4))
x = np.ones(4)
CHAIN = "y(i) = A(i,j) * B(j,k) * x(k)"


def chain() -> Any:
    return ms.compile(CHAIN, A=A, B=A, x=x)


def defined() -> Any:
    return ms.define("D(i,j) = U(i,k) * V(j,k)", U=np.ones((4, 2)), V=np.ones((4, 2)))


def source(tmp_path: Path) -> Any:
    ms.write(tmp_path / "a<b>.mtx", A)
    return ms.source(tmp_path / "a<b>.mtx")


VALUES: dict[str, Callable[[Path], tuple[Any, str]]] = {
    "tensor": lambda _: (A, "4 of 16 elements"),
    "with a fill value": lambda _: (ms.tensor(np.eye(3), fill_value=1), "fill value"),
    "no element": lambda _: (ms.zeros((0, 5)), "0 x 5"),
    "truth": lambda _: (ms.tensor(np.eye(3, dtype=bool)), "bool"),
    "complex": lambda _: (ms.tensor(np.eye(3, dtype=np.complex64)), "c64"),
    "large": lambda _: (ms.tensor((([0], [0]), [1.0]), "COO", shape=(2**40, 2**40)), "1 of"),
    "kernel": lambda _: (chain(), "f64[?,?]"),
    "explain": lambda _: (chain().explain(), "runs on: cpu"),
    "explain of a definition": lambda _: (ms.compile("y(i) = D(i,j) * x(j)", D=defined(), x=x).explain(), "composed"),
    "explain of a lazy expression": lambda _: ((ms.lazy(A) @ x).explain(), "runs on: cpu"),
    "alternatives": lambda _: (chain().alternatives(), "associativity"),
    "alternative": lambda _: (chain().alternatives()[-1], "y.part"),
    "defined tensor": lambda _: (defined(), "U(i,k) * V(j,k)"),
    "lazy expression": lambda _: (ms.lazy(A) @ x, "1 step"),
    "source": lambda path: (source(path), "4 x 4"),
    "statement": lambda _: (ms.parse("y(i) = A(i,j) * x(j)"), "y(i) = A(i,j) * x(j)"),
    "condition": lambda _: (ms.parse("y(i) = sum(j : A(i,j) if j < i)"), "j &lt; i"),
    "adjoint": lambda _: (ms.adjoint("y(i) = A(i,j) * x(j)", "A"), "dA(i,j)"),
    "type": lambda _: (A.type, "f64[?,?]"),
    "encoding": lambda _: (A.encoding, "compressed"),
    "semiring": lambda _: (ms.semiring("min_plus"), "min_plus"),
    "schedule": lambda _: (ms.Schedule(), ""),
    "einsum path": lambda _: (ms.einsum_path("ij,jk,k->i", A, A, x), "loop nest"),
    "module": lambda _: (ms.module("func.func @f(%a: f64) -> f64 { return %a : f64 }"), "function f"),
    "remark": lambda _: (chain().remarks()[0], "applied"),
    "factors": lambda _: (ms.linalg.ILU0(ms.tensor(np.eye(4))), "ILU0"),
    "spy": lambda _: (A.spy(), "svg"),
    "levels": lambda _: (A.storage.draw(), "svg"),
}


@pytest.mark.parametrize("name", VALUES)
def test_values_show_themselves(name: str, tmp_path: Path) -> None:
    value, within = VALUES[name](tmp_path)
    text, html = repr(value), value._repr_html_()
    assert text
    assert within in html
    assert "<script" not in html
    assert not re.search(r"\bon\w+=|<b>\.mtx", html)
    assert "inherit" in html or "currentColor" in html or "prefers-color-scheme" in html  # on dark pages too
    assert html.count("<pre") == html.count("</pre>")
    assert html.count("<div") == html.count("</div>")


def test_alternatives_are_short_as_text() -> None:
    ways = chain().alternatives()
    assert all(len(repr(one)) < 200 for one in ways)
    assert [line.partition(":")[0] for line in str(ways).splitlines() if line[0].isdigit()] == ["0", "1", "2"]


def test_explanations_are_text() -> None:
    told = chain().explain()
    assert isinstance(told, str)
    assert pickle.loads(pickle.dumps(told)) == told
    assert f"{told}" == told
    assert told.splitlines() == str(told).splitlines()


def test_text_is_escaped() -> None:
    assert "<i>" not in ShownText("<i>")._repr_html_()
