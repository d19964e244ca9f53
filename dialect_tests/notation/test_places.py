"""Where the parts of a statement stand in its text."""

from __future__ import annotations

from itertools import pairwise

import pytest

import mlir_sparse as ms
from mlir_sparse.notation import Access, walk
from mlir_sparse.notation.notation_places import NotationPlaces, PartKind

# What is written: its parts in the order of the text, then its index variables.
PARTS = {
    "y(i) = A(i,j) * x(j)": "y(i)  =  A(i,j)  *  x(j)  i  j",
    "a = b + b": "a  =  b  +",
    "y(i) += x(i)*x(i)": "y(i)  +=  x(i)  *  i",
    "script(i) = AA(i,j) * A(i,j) - i0(j)": "script(i)  =  AA(i,j)  *  A(i,j)  -  i0(j)  i  j",
    "y(i) = exp(-A(i,j)) * (x(j) + 1)": "y(i)  =  exp  -  A(i,j)  *  x(j)  +  i  j",
    "y(i) = A(I(i),j) * x(j)": "y(i)  =  A(I(i),j)  *  x(j)  i  j",
    "c(i) = max(k : A(i,k))": "c(i)  =  max  A(i,k)  i  k",
    "y(i) = x(2*i + k) * w(k)": "y(i)  =  x(2*i + k)  *  w(k)  i  k",
}


@pytest.mark.parametrize("text", PARTS)
def test_each_part_is_found_once(text: str) -> None:
    places = NotationPlaces(ms.parse(text))
    found = [part.text for part in places.parts]
    assert sorted(found) == sorted(PARTS[text].split("  "))
    for part in places.parts:
        assert {places.text[span.start : span.end] for span in part.spans} == {part.text}


@pytest.mark.parametrize("text", PARTS)
def test_parts_do_not_overlap(text: str) -> None:
    places = NotationPlaces(ms.parse(text))
    spans = sorted(
        (span.start, span.end) for part in places.parts if part.kind is not PartKind.VARIABLE for span in part.spans
    )
    assert all(before[1] <= after[0] for before, after in pairwise(spans))


def test_what_a_plan_makes_anew_is_found_by_its_text() -> None:
    places = NotationPlaces(ms.parse("y(i)=A( i,j )*x(j)"))
    assert places.text == "y(i) = A(i,j) * x(j)"
    other = ms.parse("z(i) = 2 + A(i,j) * x(j)")
    found = {str(node): [places.text[s.start : s.end] for s in places.of(node)] for node in walk(other.value)}
    assert found["A(i,j) * x(j)"] == ["*"]
    assert found["2 + A(i,j) * x(j)"] == ["*"]  # what of it is there
    assert found["2"] == []
    assert places.of(Access("B")) == ()
