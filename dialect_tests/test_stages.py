"""Every stage of every kind of kernel: as text, after each pass, and from the command line."""

from __future__ import annotations

from typing import Any

import pytest

import mlir_sparse as ms
from mlir_sparse._mlir import mlir_context, parse_module

CSR, VECTOR = "f64[?,?] CSR", "f64[?]"


@ms.operator(left="keep", right="keep")
def larger(a: Any, b: Any) -> Any:
    return ms.where(a > b, a, b)


# What is asked for, and what must stand in the plan: a kernel of each kind that passes through other steps than loops.
KINDS: dict[str, tuple[str, dict[str, Any], str | None, str]] = {
    "one nest": ("y(i) = A(i,j) * x(j)", {"A": CSR, "x": VECTOR}, None, "loops i, j"),
    "no loops": ("a = 2 * b", {"b": "f64[]"}, None, "no loops"),
    "several nests": ("y(i) = b(i) - A(i,j) * x(j)", {"b": VECTOR, "A": CSR, "x": VECTOR}, None, "y(i) = b(i)"),
    "converted operand": ("C(i,j) = A(i,j) + B(i,j)", {"A": CSR, "B": "f64[?,?] BSR(2, 2)"}, "CSR", "convert B"),
    "converted result": ("C(i,j) = A(i,j) + B(i,j)", {"A": CSR, "B": CSR}, "DIA", "C = convert C.natural"),
    "workspace": ("C(i,j) = A(i,k) * B(k,j)", {"A": CSR, "B": CSR}, "CSR", "loops i, k, j"),
    "level space": ("y(i) = A(i,j) * x(j)", {"A": "f64[?,?] DIA", "x": VECTOR}, None, "A.levels = levels of A"),
    "gather": ("y(i) = A(I(i),j) * x(j)", {"A": CSR, "I": "i64[?]", "x": VECTOR}, None, "pick A(I(i),j)"),
    "position": ("y(i) = argmax(j : A(i,j))", {"A": CSR}, None, "argmax"),
    "extent": ("y(i) = x(i + k)", {"x": VECTOR}, None, "extent of"),
    "mask": ("C(i,j) = A(i,j) if not M(i,j)", {"A": CSR, "M": CSR}, "CSR", "if not M(i,j)"),
    "operator": ("C(i,j) = f(A(i,j), B(i,j))", {"A": CSR, "B": CSR, "f": larger}, "CSR", "f(A(i,j), B(i,j))"),
    "comprehension": (
        "def mv(float(M,K) A, float(K) x) -> (y) { y(i) = 0  y(i) += A(i,k) * x(k) }",
        {},
        None,
        "y(i) = 0",
    ),
}
MLIR = ("linalg", "sparsified", "llvm")


@pytest.fixture(scope="module", params=KINDS)
def kernel(request: pytest.FixtureRequest) -> tuple[str, Any]:
    text, operands, out, _ = KINDS[request.param]
    return request.param, ms.compile(text, out=out, **operands)


def test_every_stage_is_text(kernel: tuple[str, Any]) -> None:
    name, compiled = kernel
    texts = {stage: compiled.ir(stage) for stage in ms.STAGES}
    assert len(set(texts.values())) == len(ms.STAGES)
    assert all(text.endswith("\n") and text.strip() for text in texts.values())
    assert KINDS[name][-1] in texts["plan"]
    assert "linalg.generic" in texts["linalg"]
    assert "tensor<" not in texts["sparsified"]
    assert "sparse_tensor" not in texts["sparsified"]
    assert "llvm.func" in texts["llvm"]
    assert "scf." not in texts["llvm"]
    assert "define " in texts["llvmir"]
    assert "\tret" in texts["asm"]
    for stage in MLIR:  # steps between functions are comments; what `// -----` divides is modules
        for part in texts[stage].split("// -----\n"):
            with mlir_context():
                parse_module(part)
    with pytest.raises(ms.UnsupportedError, match=r"expected a stage of notation, plan, .*, asm, but got 'ptx'"):
        compiled.ir("ptx")


# Every pass is a request to the compiler: a few kernels must do.
@pytest.mark.parametrize("name", ["no loops", "several nests", "workspace", "comprehension"])
def test_the_passes_lead_from_stage_to_stage(name: str) -> None:
    text, operands, out, _ = KINDS[name]
    compiled: Any = ms.compile(text, out=out, **operands)
    trace = compiled.passes()
    assert trace[0].name == "input"
    assert trace[0].text in compiled.ir("linalg")
    assert compiled.ir("llvm").endswith(trace[-1].text)
    told = str(trace)  # compares each module with the one before
    assert "input:" not in told
    for snapshot in trace[1:]:
        assert snapshot.name == "input" or f"{snapshot.name}: " in told
        assert snapshot.reason
    if name != "no loops":
        changed = trace.diff("sparsification")
        assert any(line.startswith("-") for line in changed.splitlines()), changed
        assert any(line.startswith("+") for line in changed.splitlines()), changed
    with pytest.raises(ms.UnsupportedError, match=r"expected a pass of .*lower-affine.*, but got 'lower-all'"):
        trace.diff("lower-all")


def test_explain_tells_every_step(kernel: tuple[str, Any]) -> None:
    name, compiled = kernel
    told = compiled.explain()
    assert "runs on: cpu" in told
    for line in compiled.ir("plan").splitlines():
        if " = convert " in line or " = levels of " in line or " = pick " in line:
            assert line.split()[0] in told.replace(":", " ").split(), line
    assert told.count("because: ") >= 1
    assert name != "level space" or "A.levels is A over its levels" in told
