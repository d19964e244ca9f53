"""Modules of a user's for a GPU: which loops become kernels, what those compute, and which stay on the host."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from dialect_tests.conditions import LLVMLITE, PTXAS
from mlir_sparse._mlir import ir, mlir_context, parse_module
from mlir_sparse.gpu.ptx.emit_ptx import kernels_ir, ptx_of
from mlir_sparse.loops.regions import walk
from mlir_sparse.pipeline import gpu_passes
from mlir_sparse.pipeline.opt_options import OptOptions
from mlir_sparse.pipeline.own_passes import run_passes
from mlir_sparse.pipeline.transform_module import run_items

pytest.importorskip("llvmlite", reason=LLVMLITE)

CSR = "#sparse_tensor.encoding<{ map = (i, j) -> (i : dense, j : compressed) }>"
BSR = (
    "#sparse_tensor.encoding<{ map = (i, j) -> (i floordiv 2 : dense, j floordiv 2 : compressed, "
    "i mod 2 : dense, j mod 2 : dense) }>"
)


def module(name: str, maps: str, kinds: str, types: tuple[str, ...], body: str, attributes: str = "") -> str:
    """Returns a function with one linalg.generic, whose result is its last operand."""
    given = ", ".join(f"%{number}: {kind}" for number, kind in enumerate(types))
    *ins, out = [f"%{number}" for number in range(len(types))]
    return (
        f"#A = {CSR}\n#B = {BSR}\n"
        f"func.func @{name}({given}) -> {types[-1]} {{\n"
        f"  %r = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]{attributes}}} "
        f"ins({', '.join(ins)} : {', '.join(types[:-1])}) outs({out} : {types[-1]}) {{\n  {body} }} -> {types[-1]}\n"
        f"  return %r : {types[-1]}\n}}\n"
    )


def of_two(operator: str = "arith.mulf") -> str:
    return (
        f"^bb0(%a: f64, %b: f64, %c: f64):\n    %p = {operator} %a, %b : f64\n    %s = arith.addf %c, %p : f64\n"
        "    linalg.yield %s : f64\n"
    )


ROW, COLUMN, BOTH = (f"affine_map<(i, j) -> ({where})>" for where in ("i", "j", "i, j"))
SPMV = ("tensor<?x?xf64, #A>", "tensor<?xf64>", "tensor<?xf64>")
PARALLEL, REDUCTION = '"parallel"', '"reduction"'
# A function called `p` over an index called `p`: nobody's names are ours.
PRODUCT = module("p", f"{BOTH}, {COLUMN}, {ROW}", f"{PARALLEL}, {REDUCTION}", SPMV, of_two())
# A^T x along the rows of A: each row adds to elements of all others.
SCATTER = module("t", f"{BOTH}, {ROW}, {COLUMN}", f"{REDUCTION}, {PARALLEL}", SPMV, of_two())
SAMPLED_MAPS = ", ".join(f"affine_map<(i, j, k) -> ({where})>" for where in ("i, k", "k, j", "i, j"))


def sampled(storage: str) -> str:
    types = ("tensor<?x?xf64>", "tensor<?x?xf64>", f"tensor<?x?xf64, {storage}>")
    body = """^bb0(%a: f64, %b: f64, %s: f64):
    %zero = arith.constant 0.0 : f64
    %u = sparse_tensor.unary %s : f64 to f64
      present={ ^bb0(%p: f64): %m = arith.mulf %a, %b : f64  sparse_tensor.yield %m : f64 } absent={}
    %r = sparse_tensor.reduce %s, %u, %zero : f64 { ^bb0(%p: f64, %q: f64):
      %t = arith.addf %p, %q : f64  sparse_tensor.yield %t : f64 }
    linalg.yield %r : f64
"""
    return module("sddmm", SAMPLED_MAPS, f"{PARALLEL}, {PARALLEL}, {REDUCTION}", types, body)


def lowered(text: str, check: Callable[[ir.Module], Any], *, chip: str | None = None) -> Any:
    """Returns what a check finds in a module that was lowered to NVVM, or to PTX."""
    with mlir_context():
        made = parse_module(text)
        passes = gpu_passes.module_to_gpu()
        run_passes(made, str(passes if chip is None else passes.then(gpu_passes.ptx(chip, gpu_passes.BY_HAND))))
        return check(made)


def launches(made: ir.Module) -> int:
    return sum(op.name == "gpu.launch_func" for holder in made.body.operations for op in walk(holder.operation))


def kept(made: ir.Module) -> list[str]:
    tops = [op for holder in made.body.operations for op in walk(holder.operation)]
    return [ir.StringAttr(op.attributes["kept_on_host"]).value for op in tops if "kept_on_host" in op.attributes]


@pytest.mark.parametrize("chip", gpu_passes.CHIPS)
@pytest.mark.parametrize("text", [PRODUCT, sampled("#A"), sampled("#B")], ids=["spmv", "sddmm", "sddmm of blocks"])
def test_loops_become_kernels_that_ptxas_takes(text: str, chip: str, tmp_path: Path) -> None:
    ptx = lowered(text, ptx_of, chip=chip)
    assert f".target {chip}" in ptx
    assert ptx.count(".visible .entry kernel") == 1
    if shutil.which("ptxas") is None:
        pytest.skip(PTXAS)
    Path(tmp_path, "kernel.ptx").write_text(ptx)
    subprocess.run(["ptxas", "-arch", chip, str(tmp_path / "kernel.ptx"), "-o", "/dev/null"], check=True)


def parameters(made: ir.Module) -> list[int | str]:
    """Returns what a kernel is given: the number of the argument whose copy it is, or `size`."""
    tops = [op for holder in made.body.operations for op in walk(holder.operation)]
    (launch,) = [op for op in tops if op.name == "gpu.launch_func"]
    copies = {op.operands[1]: op.operands[2] for op in tops if op.name == "gpu.memcpy" and len(op.operands) == 3}
    found: list[int | str] = []
    for operand in list(launch.operands)[-ir.DenseI32ArrayAttr(launch.attributes["operandSegmentSizes"])[11] :]:
        if operand not in copies:
            found.append("size")
            continue
        source = copies[operand]
        while not isinstance(source.owner, ir.Block):
            source = source.owner.operation.operands[0]  # a view of an argument
        found.append(ir.BlockArgument(source).arg_number)
    return found


@pytest.mark.parametrize("shape", [(5, 7), (1500, 3), (1, 1), (3, 1)])
def test_a_kernel_computes_what_the_loops_do(shape: tuple[int, int]) -> None:
    from dialect_tests.gpu.emulator import Emulated  # needs llvmlite

    rng = np.random.default_rng(7)
    A = scipy.sparse.random(*shape, density=0.4, format="csr", rng=rng)
    x, y = rng.random(shape[1]), rng.random(shape[0])
    wanted = y + A @ x
    given = {0: A.indptr.astype(np.int64), 1: A.indices.astype(np.int64), 2: A.data, 4: x, 5: y}
    text, order = lowered(PRODUCT, lambda made: (kernels_ir(made), parameters(made)))
    words: list[int] = []
    for one in order:
        if isinstance(one, str):
            words.append(shape[0])
        else:
            address = given[one].ctypes.data
            words += [address, address, 0, len(given[one]), 1]
    Emulated(text).launch("kernel0", (1, 1, 1), (1024, 1, 1), words)
    np.testing.assert_allclose(y, wanted)


def test_loops_that_race_stay_on_the_host() -> None:
    reason = "its iterations store to elements that others load or store"
    with pytest.raises(Exception, match=f"a loop of @t stays on the host: {reason}"):
        lowered(SCATTER, launches)
    both = PRODUCT + SCATTER.split("\n", 2)[2]
    assert lowered(both, lambda made: (launches(made), kept(made))) == (1, [reason])


def test_sums_over_the_outermost_loop_have_no_kernel() -> None:
    total = module(
        "total",
        f"{BOTH}, affine_map<(i, j) -> ()>",
        f"{REDUCTION}, {REDUCTION}",
        ("tensor<?x?xf64, #A>", "tensor<f64>"),
        "^bb0(%a: f64, %c: f64):\n    %s = arith.addf %c, %a : f64\n    linalg.yield %s : f64\n",
    )
    with pytest.raises(Exception, match="a loop of @total stays on the host: its iterations add to one sum"):
        lowered(total, launches)


@pytest.mark.parametrize("text", ["module {}", "func.func @f() { return }", "func.func private @f(f64)"])
def test_modules_without_loops_are_refused(text: str) -> None:
    with pytest.raises(Exception, match="but got no loop of the sparsifier"):
        lowered(text, launches)


def test_an_attribute_called_facts_is_a_user_s_own() -> None:
    text = PRODUCT.replace("-> tensor<?xf64> {", "-> tensor<?xf64> attributes {facts = 3 : i32} {", 1)
    with mlir_context():
        made = parse_module(text)
        run_items(made, OptOptions(items=("gpu{chip=sm_80}",)))
        assert ".target sm_80" in ptx_of(made)


def test_calls_of_libraries_are_named() -> None:
    text = """func.func @f(%n: index, %m: memref<?xf16>) {
      %t0 = gpu.wait async
      %a, %t1 = gpu.create_dn_tensor async [%t0] %m, %n : index into memref<?xf16>
      %t2 = gpu.destroy_dn_tensor async [%t1] %a
      gpu.wait [%t2]
      return
    }"""
    with pytest.raises(Exception, match=r"calls of cuSPARSE, .* \(gpu.create_dn_tensor, gpu.destroy_dn_tensor\)"):
        lowered(text, launches)
