"""The table of level formats against Chou et al. 2018, section 3, and against the dialect."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import mlir_sparse
from dialect_tests.encoding import mlir_reference as mlir
from dialect_tests.encoding.conformance import attribute
from mlir_sparse.encoding import LEVEL_FUNCTIONS, LevelFormat, LevelType, encoding, level_table
from mlir_sparse.encoding.levels.level_functions import Assembly, Iteration, Promise
from mlir_sparse.encoding.levels.level_property import LevelProperty

PACKAGE = Path(mlir_sparse.__file__).parent

# The paper's six: iteration, locate, assembly; ordered, unique, branchless, compact. Where it lets a format be
# configured, the entry has what this dialect can declare of it.
PAPER = {
    "dense": ("by value", True, "insert", "yes", "yes", False, True),
    "range": ("by value", False, None, "yes", "yes", False, False),
    "compressed": ("by position", False, "append", "unless declared not", "unless declared not", False, True),
    "singleton": ("by position", False, "append", "unless declared not", "unless declared not", True, True),
    "offset": ("by position", False, None, "yes", "yes", True, False),
    "hashed": ("by position", True, "insert", "no", "yes", False, False),
}
# Intervals whose beginnings are known lead from a coordinate to its position: more than the paper asks of them.
MORE = {"range": ("by value", True, "insert", "yes", "yes", False, False)}
# The dialect's own, by the same definitions.
DIALECT = {
    "batch": ("by value", True, "insert", "yes", "yes", False, True),
    "loose_compressed": ("by position", False, "append", "unless declared not", "unless declared not", False, False),
    "structured": ("by position", False, "append", "yes", "yes", False, True),
}


def test_every_level_format_has_an_entry() -> None:
    assert list(LEVEL_FUNCTIONS) == list(LevelFormat)
    assert {level_format.value for level_format in LevelFormat} == {*PAPER, *DIALECT}


@pytest.mark.parametrize(("name", "row"), (PAPER | MORE | DIALECT).items())
def test_entries_are_those_of_the_paper(name: str, row: tuple[object, ...]) -> None:
    entry = LEVEL_FUNCTIONS[LevelFormat(name)]
    assembly = entry.assembly.value if entry.assembly else None
    promises = entry.ordered.value, entry.unique.value, entry.branchless, entry.compact
    assert (entry.iteration.value, entry.locate, assembly, *promises) == row


def test_only_dense_and_batch_levels_are_full() -> None:
    full = [name.value for name, entry in LEVEL_FUNCTIONS.items() if entry.full is Promise.ALWAYS]
    assert full == ["dense", "batch"]


KINDS = {
    "dense": {"has_full_loop", "fills"},
    "batch": {"is_axis", "fills"},
    "compressed": {"is_segmented"},
    "loose_compressed": {"is_segmented", "has_gaps"},
    "singleton": {"is_chained"},
    "structured": {"fills"},
    "range": {"fills"},
    "offset": {"is_computed"},
    "hashed": set(),
}


@pytest.mark.parametrize("level_format", LevelFormat)
def test_what_follows_from_an_entry(level_format: LevelFormat) -> None:
    entry = LEVEL_FUNCTIONS[level_format]
    names = ("has_full_loop", "is_axis", "is_segmented", "has_gaps", "is_chained", "is_computed", "fills")
    assert {name for name in names if getattr(entry, name)} == KINDS[level_format.value]


# Where a name means what text says (`compressed(high)`), not what a format can do.
TEXT = {"encoding/level_parser.py", "encoding/older_level_types.py"}


def _decisions(tree: ast.AST) -> Iterator[int]:
    """Yields the lines that decide by the name of one level format."""
    for node in ast.walk(tree):
        tested: list[ast.AST] = []
        if isinstance(node, ast.Compare) and not any(isinstance(op, ast.Eq | ast.NotEq) for op in node.ops):
            tested = [node]
        elif isinstance(node, ast.match_case):
            tested = [node.pattern]
        named = (part for one in tested for part in ast.walk(one) if isinstance(part, ast.Attribute))
        if any(isinstance(part.value, ast.Name) and part.value.id == "LevelFormat" for part in named):
            yield getattr(node, "lineno", 0) or node.pattern.lineno  # type: ignore[attr-defined]


def test_decisions_are_made_by_the_table() -> None:
    """What a format can do is asked of its entry, so that a new format is one entry; whole storages have names."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "LevelFormat." in text and (lines := list(_decisions(ast.parse(text)))):
            found[str(path.relative_to(PACKAGE))] = lines
    assert {name: lines for name, lines in found.items() if name not in TEXT} == {}


def test_the_search_for_decisions_finds_them() -> None:
    text = (
        "if kind.format is LevelFormat.DENSE: pass\nmatch a:\n    case LevelFormat.BATCH: pass\nx = LevelFormat.HASHED"
    )
    assert list(_decisions(ast.parse(text))) == [1, 3]
    assert list(_decisions(ast.parse("formats == (LevelFormat.DENSE, LevelFormat.COMPRESSED)"))) == []


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
        "[low, high) = [?, i + 1], without gaps between parents; stores positions[1]" in encoding("Skyline").describe()
    )
    assert (
        "j is hashed, a hash table of coordinates for each parent; stores coordinates[1]"
        in encoding("HashedRows").describe()
    )
    assert "all coordinates of [-1, 2] present" in encoding("Banded").describe()
    assert encoding("HiCOO(2, 2)").describe().count("(array of structs of 2)") == 2
