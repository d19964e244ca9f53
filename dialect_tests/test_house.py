"""The house rules: what lies where, who imports whom, and what every public name owes its reader."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import grimp
import pytest

import mlir_sparse
from mlir_sparse import DTYPES

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "mlir_sparse"
TOP_LEVEL = {
    "pyproject.toml",
    "README.md",
    "CMakeLists.txt",
    "LICENSE",
    "CITATION.cff",  # GitHub shows it from here only
    "mlir_sparse",
    "dialect_tests",
    "lit",
    "scripts",
}
# Users know these as functions: what a module gets by such a name depends on the order of imports.
FUNCTIONS = {"compile", "encoding", "tensor"}
SUBPACKAGES = {path.name for path in PACKAGE.iterdir() if path.is_dir()} - FUNCTIONS | {"_cuda", "_native", "_search"}
MODULES = sorted(
    ".".join(("mlir_sparse", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
    for path in PACKAGE.rglob("*.py")
    if path.name != "__main__.py"
)


@cache
def tree(path: Path) -> ast.Module:
    """Returns what stands in a module, parsed once for all rules."""
    return ast.parse(path.read_text())


def test_the_top_level_holds_what_it_may() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    top = {line.split("/")[0] for line in listed.stdout.splitlines()}
    assert {name for name in top if not name.startswith(".")} <= TOP_LEVEL


def test_a_contract_is_broken_by_an_import_that_it_forbids() -> None:
    """That none is broken, `scripts/check` sees."""
    graph = grimp.build_graph("mlir_sparse", include_external_packages=True, cache_dir=None)
    graph.add_import(importer="mlir_sparse.notation.ast", imported="mlir_sparse.encoding.encoding_value")
    layers = ({"mlir_sparse.notation", "mlir_sparse.encoding"}, "mlir_sparse.text")
    assert graph.find_illegal_dependencies_for_layers(layers)


def test_only_the_command_line_imports_the_package_as_users_do() -> None:
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.parent.name == "tools":
            continue
        for node in ast.walk(tree(path)):
            match node:
                case ast.ImportFrom(module="mlir_sparse", names=names) if {a.name for a in names} - SUBPACKAGES:
                    found.append(f"{path.relative_to(PACKAGE)}:{node.lineno}")
                case ast.Import(names=names) if "mlir_sparse" in [alias.name for alias in names]:
                    found.append(f"{path.relative_to(PACKAGE)}:{node.lineno}")
    assert found == []


# MLIR for speed of import; SciPy because it is an extra; compiled parts of the dev tools because nothing needs them.
HEAVY = ("mlir", "torch_mlir", "mlir_finch", "scipy", "ml_dtypes", "click", "llvmlite", "torch")


@pytest.fixture(scope="module")
def loaded() -> list[str]:
    """Returns the modules that importing the package and the rooms of its front half loads."""
    code = "import mlir_sparse, mlir_sparse.plan, mlir_sparse.tensor, mlir_sparse.notation, sys; print(*sys.modules)"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


def test_import_loads_no_compiler(loaded: list[str]) -> None:
    assert "mlir_sparse.plan" in loaded
    assert {name.partition(".")[0] for name in loaded} & set(HEAVY) == set()


def test_import_loads_no_passes(loaded: list[str]) -> None:
    """They run in the compiler's process, which alone has to load them."""
    rooms = ("mlir_sparse.assembly", "mlir_sparse.gpu", "mlir_sparse.strategies")
    assert [name for name in loaded if name.startswith(rooms)] == []


@pytest.mark.parametrize("name", mlir_sparse.__all__)
def test_public_names_exist_and_are_documented(name: str) -> None:
    value = getattr(mlir_sparse, name)
    if inspect.isroutine(value) or inspect.isclass(value):
        assert (inspect.getdoc(value) or "").strip(), f"{name} has no docstring"


def test_modules_say_what_they_export() -> None:
    assert {module: faults for module in MODULES if (faults := _export_faults(module))} == {}


def _export_faults(module: str) -> list[str]:
    loaded = importlib.import_module(module)
    exported = getattr(loaded, "__all__", [])
    faults = [] if (loaded.__doc__ or "").strip() else ["no docstring"]
    faults += [f"{name} twice" for name, count in Counter(exported).items() if count > 1]
    for name in exported:
        try:
            value = getattr(loaded, name)
        except mlir_sparse.MissingPackageError:  # a subclass of PyTorch's
            continue
        if (inspect.isroutine(value) or inspect.isclass(value)) and not (inspect.getdoc(value) or "").strip():
            faults.append(f"{name} has no docstring")
    return faults


def test_no_two_modules_have_one_name() -> None:
    names = [path.stem for path in PACKAGE.rglob("*.py") if not path.stem.startswith("__")]
    assert [name for name, count in Counter(names).items() if count > 1] == []


def test_no_two_public_classes_have_one_name() -> None:
    nodes = [node for path in PACKAGE.rglob("*.py") for node in tree(path).body]
    names = [node.name for node in nodes if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]
    assert [name for name, count in Counter(names).items() if count > 1] == []


def test_every_package_is_found_by_import() -> None:
    found = {name for _, name, _ in pkgutil.walk_packages([str(PACKAGE)], "mlir_sparse.")}
    assert {name for name in MODULES if name != "mlir_sparse"} <= found


def test_the_command_line_uses_public_names_only() -> None:
    private = []
    for path in sorted((PACKAGE / "tools").rglob("*.py")):
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ImportFrom):
                names = {alias.name for alias in node.names if alias.name.startswith("_")} - {
                    "_cuda",
                    "_native",
                    "_search",
                }
                private += [f"{path.name}:{node.lineno} imports {name}" for name in names]
    assert private == []


# Rooms that read and write MLIR: what its bindings hold has types, in the stub of `_mlir.ir`.
TYPED = ("assembly", "gpu", "loops", "lower", "pipeline", "strategies")


def test_rooms_that_work_on_mlir_leave_no_types_open() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for room in TYPED
        for path in sorted((PACKAGE / room).rglob("*.py"))
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Name) and node.id == "Any"
    ]
    assert len(found) <= 1, found  # a module of llvmlite's, which has no types


def test_modules_stay_small() -> None:
    lines = {path.relative_to(PACKAGE): len(path.read_text().splitlines()) for path in PACKAGE.rglob("*.py")}
    assert {path: count for path, count in lines.items() if count > 400} == {}


def test_no_property_has_a_lock_that_a_fork_may_leave_closed() -> None:
    """`functools.cached_property` of Python 3.11 has one: `process/forks.py` has the property without."""
    locked = [
        str(path.relative_to(PACKAGE))
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(tree(path))
        if path.name != "forks.py" and isinstance(node, ast.ImportFrom) and node.module == "functools"
        if "cached_property" in {name.name for name in node.names}
    ]
    assert locked == []


def test_element_types_are_named_in_their_table_alone() -> None:
    """Everything else asks the table: `dtype.is_complex`, `dtype.accumulated_in`, or a type by what it is for."""
    named = {text for dtype in DTYPES for text in (dtype.name, dtype.numpy_name, dtype.mlir)}
    found = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}: {node.value}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(tree(path))
        if path.name != "dtypes.py" and isinstance(node, ast.Constant) and node.value in named
    ]
    assert found == []
