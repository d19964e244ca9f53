"""Probes the bindings of this process: whether they have what kernels are compiled with, and compile right.

It runs where a death does no harm: in the compiler's process before its first answer, or in one of its own.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import NoReturn

from mlir_sparse._mlir import ir
from mlir_sparse._mlir.golden_compile import compile_golden
from mlir_sparse._mlir.kept_probes import Probe, keep_probe, kept_probe
from mlir_sparse._mlir.mlir_context import diagnostics_of, mlir_context, parse_module
from mlir_sparse._mlir.needed_names import missing_names
from mlir_sparse._mlir.older_passes import is_registered, pass_manager
from mlir_sparse._mlir.probe_process import ENDED, STEP, UNFIT
from mlir_sparse._mlir.provider import bindings

__all__ = ["DIALECTS", "PASSES", "main", "probe_here", "require_fit"]

DIALECTS = ("arith", "func", "linalg", "llvm", "math", "memref", "scf", "sparse_tensor", "tensor", "vector")
"""The dialects that kernels go through."""
PASSES = (
    "arith-emulate-unsupported-floats{source-types=bf16 target-type=f32}",
    "arith-expand{include-bf16=true}",
    "canonicalize",
    "convert-complex-to-libm",
    "convert-complex-to-standard",
    "convert-linalg-to-loops",
    "convert-math-to-funcs",
    "convert-math-to-libm",
    "convert-math-to-llvm",
    "convert-scf-to-cf",
    "convert-to-llvm",
    "convert-vector-to-llvm{force-32bit-vector-indices=true reassociate-fp-reductions=false}",
    "convert-vector-to-scf",
    "cse",
    "empty-tensor-to-alloc-tensor",
    "expand-realloc",
    "expand-strided-metadata",
    "generate-runtime-verification",
    "linalg-fuse-elementwise-ops",
    "linalg-generalize-named-ops",
    "loop-invariant-code-motion",
    "lower-affine",
    "lower-sparse-ops-to-foreach",
    "one-shot-bufferize{bufferize-function-boundaries=true function-boundary-type-conversion=identity-layout-map}",
    "pre-sparsification-rewrite",
    "reconcile-unrealized-casts",
    "sparse-reinterpret-map",
    "sparse-storage-specifier-to-llvm",
    "sparse-tensor-codegen",
    "sparse-vectorization{enable-simd-index32=true vl=4}",
    "sparsification{parallelization-strategy=none sparse-emit-strategy=functional}",
    "sparsification-and-bufferization{enable-gpu-libgen=false vl=4}",
    "trivial-dce",
)
"""MLIR's passes in this package's pipelines for processors, with options that not all versions have."""


def _modules() -> str:
    names = ("ir", "passmanager", "execution_engine", *(f"dialects.{name}" for name in DIALECTS))
    missing = [name for name in names if not _has_module(name)]
    if missing or not hasattr(bindings().module("execution_engine"), "ExecutionEngine"):
        raise ValueError(f"no modules {', '.join(missing)}" if missing else "no ExecutionEngine in execution_engine")
    return "modules ir, passmanager, execution_engine with ExecutionEngine"


def _has_module(name: str) -> bool:
    try:
        bindings().module(name)
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith(bindings().name):
            raise  # what the bindings themselves need
        return False
    return True


def _names() -> str:
    missing = missing_names()
    if missing:
        raise ValueError(f"no {', '.join(missing)} in ir")
    with mlir_context():
        attributes = list(parse_module("module @named {}").operation.attributes)
    if attributes != ["sym_name"]:
        raise ValueError("no names of attributes where those of an operation are iterated over")
    return "classes of ir, with their methods"


def _dialects() -> str:
    with mlir_context() as context:
        missing = [name for name in DIALECTS if not _is_dialect(context, name)]
    if missing:
        raise ValueError(f"no dialects {', '.join(missing)}")
    return f"dialects {', '.join(DIALECTS)}"


def _is_dialect(context: ir.Context, name: str) -> bool:
    try:
        context.get_dialect_descriptor(name)
    except (ValueError, RuntimeError, ir.MLIRError):
        return False
    return True


def _passes() -> str:
    with mlir_context():
        if not is_registered("sparsifier"):
            raise ValueError("no pipeline `sparsifier`")
        missing = [one for one in PASSES if not _parses(one)]
    if missing:
        raise ValueError(f"no passes {', '.join(missing)}")
    return f"pipeline sparsifier, and {len(PASSES)} passes with their options"


def _parses(item: str) -> bool:
    try:
        pass_manager(f"any({item})")
    except (ValueError, ir.MLIRError):
        return False
    return True


def _golden() -> str:
    compile_golden()
    return "SpMV on CSR has the loops expected, and the result"


_STEPS: tuple[tuple[str, Callable[[], str]], ...] = (
    ("importing its modules", _modules),
    ("looking for classes of ir", _names),
    ("looking for dialects", _dialects),
    ("looking for passes", _passes),
    ("compiling SpMV on CSR", _golden),
)


def probe_here(begin: Callable[[str], object] = bool) -> Probe:
    """Probes the bindings of this process.

    Args:
        begin: takes the name of each step before it runs: one may end this process.
    """
    found: list[str] = []
    for name, step in _STEPS:
        begin(name)
        try:
            found.append(step())
        except ImportError as error:  # other libraries in other places would change it
            return Probe(tuple(found), f"{name} failed: {error}", lasting=False)
        except Exception as error:
            return Probe(tuple(found), diagnostics_of(error) or f"{name} failed: {type(error).__name__}", lasting=True)
    return Probe(tuple(found), "", lasting=True)


_fit: set[str] = set()


def require_fit() -> None:
    """Ends this process where its bindings cannot compile kernels; an earlier probe, of any process, will do."""
    name = bindings().name
    if name in _fit:
        return
    probe = kept_probe(name)
    if probe is None or probe.missing:
        probe = _probed_and_kept(name)
    if probe.missing:
        _end(probe.missing)
    _fit.add(name)


def main(asked: object) -> None:
    """Probes the bindings, keeps the result, and says on standard output what was found, a line for each step."""
    try:
        name = bindings().name
    except ImportError as error:
        _end(str(error.__cause__ or error))
    probe = _probed_and_kept(name)
    print("\n".join(probe.found), flush=True)
    if probe.missing:
        _end(probe.missing)


def _probed_and_kept(name: str) -> Probe:
    probe = probe_here(_tell)
    keep_probe(name, probe, _loaded_folders())
    _tell(ENDED)
    return probe


def _end(missing: str) -> NoReturn:
    print(missing, file=sys.stderr, flush=True)
    sys.exit(UNFIT)


def _tell(step: str) -> None:
    print(f"{STEP}{step}", file=sys.stderr, flush=True)


def _loaded_folders() -> list[str]:
    """Returns the folders of the native libraries that the bindings of this process are."""
    files = (getattr(module, "__file__", None) for name, module in list(sys.modules.items()) if "_mlir_libs" in name)
    return sorted({os.path.dirname(file) for file in files if file})
