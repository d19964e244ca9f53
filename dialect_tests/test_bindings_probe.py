"""Which bindings are taken, what a probe finds in them, and what is said of those that cannot compile kernels."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from mlir_sparse._mlir import (
    bindings_probe,
    death_in_probe,
    golden_compile,
    mlir_context,
    older_passes,
    parse_module,
    pass_manager,
    probe_elsewhere,
)
from mlir_sparse._mlir.kept_probes import Probe, keep_probe, kept_folders, kept_probe
from mlir_sparse._mlir.provider import bindings, bindings_name
from mlir_sparse.errors import BindingsError
from mlir_sparse.pipeline import cpu, module_to_buffers, module_to_llvm, sparsifier
from mlir_sparse.pipeline.own_passes import OWN_PASSES
from mlir_sparse.pipeline.pass_values import pass_name

SPMV = """
import numpy as np
import mlir_sparse as ms
from mlir_sparse._mlir import bindings_name, bindings_stamp
from mlir_sparse.pipeline import compiler_process
A = ms.tensor(np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]))
stamp = bindings_stamp()
print(ms.evaluate("y(i) = A(i,j) * x(j)", A=A, x=np.arange(3.0)))
print(bindings_name(), "compiled" if compiler_process._worker else "kept")
print(stamp)
"""
# The module stands for one of the installed bindings, in a package of another name.
_ALIAS = "import importlib, sys\nsys.modules[__name__] = importlib.import_module({!r})\n"


def run(*path: Path, **changed: str) -> subprocess.CompletedProcess[str]:
    """Runs SpMV in a new process, which has no settings but these."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MLIR_SPARSE_")}
    environment |= {"PYTHONPATH": os.pathsep.join(map(str, path)), **changed}
    return subprocess.run(
        [sys.executable, "-c", SPMV], env=environment, capture_output=True, text=True, timeout=250, check=False
    )


def aliases(package: Path, **changed: str) -> None:
    """Writes a package of bindings that are those installed, but for the text of some modules, `dialects_x` dotted."""
    (package / "dialects").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "dialects" / "__init__.py").write_text("")
    dialects = (f"dialects.{name}" for name in bindings_probe.DIALECTS)
    for module in ("ir", "passmanager", "execution_engine", *dialects):
        text = changed.get(module.replace(".", "_"), _ALIAS.format(f"{bindings().name}.{module}"))
        (package / f"{module.replace('.', '/')}.py").write_text(text)


# -- the probe --------------------------------------------------------------------------------------------------------


def test_the_bindings_installed_are_fit() -> None:
    steps: list[str] = []
    probe = bindings_probe.probe_here(steps.append)
    assert (probe.missing, probe.lasting) == ("", True)
    assert len(probe.found) == len(steps) == 5


def test_passes_looked_for_are_those_of_the_pipelines() -> None:
    pipelines = (cpu(), sparsifier(4), sparsifier(4, "compute"), module_to_buffers(4), module_to_llvm())
    named = {step.name for pipeline in pipelines for step in pipeline.passes} - set(OWN_PASSES)
    assert {pass_name(item) for item in bindings_probe.PASSES} == named


@pytest.mark.parametrize(
    ("name", "value", "missing"),
    [
        ("DIALECTS", ("arith", "sparse_vector"), "no modules dialects.sparse_vector"),
        ("PASSES", ("cse", "sparse-gpu-magic", "cse{depth=3}"), "no passes sparse-gpu-magic, cse{depth=3}"),
    ],
)
def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, name: str, value: object, missing: str) -> None:
    monkeypatch.setattr(bindings_probe, name, value)
    assert bindings_probe.probe_here().missing == missing


@pytest.mark.parametrize(
    ("name", "value", "missing"),
    [
        ("_LOOPS", "for(load for(load load))", "expected the loops for(load for(load load)) of y(i) = A(i,j) * x(j), "),
        ("_RESULT", [54.0, 1.0, 55.0], "expected y = [54.0, 1.0, 55.0] of A(i,j) * x(j), but got [54.0, 1.0, 56.0]"),
    ],
)
def test_other_loops_or_results_are_seen(
    monkeypatch: pytest.MonkeyPatch, name: str, value: object, missing: str
) -> None:
    monkeypatch.setattr(golden_compile, name, value)
    assert bindings_probe.probe_here().missing.startswith(missing)


def test_loops_are_told_by_what_is_in_them_and_not_by_names() -> None:
    text = """
    func.func @f(%{0}: memref<?xf64>, %{1}: index, %{2}: index) {{
      scf.for %{3} = %{1} to %{2} step %{1} {{
        %{4} = memref.load %{0}[%{3}] : memref<?xf64>
        %{5} = arith.addi %{3}, %{1} : index
        memref.store %{4}, %{0}[%{5}] : memref<?xf64>
      }}
      return
    }}"""
    with mlir_context():
        for names in ("abcdef", "uvwxyz"):
            module = parse_module(text.format(*names))
            assert golden_compile.loops_of(module.body.operations[0].operation) == "for(load store)"


def test_an_older_pass_stands_for_a_newer_one_and_no_name_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(older_passes, "_STANDS_FOR", {"no-such-pass": "cse", "canonicalize": "symbol-dce"})
    with mlir_context():
        assert str(pass_manager("builtin.module(func.func(no-such-pass),canonicalize)")).startswith(
            "builtin.module(func.func(cse),canonicalize"
        )
        with pytest.raises(ValueError, match="no-such-pass-2"):
            pass_manager("builtin.module(no-such-pass-2)")


@pytest.mark.parametrize(
    ("status", "said", "how"),
    [
        (94, "probe: a\nprobe: ended\nno dialects scf", "no dialects scf"),
        (-11, "probe: a\nprobe: compiling SpMV on CSR", "compiling SpMV on CSR ended its process by SIGSEGV"),
        (1, "probe: a\nerror: b", "a ended its process with status 1: error: b"),
        (-11, "probe: a\nprobe: ended", None),
        (1, "MemoryError", None),
        (1, "", None),
    ],
)
def test_how_a_process_ended(status: int, said: str, how: str | None) -> None:
    assert death_in_probe(status, said) == how


# -- kept on disk -----------------------------------------------------------------------------------------------------


def test_a_kept_probe_is_that_of_the_same_libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLIR_SPARSE_CACHE", str(tmp_path / "kept"))
    library = tmp_path / "libMLIR.dylib"
    library.write_bytes(b"1")
    name, found = bindings().name, Probe(("everything",), "", lasting=True)
    assert kept_probe(name) is None
    keep_probe(name, Probe((), "no library", lasting=False), [str(tmp_path)])
    assert kept_probe(name) is None
    keep_probe(name, found, [str(tmp_path)])
    assert kept_probe(name) == found
    assert kept_folders(name) == (str(tmp_path),)
    (kept,) = (tmp_path / "kept").iterdir()
    whole = kept.read_bytes()
    for damaged in (b"", whole[:-9], b"[]", b'{"files": 3}', whole.replace(b'"everything"', b"7")):
        kept.write_bytes(damaged)
        assert kept_probe(name) is None
    kept.write_bytes(whole)
    library.write_bytes(b"12")
    assert kept_probe(name) is None


def test_a_second_process_does_not_probe(tmp_path: Path) -> None:
    first = run(MLIR_SPARSE_CACHE=str(tmp_path))
    assert first.returncode == 0, first.stderr
    (kept,) = tmp_path.glob("*.bindings")
    fit = kept.read_text()
    # What a second probe would not say.
    kept.write_text(fit.replace("SpMV on CSR", "SPMV ON CSR"))
    for kernel in tmp_path.glob("*.kernel"):
        kernel.unlink()
    second = run(MLIR_SPARSE_CACHE=str(tmp_path))
    assert second.stdout == first.stdout, second.stderr
    assert "SPMV ON CSR" in kept.read_text()


# -- bindings of other names ------------------------------------------------------------------------------------------


def test_a_dotted_name_is_bindings_as_others_and_its_kernels_are_kept(tmp_path: Path) -> None:
    """Its libraries are in another package: a first process finds them, and later ones take kernels of these alone."""
    aliases(tmp_path / "path" / "vendor" / "compiler")
    setting = {"MLIR_SPARSE_BINDINGS": "vendor.compiler", "MLIR_SPARSE_CACHE": str(tmp_path / "kept")}
    ends = [run(tmp_path / "path", **setting) for _ in range(2)]
    first, second = (end.stdout.splitlines() for end in ends)
    assert first[:2] == ["[4. 3.]", "vendor.compiler compiled"], ends[0].stderr
    assert second[:2] == ["[4. 3.]", "vendor.compiler kept"], ends[1].stderr
    assert "_mlir_libs" not in first[2]
    assert "_mlir_libs" in second[2]


def test_bindings_that_lack_something_are_named_with_it(tmp_path: Path) -> None:
    aliases(tmp_path / "path" / "vendor", dialects_sparse_tensor="raise ModuleNotFoundError(name=__name__)")
    done = run(tmp_path / "path", MLIR_SPARSE_BINDINGS="vendor", MLIR_SPARSE_CACHE="off")
    assert done.stderr.strip().splitlines()[-1] == (
        "mlir_sparse.errors.BindingsError: expected the bindings vendor unknown to compile kernels, but got no modules "
        "dialects.sparse_tensor: install MLIR's Python bindings with `pip install torch-mlir`, or set "
        "MLIR_SPARSE_BINDINGS to the module that has them (`mlir-sparse doctor` probes them)"
    )


def test_bindings_that_cannot_be_imported_are_named_with_the_reason(tmp_path: Path) -> None:
    aliases(tmp_path / "path" / "vendor", ir="raise ImportError('libLLVM.so: cannot open shared object file')")
    done = run(tmp_path / "path", MLIR_SPARSE_BINDINGS="vendor", MLIR_SPARSE_CACHE="off")
    assert "but got importing vendor.ir failed: libLLVM.so: cannot open shared object file: install" in done.stderr


def test_a_compiler_that_dies_in_its_probe_is_the_bindings_fault(tmp_path: Path) -> None:
    aliases(tmp_path / "path" / "vendor", dialects_math="import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)")
    done = run(tmp_path / "path", MLIR_SPARSE_BINDINGS="vendor", MLIR_SPARSE_CACHE="off")
    assert "BindingsError: expected the bindings vendor unknown to compile kernels, but got importing its modules " in (
        done.stderr
    )
    assert "ended its process by SIGSEGV" in done.stderr


@pytest.mark.skipif(find_spec("mlir") is not None, reason="expected no `mlir` that is fit: it is taken")
def test_unfit_candidates_are_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, new_compilers: None) -> None:
    """Before those of PyPI comes `mlir`, whoever built it: here one without a pass manager."""
    aliases(tmp_path / "path" / "mlir")
    (tmp_path / "path" / "mlir" / "passmanager.py").unlink()
    monkeypatch.syspath_prepend(tmp_path / "path")
    assert probe_elsewhere("mlir").missing == "no modules passmanager"
    bindings_name.cache_clear()
    assert bindings_name() == bindings().name
    monkeypatch.setattr("mlir_sparse._mlir.provider.CANDIDATES", ("mlir", "mlir_finch"))
    monkeypatch.setattr("mlir_sparse._mlir.provider._ON_PROBATION", ("mlir",))
    bindings_name.cache_clear()
    with pytest.raises(BindingsError, match=r"bindings that can compile kernels, but got mlir: no modules passmanager"):
        bindings_name()
    bindings_name.cache_clear()
