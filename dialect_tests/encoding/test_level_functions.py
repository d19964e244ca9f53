"""The table of level formats against Chou et al. 2018, section 3, and against the dialect."""

from __future__ import annotations

import pytest

from dialect_tests.encoding import mlir_reference as mlir
from dialect_tests.encoding.conformance import attribute
from mlir_sparse.encoding import LEVEL_FUNCTIONS, LevelFormat, LevelType, encoding, level_table
from mlir_sparse.encoding.level_format import LevelProperty
from mlir_sparse.encoding.level_functions import Assembly, Iteration, Promise

# The paper's six: iteration, locate, assembly; ordered, unique, branchless, compact.
PAPER = {
    "dense": ("by value", True, "insert", "yes", "yes", False, True),
    "range": ("by value", True, "insert", "yes", "yes", False, False),
    "compressed": ("by position", False, "append", "unless declared not", "unless declared not", False, True),
    "singleton": ("by position", False, "append", "unless declared not", "unless declared not", True, True),
    "offset": ("by position", False, None, "yes", "yes", True, False),
    "hashed": ("by position", True, "insert", "no", "yes", False, False),
}


def test_every_level_format_has_an_entry() -> None:
    assert list(LEVEL_FUNCTIONS) == list(LevelFormat)


@pytest.mark.parametrize("name", PAPER)
def test_the_formats_of_the_paper(name: str) -> None:
    entry = LEVEL_FUNCTIONS[LevelFormat(name)]
    assembly = entry.assembly.value if entry.assembly else None
    promises = entry.ordered.value, entry.unique.value, entry.branchless, entry.compact
    assert (entry.iteration.value, entry.locate, assembly, *promises) == PAPER[name]


@pytest.mark.parametrize("level_format", LevelFormat)
def test_the_dialect_knows_exactly_the_native_ones(level_format: LevelFormat) -> None:
    bracket = "[2, 4]" if level_format is LevelFormat.STRUCTURED else ""
    theirs = mlir.complaint(attribute(f"map = (i) -> (i : {level_format.value}{bracket})"))
    unknown = theirs is not None and "unknown level format" in theirs
    assert unknown is not LEVEL_FUNCTIONS[level_format].native


@pytest.mark.parametrize("level_format", LevelFormat)
def test_entries_agree_with_themselves(level_format: LevelFormat) -> None:
    entry = LEVEL_FUNCTIONS[level_format]
    # Who locates can insert, who only enumerates positions in order appends.
    assert entry.assembly is not Assembly.INSERT or entry.locate
    assert (entry.ordered is Promise.DECLARED) == (LevelProperty.NONORDERED in entry.declares)
    assert (entry.unique is Promise.DECLARED) == (LevelProperty.NONUNIQUE in entry.declares)
    assert entry.iteration is Iteration.POSITION or entry.ordered is Promise.ALWAYS
    assert LevelType(level_format).ordered is (entry.ordered is not Promise.NEVER)


def test_what_is_stored_follows_from_the_bounds() -> None:
    def stored(bounds: str) -> tuple[bool, bool]:
        kind = encoding(f"(i, j) -> (i : dense, j : range{bounds})").level_types[1]
        return kind.has_positions, kind.has_coordinates

    assert stored("") == stored("[0, i + 1]") == stored("[i]") == (False, False)
    assert stored("[?, i + 1]") == stored("[0, ?]") == stored("[?]") == (True, False)
    assert stored("[?, ?]") == (True, True)


def test_the_table_has_a_row_for_each() -> None:
    rows = level_table().splitlines()
    assert len({row.count("|") for row in rows}) == 1
    assert [row.split("`")[1] for row in rows[2:]] == [level_format.value for level_format in LevelFormat]


def test_descriptions_say_what_levels_store() -> None:
    text = encoding("DIA").describe()
    assert "level 0: j - i is compressed, ordered, unique; stores positions[0] and coordinates[0]" in text
    assert "level 1: i is range, all coordinates of an interval, as far as the map stays inside the tensor" in text
    assert "3 slots, the n-th entry with the same i in slot n; stores nothing" in encoding("SlotELL(3)").describe()
    assert "as many slots as the longest needs" in encoding("SlotELL").describe()
    assert (
        "[low, high) = [?, i + 1], with no room between parents; stores positions[1]" in encoding("Skyline").describe()
    )
    assert (
        "j is hashed, a hash table of coordinates for each parent; stores coordinates[1]"
        in encoding("HashedRows").describe()
    )
    assert "all coordinates of [-1, 2] present" in encoding("Banded").describe()
    assert encoding("HiCOO(2, 2)").describe().count("(array of structs of 2)") == 2
