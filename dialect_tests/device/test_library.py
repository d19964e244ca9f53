"""Products by cuSPARSE and cuSPARSELt: the calls, their numbers, what the libraries do not have, and failures."""

from __future__ import annotations

import pickle
import subprocess
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.conditions import needs_ptxas
from dialect_tests.device.fake import Gpu, view
from mlir_sparse import _cuda, device
from mlir_sparse.device import Device, from_host
from mlir_sparse.dtypes import DType
from mlir_sparse.runtime.device.library_kernels import expand_ptx, scale_ptx

FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64, np.complex64, np.complex128]
SCALED = [DType.of(dtype).name for dtype in FLOATS]


def sparse(
    rows: int, columns: int, dtype: Any = np.float64, seed: int = 0, density: float = 0.3
) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(seed)
    found = np.where(rng.random((rows, columns)) < density, rng.integers(1, 8, (rows, columns)), 0).astype(dtype)
    return found * (1 + 1j) if found.dtype.kind == "c" else found


def dense(*shape: int, dtype: Any = np.float64, seed: int = 1) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(dtype)


def on(array: np.ndarray[Any, Any], number: int = 0) -> ms.DeviceArray:
    return from_host(array, Device(number))


def with_scales(gpu: Gpu) -> None:
    """Registers what the kernels beside the library's do."""
    for name in SCALED:
        kind = DType(name).numpy

        def scale(grid: Any, block: Any, slots: Any, kind: Any = kind) -> None:
            target, source = (view(slots[at], (slots[3],), kind) for at in (0, 1))
            target[:] = target * source

        gpu.kernel(f"scale_{name}", scale, 4)

    def expand(grid: Any, block: Any, slots: Any) -> None:
        count = slots[3]
        values, places = view(slots[1], (count,), np.uint16), view(slots[2], (count,), np.int32)
        target = view(slots[0], (2 * count,), np.uint16)
        target[np.arange(count) // 2 * 4 + places] = values

    gpu.kernel("expand_32", expand, 4)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("preset", ["CSR", "CSC", "SoA-COO", "BSR(2, 2)"])
def test_spmv(gpu: Gpu, preset: str, dtype: Any) -> None:
    A, x = sparse(6, 8, dtype), dense(8, dtype=dtype)
    y = ms.evaluate("y(i) = A(i,j) * x(j)", A=ms.tensor(A, preset).to("cuda"), x=on(x), target="cuda", via="library")
    assert isinstance(y, ms.DeviceArray)
    assert np.array_equal(y.to_numpy(), A @ x)
    assert gpu.sparse.names()[-2:] == [
        f"cusparseCreate{preset[-3:] if 'COO' in preset else preset[:3]}".replace("COO", "Coo")
        .replace("CSR", "Csr")
        .replace("CSC", "Csc")
        .replace("BSR", "Bsr"),
        "cusparseSpMV",
    ]


def test_the_arguments_of_spmv(gpu: Gpu) -> None:
    A = ms.tensor(sparse(6, 8, np.float32))
    ms.evaluate("y(i) = A(i,j) * x(j)", A=A.to("cuda"), x=on(dense(8, dtype=np.float32)), target="cuda", via="library")
    assert gpu.sparse.calls == [
        "cusparseCreate",
        "cusparseSetStream (nil)",
        f"cusparseCreateCsr 6 8 {A.nse} types 2 2 0",
        "cusparseSpMV on (nil) compute 0 algorithm 0",
    ]


@pytest.mark.parametrize("preset", ["CSR", "CSC"])
def test_a_transpose_is_read_from_the_same_storage(gpu: Gpu, preset: str) -> None:
    A, x = sparse(6, 8), dense(6)
    y = ms.evaluate("y(j) = A(i,j) * x(i)", A=ms.tensor(A, preset).to("cuda"), x=on(x), target="cuda", via="library")
    assert np.array_equal(y.to_numpy(), A.T @ x)
    assert gpu.driver.names().count("cuMemcpyHtoDAsync") == 4


@pytest.mark.parametrize("widths", [(32, 32), (64, 64), (64, 32)])
def test_widths(gpu: Gpu, widths: tuple[int, int]) -> None:
    A, x = sparse(6, 8), dense(8)
    there = ms.tensor(A, "CSR", pos_width=widths[0], crd_width=widths[1]).to("cuda")
    y = ms.evaluate("y(i) = A(i,j) * x(j)", A=there, x=on(x), target="cuda", via="library")
    assert np.array_equal(y.to_numpy(), A @ x)
    assert f"types {2 + (widths[0] == 64)} {2 + (widths[1] == 64)} 1" in gpu.sparse.calls[-2]


SPMM = [
    ("C(i,j) = A(i,k) * B(k,j)", lambda A, B: A @ B, (8, 5)),
    ("C(i,j) = A(i,k) * B(j,k)", lambda A, B: A @ B.T, (5, 8)),
    ("C(j,i) = A(i,k) * B(k,j)", lambda A, B: (A @ B).T, (8, 5)),
    ("C(i,j) = A(k,i) * B(k,j)", lambda A, B: A.T @ B, (6, 5)),
    ("C(i,j) = B(i,k) * A(k,j)", lambda A, B: B @ A, (5, 6)),
]


@pytest.mark.parametrize(("text", "oracle", "shape"), SPMM)
@pytest.mark.parametrize("preset", ["CSR", "CSC"])
def test_spmm_in_every_order(gpu: Gpu, text: str, oracle: Any, shape: tuple[int, int], preset: str) -> None:
    A, B = sparse(6, 8), dense(*shape)
    C = ms.evaluate(text, A=ms.tensor(A, preset).to("cuda"), B=on(B), target="cuda", via="library")
    assert np.array_equal(C.to_numpy(), oracle(A, B))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("preset", ["SoA-COO", "BSR(2, 4)"])
def test_spmm_of_other_storage(gpu: Gpu, preset: str, dtype: Any) -> None:
    A, B = sparse(6, 8, dtype), dense(8, 3, dtype=dtype)
    C = ms.evaluate(
        "C(i,j) = A(i,k) * B(k,j)", A=ms.tensor(A, preset).to("cuda"), B=on(B), target="cuda", via="library"
    )
    assert np.array_equal(C.to_numpy(), A @ B)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("preset", ["CSR", "CSC"])
def test_sddmm_multiplies_by_the_values_too(gpu: Gpu, preset: str, dtype: Any) -> None:
    with_scales(gpu)
    S, A, B = sparse(6, 8, dtype), dense(6, 3, dtype=dtype), dense(3, 8, dtype=dtype)
    there = ms.tensor(S, preset).to("cuda")
    C = ms.evaluate(
        "C(i,j) = S(i,j) * A(i,k) * B(k,j)", S=there, A=on(A), B=on(B), out=preset, target="cuda", via="library"
    )
    assert isinstance(C, ms.DeviceTensor)
    assert C.storage.arrays[0].pointer == there.storage.arrays[0].pointer
    assert np.array_equal(C.to_numpy(), S * (A @ B))


@pytest.mark.parametrize("preset", ["CSR", "CSC"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
def test_spgemm(gpu: Gpu, preset: str, dtype: Any) -> None:
    A, B = sparse(6, 8, dtype), sparse(8, 5, dtype, 7)
    a, b = (ms.tensor(one, preset).to("cuda") for one in (A, B))
    C = ms.evaluate("C(i,j) = A(i,k) * B(k,j)", A=a, B=b, out=preset, target="cuda", via="library")
    assert isinstance(C, ms.DeviceTensor)
    assert np.array_equal(C.to_numpy(), A @ B)
    ours = ms.evaluate("C(i,j) = A(i,k) * B(k,j)", A=a.to("cpu"), B=b.to("cpu"), out=preset)
    assert C.nse == ours.nse
    assert [call for call in gpu.sparse.calls if "GEMM" in call] == [
        "cusparseSpGEMM_workEstimation size",
        "cusparseSpGEMM_workEstimation run",
        "cusparseSpGEMM_compute size",
        "cusparseSpGEMM_compute run",
        "cusparseSpGEMM_copy on (nil)",
    ]


def test_auto_takes_the_library_where_it_alone_has_the_product(gpu: Gpu) -> None:
    A, B = sparse(6, 8, np.float64), sparse(8, 5, np.float64, 7)
    a, b = (ms.tensor(one, "CSR").to("cuda") for one in (A, B))
    multiply = ms.compile("C(i,j) = A(i,k) * B(k,j)", A=a, B=b, out="CSR", target="cuda")
    for kernel in (multiply, pickle.loads(pickle.dumps(multiply))):
        assert np.array_equal(kernel(a, b).to_numpy(), A @ B)
        assert kernel.explain().startswith(
            "cuSPARSE: C = spgemm(A as CSR, B as CSR)\n\nruns on: cuda, via library (codegen"
        )
    assert "cusparseSpGEMM_compute run" in gpu.sparse.calls


def test_auto_stays_with_codegen_where_both_or_neither_have_a_kernel() -> None:
    types = {"A": "f64[?,?] CSR", "B": "f64[?,?] CSR", "x": "f64[?]"}
    target: dict[str, Any] = {"target": "cuda:sm_90"}
    both = ms.compile("y(i) = A(i,j) * x(j)", A=types["A"], x=types["x"], **target)
    assert both.explain().endswith("runs on: cuda:sm_90, via codegen")
    neither = ms.compile("C(i,j) = A(i,k) * B(k,j)", A=types["A"], B=types["B"], out="COO", **target)
    with pytest.raises(ms.UnsupportedError, match=r"for a GPU, .* use target='cpu'"):
        neither.explain()


def two_of_four(rows: int, columns: int, dtype: Any) -> np.ndarray[Any, Any]:
    keep = np.zeros((rows, columns // 4, 4), bool)
    np.put_along_axis(
        keep,
        np.random.default_rng(2).permuted(np.tile([0, 1, 2, 3], (rows, columns // 4, 1)), axis=2)[..., :2],
        True,
        axis=2,
    )
    return np.where(keep.reshape(rows, columns), dense(rows, columns, dtype=np.float64), 0).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_two_of_four_goes_to_the_library_for_it(gpu: Gpu, dtype: Any) -> None:
    with_scales(gpu)
    A, B = two_of_four(32, 16, dtype), dense(16, 8, dtype=dtype)
    there = ms.tensor(A, "NV_24").to("cuda")
    multiply = ms.compile("C(i,j) = A(i,k) * B(k,j)", A=there, B=on(B), target="cuda", via="library")
    assert str(multiply.ir("plan")) == "cuSPARSELt: C = structured(A as 24, B)\n"
    expected = A.astype(np.float32) @ B.astype(np.float32)
    for _ in range(2):
        assert np.array_equal(multiply(there, on(B)).to_numpy().astype(np.float32), expected)
    names = gpu.structured.names()
    assert (names.count("cusparseLtSpMMACompress2"), names.count("cusparseLtMatmulPlanInit")) == (1, 1)


@pytest.mark.parametrize("code", [0, 10])
def test_algorithms_are_timed_once_where_a_large_product_is_computed_again(gpu: Gpu, code: int) -> None:
    with_scales(gpu)
    A, B = two_of_four(256, 128, np.float16), dense(128, 128, dtype=np.float16)
    there, right = ms.tensor(A, "NV_24").to("cuda"), on(B)
    multiply = ms.compile("C(i,j) = A(i,k) * B(k,j)", A=there, B=right, target="cuda", via="library")
    gpu.structured.fail("cusparseLtMatmulSearch", code)
    searches = []
    for _ in range(3):
        assert np.array_equal(multiply(there, right).to_numpy().astype(np.float32), A.astype(np.float32) @ B)
        searches.append(gpu.structured.names().count("cusparseLtMatmulSearch"))
    assert searches == [0, 1, 1]


def test_a_search_that_fails_is_named(gpu: Gpu) -> None:
    with_scales(gpu)
    A, B = two_of_four(256, 128, np.float16), dense(128, 128, dtype=np.float16)
    there, right = ms.tensor(A, "NV_24").to("cuda"), on(B)
    multiply = ms.compile("C(i,j) = A(i,k) * B(k,j)", A=there, B=right, target="cuda", via="library")
    multiply(there, right)
    gpu.structured.fail("cusparseLtMatmulSearch", 7)
    with pytest.raises(ms.DeviceError, match="cusparseLtMatmulSearch failed: status 7"):
        multiply(there, right)
    assert np.array_equal(multiply(there, right).to_numpy().astype(np.float32), A.astype(np.float32) @ B)


def test_values_that_others_may_write_to_are_compressed_for_each_call(gpu: Gpu) -> None:
    with_scales(gpu)
    A, B = two_of_four(16, 16, np.float16), dense(16, 8, dtype=np.float16)
    there = ms.tensor(A, "NV_24").to("cuda")
    values = there.storage.values
    multiply = ms.compile("C(i,j) = A(i,k) * B(k,j)", A=there, B=on(B), target="cuda", via="library")
    multiply(there, on(B))
    view(values.pointer, values.shape, np.float16)[:] *= 2
    assert np.array_equal(multiply(there, on(B)).to_numpy(), 2 * (A @ B))


def test_what_the_library_for_two_of_four_does_not_take_is_refused(gpu: Gpu) -> None:
    with_scales(gpu)
    A, B = two_of_four(12, 16, np.float16), dense(16, 8, dtype=np.float16)
    with pytest.raises(
        ms.UnsupportedError, match=r"expected a matrix in NV_24 of multiples of 16 .* but got 12 x 16 and 16 x 8"
    ):
        ms.evaluate(
            "C(i,j) = A(i,k) * B(k,j)", A=ms.tensor(A, "NV_24").to("cuda"), B=on(B), target="cuda", via="library"
        )
    gpu.structured.loaded.fake_version(500)
    try:
        A = two_of_four(16, 16, np.float16)
        with pytest.raises(ms.UnsupportedError, match=r"expected cuSPARSELt 0.6 or newer, but got version 500"):
            ms.evaluate(
                "C(i,j) = A(i,k) * B(k,j)",
                A=ms.tensor(A, "NV_24").to("cuda:1"),
                B=on(B, 1),
                target="cuda",
                via="library",
            )
    finally:
        gpu.structured.loaded.fake_version(602)


REFUSED = [
    ("y(i) = A(i,j) * x(j)", {"A": "f64[?,?] COO", "x": "f64[?]"}, "expected A in CSR, CSC, SoA-COO, BSR or NV_24"),
    ("y(i) = A(i,j) * x(j)", {"A": "i32[?,?] CSR", "x": "i32[?]"}, "expected operands and a result of one type of f16"),
    (
        "y(j) = A(i,j) * x(i)",
        {"A": "f64[?,?] SoA-COO", "x": "f64[?]"},
        "expected A in CSR or CSC to be read by columns",
    ),
    ("y(i) = 2 * A(i,j) * x(j)", {"A": "f64[?,?] CSR", "x": "f64[?]"}, "a product of tensors, each read once"),
    ("C(i,j) = A(i,k) * B(k,j)", {"A": "f32[?,?] NV_24", "B": "f32[?,?]"}, "expected f16 or bf16 for cuSPARSELt"),
    ("C(i,j) = A(i,k) * B(k,j)", {"A": "f64[?,?] CSR", "B": "f64[?,?] CSC"}, "SpGEMM of CSR to CSR, or of CSC to CSC"),
    ("C(i,j) = A(i,j) + B(i,j)", {"A": "f64[?,?] CSR", "B": "f64[?,?] CSR"}, "a product of tensors, each read once"),
    ("y(i) = A(i,i) * x(i)", {"A": "f64[?,?] CSR", "x": "f64[?]"}, "one that reads no diagonal"),
    (
        "D(i,l) = A(i,j,k) * B(j,l) * C(k,l)",
        {"A": "f64[?,?,?] CSF", "B": "f64[?,?]", "C": "f64[?,?]"},
        "SpMV, SpMM, SDDMM or SpGEMM",
    ),
]


@pytest.mark.parametrize(("text", "types", "rule"), REFUSED)
def test_what_the_libraries_do_not_have_is_refused_before_anything_runs(
    text: str, types: dict[str, str], rule: str
) -> None:
    with pytest.raises(ms.UnsupportedError) as raised:
        ms.compile(text, target="cuda:sm_90", via="library", **types)
    assert rule in str(raised.value)
    assert 'use via="codegen"' in str(raised.value)


def test_what_the_version_at_hand_does_not_have_is_refused_by_its_own_word(gpu: Gpu) -> None:
    gpu.sparse.fail("cusparseSpMV_bufferSize", 10)
    with pytest.raises(ms.UnsupportedError, match="CUSPARSE_STATUS_NOT_SUPPORTED"):
        ms.evaluate(
            "y(i) = A(i,j) * x(j)", A=ms.tensor(sparse(4, 4)).to("cuda"), x=on(dense(4)), target="cuda", via="library"
        )


@pytest.mark.parametrize(
    ("name", "code", "kind"), [("cusparseSpMV", 6, ms.DeviceError), ("cusparseCreateCsr", 11, ms.DeviceMemoryError)]
)
def test_failures_leave_nothing_and_the_next_call_works(gpu: Gpu, name: str, code: int, kind: type[Exception]) -> None:
    A, x = ms.tensor(sparse(4, 4)).to("cuda"), on(dense(4))
    spmv = ms.compile("y(i) = A(i,j) * x(j)", A=A, x=x, target="cuda", via="library")
    alive = _cuda.live_allocations()
    gpu.sparse.fail(name, code)
    with pytest.raises(kind, match=f"{name} failed: CUSPARSE_STATUS"):
        spmv(A, x)
    assert _cuda.live_allocations() == alive
    assert np.array_equal(spmv(A, x).to_numpy(), sparse(4, 4) @ dense(4))


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (3, 4)])
def test_empty_operands(gpu: Gpu, shape: tuple[int, int]) -> None:
    A, x = ms.tensor(np.zeros(shape)).to("cuda"), on(dense(shape[1]))
    y = ms.evaluate("y(i) = A(i,j) * x(j)", A=A, x=x, target="cuda", via="library")
    assert np.array_equal(y.to_numpy(), np.zeros(shape[0]))
    B = on(dense(shape[1], 0))
    assert ms.evaluate("C(i,j) = A(i,k) * B(k,j)", A=A, B=B, target="cuda", via="library").shape == (shape[0], 0)
    square = ms.tensor(np.zeros((shape[1], 2))).to("cuda")
    C = ms.evaluate("C(i,j) = A(i,k) * B(k,j)", A=A, B=square, target="cuda", via="library")
    assert (C.nse, C.to_numpy().tolist()) == (0, np.zeros((shape[0], 2)).tolist())


def test_results_into_arrays_that_are_there(gpu: Gpu) -> None:
    A, x, y = ms.tensor(sparse(4, 4)).to("cuda"), on(dense(4)), on(np.full(4, np.nan))
    spmv = ms.compile("y(i) = A(i,j) * x(j)", A=A, x=x, target="cuda", via="library")
    assert spmv(A, x, out=y) is y
    assert np.array_equal(y.to_numpy(), sparse(4, 4) @ dense(4))
    assert spmv(A, x, out=x) is x
    assert np.array_equal(x.to_numpy(), sparse(4, 4) @ dense(4))


def test_work_goes_to_the_current_stream(gpu: Gpu) -> None:
    A, x, stream = ms.tensor(sparse(4, 4)).to("cuda"), on(dense(4)), device.Stream()
    with device.on_stream(stream):
        y = ms.evaluate("y(i) = A(i,j) * x(j)", A=A, x=x, target="cuda", via="library")
    assert f"cusparseSpMV on {stream.handle:#x}" in gpu.sparse.calls[-1]
    assert np.array_equal(y.to_numpy(), sparse(4, 4) @ dense(4))


@needs_ptxas
@pytest.mark.parametrize("chip", ["sm_80", "sm_90"])
def test_the_kernels_beside_are_taken_by_ptxas(chip: str, tmp_path: Path) -> None:
    texts = [*(scale_ptx(DType(name)) for name in SCALED), *(expand_ptx(bits) for bits in (8, 16, 32, 64))]
    for text in texts:
        (tmp_path / "kernel.ptx").write_text(text)
        subprocess.run(["ptxas", "-arch", chip, str(tmp_path / "kernel.ptx"), "-o", "/dev/null"], check=True)
