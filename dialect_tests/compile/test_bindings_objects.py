"""Objects of MLIR's bindings both ways: encodings, and modules built or read with them."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse._mlir import bindings, ir
from mlir_sparse.encoding import PRESETS


@pytest.mark.parametrize("name", [name for name in PRESETS if ms.encoding(name).is_native])
def test_encodings_pass_through_attributes(name: str) -> None:
    given = ms.encoding(name)
    with ir.Context() as context:
        attribute = given.to_mlir()
        assert attribute.context == context
        assert ms.Encoding.from_mlir(attribute) == given
        assert ms.encoding(attribute) == given
        kind = ms.TensorType(ms.DType("f32"), (None,) * given.dim_rank, given)
        assert isinstance(kind.to_mlir(), ir.RankedTensorType)
        assert ms.TensorType.from_mlir(kind.to_mlir()) == kind
        assert ms.Encoding.from_mlir(kind.to_mlir().encoding) == given
    with pytest.raises(ms.OperandError, match="expected to be in a Context of the bindings"):
        given.to_mlir()
    with pytest.raises(ms.OperandError, match="expected to be in a Context of the bindings"):
        kind.to_mlir()


def test_encodings_that_the_dialect_lacks_are_no_attributes() -> None:
    with ir.Context(), pytest.raises(ms.UnsupportedError, match="expected an encoding that the dialect can say"):
        ms.encoding("DIA").to_mlir()


def test_other_attributes_are_no_encodings() -> None:
    with ir.Context(), pytest.raises(ms.OperandError, match="expected an Encoding"):
        ms.encoding(ir.Attribute.parse("3 : i32"))  # type: ignore[arg-type]
    with ir.Context():
        for other in (ir.Attribute.parse("3 : i32"), "CSR", None, ir.Type.parse("f64")):
            with pytest.raises(ms.OperandError, match="expected an attribute #sparse_tensor"):
                ms.Encoding.from_mlir(other)
            with pytest.raises(ms.OperandError, match="expected a type tensor<"):
                ms.TensorType.from_mlir(other)


def test_kernels_are_modules_in_the_callers_context() -> None:
    kernel = ms.compile("y(i) = A(i,j) * x(j)", A="f64[?,?] CSR", x="f64[?]")
    with ir.Context() as context:
        for stage in ("linalg", "sparsified", "llvm"):
            module = kernel.module(stage)
            assert module.context is context or module.context == context
            assert module.operation.verify()
    with ir.Context(), pytest.raises(ms.UnsupportedError, match="expected a stage that is a module"):
        kernel.module("asm")
    with pytest.raises(ms.OperandError, match="expected to be in a Context"):
        kernel.module()


def test_a_kernel_built_by_hand_runs() -> None:
    """A generic that is written with the bindings' OpDSL, on an encoding of this package."""
    linalg, func = bindings().module("dialects.linalg"), bindings().module("dialects.func")
    storage = ms.encoding("CSR").with_widths(32, 32)
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.create()
        real = ir.Type.parse("f64")
        sparse = ir.RankedTensorType.get([5, 4], real, storage.to_mlir())
        dense = ir.RankedTensorType.get([4, 3], real)
        result = ir.RankedTensorType.get([5, 3], real)
        with ir.InsertionPoint(module.body):

            @func.FuncOp.from_py_func(sparse, dense, result)
            def spmm(a: ir.Value, b: ir.Value, c: ir.Value) -> ir.Value:
                return linalg.matmul(a, b, outs=[c])

        m = ms.module(module)
    A, B = np.diag([1.0, 2, 3, 4])[[0, 1, 2, 3, 3]], np.arange(12.0).reshape(4, 3)
    np.testing.assert_allclose(m.spmm(ms.tensor(A, storage), B, np.zeros((5, 3))), A @ B)
    with pytest.raises(ms.ExtentError, match="expected arg1 of 4 along axis 0"):
        m.spmm(ms.tensor(A, storage), np.zeros((5, 3)), np.zeros((5, 3)))


def test_pipelines_run_on_modules_with_passes_of_the_users() -> None:
    @ms.register_pass("name-after")
    def name_after(module: ir.Module, options: dict[str, str]) -> None:
        first = next(iter(module.body.operations))
        first.attributes["sym_name"] = ir.StringAttr.get(options["name"])

    sums = "%0 = arith.addi %a, %a : i32\n %1 = arith.addi %a, %a : i32"
    text = f"func.func @f(%a: i32) -> i32 {{ {sums}\n return %1 : i32 }}"
    found = ms.opt(text, ["cse", "name-after{name=twice}", "canonicalize"])
    assert "func.func @twice" in found
    assert found.count("arith.addi") == 1
    assert ms.opt(text, "builtin.module(func.func(cse),name-after{name=twice},canonicalize)") == found
    assert "name-after" not in dir(ms)
    with pytest.raises(ms.CompileError, match="expected the pass name-after to return, but got KeyError: 'name'"):
        ms.opt(text, ["name-after"])
    with pytest.raises(ms.CompileError, match="but got 'no-such-pass'"):
        ms.opt(text, ["no-such-pass"])
    with pytest.raises(ms.ModuleError, match="module:1:1"):
        ms.opt("nonsense", [])
    with pytest.raises(ms.OperandError, match="expected a name such as my-pass"):
        ms.register_pass("My Pass")


def test_a_pass_that_kills_its_process_is_an_exception() -> None:
    @ms.register_pass("dies-at-once")
    def dies(module: ir.Module, options: dict[str, str]) -> None:
        os.kill(os.getpid(), signal.SIGSEGV)

    with pytest.raises(ms.CompilerCrash, match="was killed by SIGSEGV") as caught:
        ms.opt("func.func @f() { return }", ["dies-at-once"])
    assert caught.value.reproducer is not None
