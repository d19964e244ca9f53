"""CHECK lines that `mlir-sparse update-checks` writes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import mlir_sparse as ms
from mlir_sparse.testing.checks import check_sections, update_checks
from mlir_sparse.testing.checks.names_in_file import NamesInFile
from mlir_sparse.testing.checks.recorded_runs import passes_in_lit
from mlir_sparse.testing.lit import write_suite

SPMV = """\
// RUN: mlir-sparse opt %s --linalg-generalize-named-ops --sparse-reinterpret-map --sparsification | FileCheck %s
// RUN: echo "( ( 1, 2 ), ( 3, 4 ) )" | FileCheck %s --check-prefix=PRINTED

#CSR = #sparse_tensor.encoding<{ map = (i, j) -> (i : dense, j : compressed) }>

// What a reader should know.
func.func @spmv(%A: tensor<?x?xf64, #CSR>, %x: tensor<?xf64>, %y: tensor<?xf64>) -> tensor<?xf64> {
  %0 = linalg.matvec ins(%A, %x : tensor<?x?xf64, #CSR>, tensor<?xf64>) outs(%y : tensor<?xf64>) -> tensor<?xf64>
  return %0 : tensor<?xf64>
}

func.func @main() {
  %v = arith.constant dense<[[1, 2], [3, 4]]> : vector<2x2xi32>
  vector.print %v : vector<2x2xi32>
  return
}
"""


def _suite(folder: Path, text: str, name: str = "case.mlir") -> Path:
    pytest.importorskip("lit", reason="expected the package lit")
    write_suite(folder)
    (folder / "spmv.mlir").unlink()
    path = folder / name
    path.write_text(text)
    return path


def test_lines_of_a_file_pass_are_kept_up_and_see_a_change(tmp_path: Path) -> None:
    path = _suite(tmp_path, SPMV)
    first = update_checks(path)
    assert first.changed
    assert first.written["PRINTED"] == 1
    text = path.read_text()
    for line in (
        "// CHECK:       #[[$CSR:.*]] = #sparse_tensor.encoding<{",
        "// CHECK-LABEL: func.func @spmv(",
        "// CHECK-SAME:    %[[A:[^:]*]]: tensor<?x?xf64, #[[$CSR]]>,",
        "// CHECK:         %[[A_POSITIONS_1:.*]] = sparse_tensor.positions %[[A]] {level = 1 : index}",
        "// CHECK:           %[[A_BEGIN_1:.*]] = memref.load %[[A_POSITIONS_1]][%[[I]]]",
        "%[[A_POSITION_1:.*]] = %[[A_BEGIN_1]] to %[[A_END_1]] step %[[C1]] iter_args(%[[ACC:.*]] = %[[Y_ELEMENT]])",
        "arith.constant dense<{{\\[\\[}}1, 2], [3, 4]]>",
        "// What a reader should know.\n// CHECK",
        "// PRINTED:      ( ( 1, 2 ), ( 3, 4 ) )\n",
    ):
        assert line in text, line
    assert not update_checks(path).changed
    assert path.read_text() == text
    # Lines tell one program from another.
    path.write_text(
        text.replace("--sparsification |", "--sparsification=parallelization-strategy=any-storage-any-loop |")
    )
    assert "scf.for" in str(passes_in_lit(path))
    assert update_checks(path, prefixes=["CHECK"]).written.keys() == {"CHECK"}
    assert "scf.parallel" in path.read_text()
    assert "PRINTED:" in path.read_text()


def test_lines_written_by_hand_stay_unless_asked(tmp_path: Path) -> None:
    path = _suite(tmp_path, "// RUN: echo one | FileCheck %s\n// CHECK: one\nfunc.func @f() { return }\n")
    before = path.read_text()
    with pytest.raises(ms.OperandError, match=r"written by hand in .*case.mlir, but got line 2: --force"):
        update_checks(path)
    assert path.read_text() == before
    assert update_checks(path, replaces=True).written == {"CHECK": 1}
    assert "// CHECK: one\n" not in path.read_text()
    assert "// CHECK:      one\n" in path.read_text()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("// RUN: echo one\nfunc.func @f() { return }\n", "a RUN line of .* with FileCheck"),
        ("// RUN: mlir-sparse opt %s | FileCheck %s\nfunc.func @f() { retur }\n", "RUN lines to succeed"),
        (
            "// RUN: echo one | FileCheck %s\n// RUN: echo other | FileCheck %s\nfunc.func @f() { return }\n",
            "number 1 prints another text: give it a prefix of its own",
        ),
        ("// RUN: date +%%N | FileCheck %s\nfunc.func @f() { return }\n", "a second run differs"),
        ("// RUN: FileCheck %s --input-file=%s\nfunc.func @f() { return }\n", "to read a pipe"),
    ],
)
def test_what_has_no_lines_is_refused_and_stays(tmp_path: Path, text: str, said: str) -> None:
    path = _suite(tmp_path, text)
    with pytest.raises(ms.OperandError, match=said):
        update_checks(path)
    assert path.read_text() == text


def test_a_prefix_that_no_line_names_and_a_file_without_a_suite(tmp_path: Path) -> None:
    path = _suite(tmp_path, SPMV)
    with pytest.raises(ms.OperandError, match=r"a prefix of CHECK, PRINTED, .* but got LOOPS"):
        update_checks(path, prefixes=["LOOPS"])
    (tmp_path / "lit.cfg.py").unlink()
    with pytest.raises(ms.OperandError, match=f"lit-init {re.escape(str(tmp_path))}"):
        update_checks(path)


def test_two_runs_that_print_the_same_share_lines(tmp_path: Path) -> None:
    text = (
        "// RUN: echo one | FileCheck %s --check-prefix=ALL\n"
        "// RUN: echo one | FileCheck %s --check-prefix ALL\n"
        "// RUN: printf 'one\\ntwo\\n' | FileCheck %s -check-prefixes=OTHER\n"
    )
    path = _suite(tmp_path, text)
    assert update_checks(path).written == {"ALL": 1, "OTHER": 2}
    assert path.read_text().endswith("// ALL:      one\n// OTHER:      one\n// OTHER-NEXT: two\n")


def test_names_say_what_values_are_and_end_with_their_region() -> None:
    output = """\
#map = affine_map<(d0) -> (d0)>
module {
  func.func @f(%arg0: memref<?xindex>, %arg1: memref<?xindex>) -> index {
    %c0 = arith.constant 0 : index
    %c1_i64 = arith.constant -1 : i64
    %0:2 = scf.while (%arg2 = %c0, %arg3 = %c0) : (i32) {
      %1 = arith.cmpi ult, %arg2, %arg3 : index
      scf.condition(%1) %arg2, %arg3 : index, index
    } do {
    ^bb0(%arg2: index, %arg3: index):
      %1 = arith.addi %arg2, %c0 : index
      scf.yield %1, %arg3 : index, index
    }
    return %0#1 : index
  }
  func.func private @"g h"(index)
}
"""
    first, second, third = check_sections(output, "LOOPS", NamesInFile("func.func @f(%rows: i32, %rows.end: i32) {"))
    assert first.lines == ("LOOPS:       #[[$MAP:.*]] = affine_map<(d0) -> (d0)>",)
    assert second.function == "f"
    assert second.lines == (
        "LOOPS-LABEL: func.func @f(",
        "LOOPS-SAME:    %[[ROWS:[^:]*]]: memref<?xindex>,",
        "LOOPS-SAME:    %[[ROWS_END:[^:]*]]: memref<?xindex>) -> index {",
        "LOOPS:         %[[C0:.*]] = arith.constant 0 : index",
        "LOOPS:         %[[CMINUS_1_I64:.*]] = arith.constant -1 : i64",
        "LOOPS:         %[[LAST:.*]]:2 = scf.while (%[[CARRIED:.*]] = %[[C0]], %[[CARRIED_1:.*]] = %[[C0]]) : (i32) {",
        "LOOPS:           %[[IS:.*]] = arith.cmpi ult, %[[CARRIED]], %[[CARRIED_1]] : index",
        "LOOPS:           scf.condition(%[[IS]]) %[[CARRIED]], %[[CARRIED_1]] : index, index",
        "LOOPS:         } do {",
        "LOOPS:         ^bb0(%[[ARG:.*]]: index, %[[ARG_1:.*]]: index):",
        "LOOPS:           %[[SUM:.*]] = arith.addi %[[ARG]], %[[C0]] : index",
        "LOOPS:           scf.yield %[[SUM]], %[[ARG_1]] : index, index",
        "LOOPS:         }",
        "LOOPS:         return %[[LAST]]#1 : index",
        "LOOPS:       }",
    )
    assert third.function == "g h"
