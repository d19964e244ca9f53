"""How RUN lines of upstream's tests are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from dialect_tests.upstream.run_lines import expanded, run_lines

TEST = """\
// DEFINE: %{opts} = vl=0
// DEFINE: %{compile} = mlir-opt %s --sparsifier="%{opts}"
// DEFINE: %{env} =
// RUN: %{compile} | \\
// RUN:   FileCheck %s
// REDEFINE: %{opts} = vl=2
// REDEFINE: %{env} = TENSOR0="%mlir_src_dir/a.mtx" \\
// REDEFINE: TENSOR1=b
// RUN: %{compile} | env %{env} run | FileCheck %s
// RUN: %if sve %{ %{compile} --sve | FileCheck %s %}
func.func @f() { return } // no RUN line
"""


def test_commands_have_what_is_defined_before_them(tmp_path: Path) -> None:
    path = tmp_path / "a.mlir"
    path.write_text(TEST)
    settings = {"%s": "S", "%mlir_src_dir": "D"}
    assert [line.text for line in run_lines(path, settings)] == [
        'mlir-opt S --sparsifier="vl=0" |    FileCheck S',
        'mlir-opt S --sparsifier="vl=2" | env TENSOR0="D/a.mtx"  TENSOR1=b run | FileCheck S',
    ]
    assert len(list(run_lines(path, settings, frozenset({"sve"})))) == 3


def test_substitutions_must_end() -> None:
    with pytest.raises(ValueError, match="expected substitutions that end"):
        expanded("%a", {"%a": "%b", "%b": "x%a"})
