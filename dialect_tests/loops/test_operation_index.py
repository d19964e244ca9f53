"""What passes of ours find in a module by one walk, and which of MLIR's find nothing to do there."""

from __future__ import annotations

import pytest

from mlir_sparse._mlir import mlir_context, parse_module
from mlir_sparse.loops.operation_index import Seen
from mlir_sparse.pipeline import own_passes
from mlir_sparse.pipeline.own_passes import run_passes

NESTS = """
func.func @first(%y: memref<?xf64>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %n step %c1 {
      %a = memref.load %y[%j] : memref<?xf64>
      memref.store %a, %y[%i] : memref<?xf64>
    }
  }
  return
}
func.func private @declared(index)
func.func @second(%n: index, %which: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.if %which {
      func.call @declared(%i) : (index) -> ()
    }
  }
  return
}
"""


def test_operations_by_function() -> None:
    with mlir_context():
        seen = Seen(parse_module(NESTS))
        counts = [(len(inside.named("scf.for")), len(inside.innermost)) for _, inside in seen.functions]
        assert counts == [(2, 1), (0, 0), (1, 0)]
        outer = seen.whole.named("scf.for")[1]
        assert [op.name for op in seen.whole.innermost] == ["scf.for"]
        assert seen.whole.innermost[0].parent == outer  # what is inside comes first
        outer.erase()
        seen.forget()
        assert len(seen.whole.named("scf.for")) == 1


def test_operations_of_the_only_function_are_those_of_the_module() -> None:
    with mlir_context():
        seen = Seen(parse_module(NESTS.partition("func.func private")[0]))
        ((_, inside),) = seen.functions
        assert len(inside.innermost) == 1
        assert "memref.load" in seen.whole.by_name


CALLS = {
    "numbers": """func.func @f(%x: f64) -> f64 {
      %y = math.exp %x : f64
      %z = math.erf %y : f64
      return %z : f64
    }""",
    # Libraries take elements one by one: what takes a vector apart was not there when vectors were looked for.
    "vectors": """func.func @f(%x: vector<4xf64>) -> vector<4xf64> {
      %y = math.erf %x : vector<4xf64>
      return %y : vector<4xf64>
    }""",
    "pairs": """func.func @f(%x: complex<f64>) -> f64 {
      %y = complex.abs %x : complex<f64>
      return %y : f64
    }""",
    "no function": """llvm.func @f(%x: vector<4xf64>) -> f64 {
      %y = vector.reduction <add>, %x : vector<4xf64> into f64
      llvm.return %y : f64
    }""",
    "nothing of these": """func.func @f(%x: f64) -> f64 {
      %y = arith.addf %x, %x : f64
      return %y : f64
    }""",
}
_VECTORS = "convert-vector-to-llvm{reassociate-fp-reductions=false}"
_MATH = "func.func(convert-math-to-llvm),convert-math-to-libm,convert-complex-to-libm"
_LOWER = (
    f"builtin.module(func.func(convert-vector-to-scf),{_VECTORS},func.func(convert-complex-to-standard),{_MATH},"
    f"{_VECTORS},convert-to-llvm,reconcile-unrealized-casts)"
)


@pytest.mark.parametrize("text", CALLS.values(), ids=CALLS)
def test_passes_with_nothing_to_do_change_nothing(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lowered = []
    for about in (own_passes._ABOUT, {}):
        monkeypatch.setattr(own_passes, "_ABOUT", about)
        with mlir_context():
            module = parse_module(text)
            run_passes(module, _LOWER)
            names = [name for name in Seen(module).whole.by_name if not name.startswith(("llvm.", "builtin."))]
            assert names == []
            lowered.append(str(module))
    assert lowered[0] == lowered[1]


def test_passes_are_left_out_where_they_have_nothing_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    monkeypatch.setattr(own_passes, "_run_theirs", lambda pipeline, _: ran.append(pipeline))
    with mlir_context():
        run_passes(parse_module(CALLS["nothing of these"]), _LOWER)
        run_passes(parse_module(CALLS["numbers"]), _LOWER)
    tail = "convert-to-llvm,reconcile-unrealized-casts)"
    assert ran == [f"builtin.module({tail}", f"builtin.module({_MATH.rpartition(',')[0]},{_VECTORS},{tail}"]
