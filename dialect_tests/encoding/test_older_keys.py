"""Encodings in the spelling of LLVM 13 to 21: what each means today, and what is refused."""

from __future__ import annotations

import itertools

import pytest

import mlir_sparse as ms
from dialect_tests.encoding import mlir_reference as mlir
from mlir_sparse.encoding.encoding_parser import take_encoding
from mlir_sparse.errors import EncodingError, EncodingSyntaxError, SparseError
from mlir_sparse.text.cursor import Cursor
from mlir_sparse.text.edits import edited
from mlir_sparse.text.source_text import Source

# Old, and what upstream's own tests of LLVM 22 have in the same place.
SAME = [
    ('dimLevelType = [ "compressed" ]', "map = (i) -> (i : compressed)"),
    ('dimLevelType = ["dense", "compressed"]', "map = (i, j) -> (i : dense, j : compressed)"),
    (
        'dimLevelType = ["dense", "compressed"], dimOrdering = affine_map<(i,j) -> (j,i)>',
        "map = (i, j) -> (j : dense, i : compressed)",
    ),
    (
        'dimLevelType = ["dense", "dense", "compressed"], dimOrdering = affine_map<(i,j,k) -> (k,i,j)>',
        "map = (i, j, k) -> (k : dense, i : dense, j : compressed)",
    ),
    (
        'dimLevelType = [ "dense", "compressed" ], pointerBitWidth = 32, indexBitWidth = 16',
        "map = (i, j) -> (i : dense, j : compressed), posWidth = 32, crdWidth = 16",
    ),
    ('posWidth = 8, lvlTypes = ["dense"], crdWidth = 8', "map = (i) -> (i : dense), posWidth = 8, crdWidth = 8"),
    (
        'dimLevelType = [ "compressed-nu", "singleton" ]',
        "map = (i, j) -> (i : compressed(nonunique), j : singleton)",
    ),
    (
        'lvlTypes = [ "compressed_nu", "singleton_no" ]',
        "map = (i, j) -> (i : compressed(nonunique), j : singleton(nonordered))",
    ),
    (
        'dimLevelType = [ "compressed-nu-no", "singleton-nu-no", "singleton-no" ]',
        ("map = (i, j, k) -> (i : compressed(nonunique, nonordered), j : singleton(nonunique, nonordered), "
        "k : singleton(nonordered))"),
    ),
    # Until LLVM 16 singletons below other levels had arrays of their own, in 17 an array of structs.
    (
        'dimLevelType = [ "dense", "compressed-nu", "singleton" ]',
        "map = (i, j, k) -> (i : dense, j : compressed(nonunique), k : singleton(soa))",
    ),
    (
        'lvlTypes = [ "dense", "compressed-nu", "singleton" ]',
        "map = (i, j, k) -> (i : dense, j : compressed(nonunique), k : singleton)",
    ),
    ('lvlTypes = [ "dense", "compressed-hi" ]', "map = (i, j) -> (i : dense, j : loose_compressed)"),
    ('lvlTypes = [ "dense", "compressed_hi_nu" ]', "map = (i, j) -> (i : dense, j : loose_compressed(nonunique))"),
    ('lvlTypes = [ "dense", "loose_compressed" ]', "map = (i, j) -> (i : dense, j : loose_compressed)"),
    (
        ('lvlTypes = [ "compressed", "compressed", "dense", "dense" ], '
        "dimToLvl = affine_map<(i, j) -> (i floordiv 2, j floordiv 3, i mod 2, j mod 3)>"),
        "map = (i, j) -> (i floordiv 2 : compressed, j floordiv 3 : compressed, i mod 2 : dense, j mod 3 : dense)",
    ),
    (
        ('dimLevelType = [ "compressed", "compressed", "dense", "dense" ], '
        "dimOrdering = affine_map<(ii, jj, i, j) -> (jj, ii, i, j)>, "
        "higherOrdering = affine_map<(i, j) -> (i floordiv 2, j floordiv 3, i mod 2, j mod 3)>"),
        "map = (i, j) -> (j floordiv 3 : compressed, i floordiv 2 : compressed, i mod 2 : dense, j mod 3 : dense)",
    ),
    (
        'lvlTypes = [ "dense", "dense", "compressed24" ], dimToLvl = affine_map<(i, j) -> (i, j floordiv 4, j mod 4)>',
        "map = (i, j) -> (i : dense, j floordiv 4 : dense, j mod 4 : structured[2, 4])",
    ),
    (
        'dimLevelType = [ "dense", "compressed" ], slice = [ (1, 4, 1), (?, 4, 2) ]',
        "map = (i : #sparse_tensor<slice(1, 4, 1)>, j : #sparse_tensor<slice(?, 4, 2)>) -> (i : dense, j : compressed)",
    ),
    (
        'lvlTypes = [ "dense", "compressed" ], dimSlices = [ (?, ?, ?), (0, 4, 1) ]',
        "map = (i : #sparse_tensor<slice(?, ?, ?)>, j : #sparse_tensor<slice(0, 4, 1)>) -> (i : dense, j : compressed)",
    ),
    ("map = (i, j) -> (i : dense, j : compressed(high))", "map = (i, j) -> (i : dense, j : loose_compressed)"),
    ("map = (i) -> (i : compressed-hi-no)", "map = (i) -> (i : loose_compressed(nonordered))"),
    ("map = (i) -> (i : compressed_nu)", "map = (i) -> (i : compressed(nonunique))"),
    (
        "map = (i, j) -> (i : batch, j : compressed), explicitVal = 1 : i32",
        "map = (i, j) -> (i : batch, j : compressed), explicitVal = 1 : i32",
    ),
]  # fmt: skip


def attribute(fields: str) -> str:
    return f"#sparse_tensor.encoding<{{ {fields} }}>"


@pytest.mark.parametrize(("old", "new"), SAME)
def test_old_spellings_are_the_encodings_of_today(old: str, new: str) -> None:
    expected = ms.encoding(attribute(new))
    assert ms.encoding(attribute(old)) == expected
    assert ms.encoding(f"#Name = {attribute(old)}") == expected
    assert ms.encoding(f"#sparse_tensor<encoding<{{ {old} }}>>") == expected
    assert mlir.reprint(str(expected)) == str(expected)


@pytest.mark.parametrize(("old", "new"), SAME)
def test_edits_of_an_old_spelling_give_todays(old: str, new: str) -> None:
    text = attribute(old)
    cursor = Cursor(Source(text, "encoding"), EncodingSyntaxError, bare_ids=True)
    take_encoding(cursor)
    today = edited(text, cursor.older)
    assert mlir.reprint(today) == str(ms.encoding(attribute(new)))
    again = Cursor(Source(today, "encoding"), EncodingSyntaxError, bare_ids=True)
    take_encoding(again)
    assert again.older == []


def test_keys_stand_in_any_order() -> None:
    fields = ('dimLevelType = ["dense", "compressed"]', "dimOrdering = affine_map<(i,j) -> (j,i)>", "indexBitWidth = 8")
    expected = ms.encoding(attribute("map = (i, j) -> (j : dense, i : compressed), crdWidth = 8"))
    for some in itertools.permutations(fields):
        text = attribute(", ".join(some))
        cursor = Cursor(Source(text, "encoding"), EncodingSyntaxError, bare_ids=True)
        assert take_encoding(cursor) == expected
        assert mlir.reprint(edited(text, cursor.older)) == str(expected)


@pytest.mark.parametrize(
    ("fields", "message", "place"),
    [
        ("dimLevelType = []", "expected a non-empty array for dimLevelType", "dimLevelType"),
        ("dimLevelType = [1]", 'expected a level type, as "dense"', "1]"),
        ('dimLevelType = ["strange"]', 'unexpected level type: "strange"', '"strange"'),
        ('dimLevelType = ["dense"], lvlTypes = ["dense"]', "expected dimLevelType or lvlTypes once", "lvlTypes"),
        ('dimLevelType = ["dense"], map = (i) -> (i : dense)', "expected map alone", "dimLevelType"),
        ('dimLevelType = ["dense"], dimOrdering = "wrong"', "expected an affine map for dimension ordering", '"wrong"'),
        ('dimLevelType = ["dense"], higherOrdering = "wrong"', "expected an affine map for higher ordering", '"wrong"'),
        (
            'dimLevelType = ["dense", "compressed"], dimOrdering = affine_map<(i,j) -> (i,i)>',
            "expected a permutation affine map for dimension ordering",
            "(i,j)",
        ),
        ('dimLevelType = ["dense"], dimOrdering = affine_map<(i,j) -> (j,i)>', "as many level types", '"dense"'),
        ("dimOrdering = affine_map<(i,j) -> (j,i)>", "expected a non-empty array for dimLevelType", "dimOrdering"),
        ('dimLevelType = ["dense"], slice = [(1, 2, 3), (1, 2, 3)]', "expected 1 slices", "(1"),
        ('dimLevelType = ["dense"], pointerBitWidth = 42', "42", "42"),
        ('dimLevelType = ["dense"], pointerBitWidth = 8, posWidth = 8', "expected posWidth once", "posWidth"),
        ('dimLevelType = ["dense"], dimOrdering = #map', "expected an affine map", "#map"),
        ('dimLevelType = ["singleton"]', "singleton level", '"singleton"'),
        ('dimLevelType = ["dense-nu"]', "dense(nonunique)", '"dense-nu"'),
        ('dimLevelType = ["dense-hi"]', 'unexpected level type: "dense-hi"', '"dense-hi"'),
        ('dimLevelType = ["dense', "expected a token", '"dense'),
    ],
)  # fmt: skip
def test_old_spellings_that_have_no_meaning(fields: str, message: str, place: str) -> None:
    text = attribute(fields)
    with pytest.raises((EncodingError, EncodingSyntaxError)) as caught:
        ms.encoding(text)
    assert message in caught.value.message
    assert caught.value.column == text.index(place, text.index("{")) + 1


def test_every_encoding_of_two_levels_migrates_to_itself() -> None:
    formats = [
        "dense",
        "compressed",
        "compressed-nu",
        "compressed-no",
        "compressed-nu-no",
        "compressed-hi",
        "singleton",
    ]
    for outer, inner in itertools.product(formats, repeat=2):
        for order in ("(i, j) -> (i, j)", "(i, j) -> (j, i)"):
            text = attribute(f'dimLevelType = ["{outer}", "{inner}"], dimOrdering = affine_map<{order}>')
            try:
                expected = ms.encoding(text)
            except SparseError:
                continue
            cursor = Cursor(Source(text, "encoding"), EncodingSyntaxError, bare_ids=True)
            take_encoding(cursor)
            assert ms.encoding(edited(text, cursor.older)) == expected
