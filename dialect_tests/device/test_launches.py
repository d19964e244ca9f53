"""Launches on a device: what is passed to the driver, what is kept between calls, mistakes, numbers by emulation."""

from __future__ import annotations

import pickle
import timeit
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import mlir_sparse as ms
from dialect_tests.device.fake import ILLEGAL_ADDRESS, Gpu, launches_of, view
from mlir_sparse import _cuda, device
from mlir_sparse.compile.gpu_kernel import GpuKernel
from mlir_sparse.device import Device, DeviceArray, from_host
from mlir_sparse.dtypes import DType
from mlir_sparse.program.launch_program import LaunchProgram, MakeArray, MakeShared
from mlir_sparse.program.launch_values import Array, Choice, Launch, LevelBuffer, Work
from mlir_sparse.program.size_values import AxisSize, Extent, Fixed, LevelSize, Longest, Positions, Stored, Within
from mlir_sparse.runtime.device.run_launches import DeviceProgram
from mlir_sparse.tools.cli import main

PTX = ".version 8.0\n.target sm_80\n.visible .entry double_it()\n.visible .entry long_rows()\n"
BUFFERS = tuple(LevelBuffer("A", number) for number in range(3))
COUNTS = (
    LevelSize("A", 0),
    Stored("A", 1),
    Positions("A", 1),
    Longest("A", 1),
    AxisSize("x", 0),
    Extent("i"),
    Fixed(7),
)
A_ROWS = np.array([[1.0, 2, 3], [0, 0, 0], [4, 0, 0]])


def program(
    *steps: Launch | Choice, makes: Any = None, result: str = "y", ptx: str = PTX, chip: str = "sm_80"
) -> DeviceProgram:
    made = makes or (MakeArray("y", DType("f64"), (Extent("i"),)),)
    return DeviceProgram(LaunchProgram(ptx, chip, made, steps, result), ("A", "x"), "y(i) = A(i,j) * x(j)")


def launch(kernel: str = "double_it", *, parameters: Any = ()) -> Launch:
    return Launch(kernel, (Work((Extent("i"),), 2), Work(), Work()), (64, 1, 1), tuple(parameters))


def operands(where: int = 0) -> dict[str, Any]:
    return {"A": ms.tensor(A_ROWS).to(f"cuda:{where}"), "x": from_host(np.ones(3), Device(where))}


def run(made: DeviceProgram, values: dict[str, Any], where: int = 0) -> Any:
    return made.prepare(values, {"i": 3, "j": 3}, Device(where)).run(tuple(values.values()), None)


def test_parameters_come_in_order(gpu: Gpu) -> None:
    seen: list[Any] = []
    gpu.kernel("double_it", lambda grid, block, slots: seen.append((grid, block, list(slots))), 12)
    values = operands()
    y = run(program(launch(parameters=(*BUFFERS, Array("x"), Array("y"), *COUNTS))), values)
    A, x = values["A"], values["x"]
    addresses = [array.pointer for array in A.storage.arrays]
    assert seen == [((2, 1, 1), (64, 1, 1), [*addresses, x.pointer, y.pointer, 3, 4, 4, 3, 3, 3, 7])]
    assert y.shape == (3,)


def test_a_module_is_loaded_once_a_device_and_unloaded_with_the_program(gpu: Gpu) -> None:
    gpu.kernel("double_it", lambda grid, block, slots: None, 0)
    made = program(launch())
    for where in (0, 0, 1):
        run(made, operands(where), where)
    assert gpu.driver.names().count("cuModuleLoadDataEx") == 2
    assert gpu.driver.loaded.fake_alive(3) == 2
    del made
    assert gpu.driver.loaded.fake_alive(3) == 0


def test_the_choice_goes_by_the_longest_row_which_is_read_once(gpu: Gpu) -> None:
    for name in ("double_it", "long_rows"):
        gpu.kernel(name, lambda grid, block, slots: None, 0)
    made = program(Choice((((Within(Longest("A", 1), 2),), (launch(),)), ((), (launch("long_rows"),)))))
    values = operands()
    gpu.driver.clear()
    run(made, values)
    run(made, values)
    launched = [call.split()[1] for call in gpu.driver.calls if call.startswith("cuLaunchKernel")]
    assert launched == ["long_rows", "long_rows"]
    assert gpu.driver.names().count("cuMemcpyDtoHAsync") == 1


def test_numbers_over_the_structure_of_an_operand(gpu: Gpu) -> None:
    def run_kernel(grid: Any, block: Any, slots: Any) -> None:
        view(slots[1], (4,), np.float64)[:] = 2 * view(slots[0], (4,), np.float64)

    gpu.kernel("double_it", run_kernel, 2)
    made = program(
        launch(parameters=(BUFFERS[2], LevelBuffer("C", 2))), makes=(MakeShared("C", DType("f64"), "A"),), result="C"
    )
    values = operands()
    C = run(made, values)
    assert np.array_equal(C.to_numpy(), 2 * A_ROWS)
    assert C.storage.arrays[1].pointer == values["A"].storage.arrays[1].pointer


def test_nothing_is_launched_for_nothing(gpu: Gpu) -> None:
    gpu.kernel("double_it", lambda grid, block, slots: None, 0)
    values = operands()
    gpu.driver.clear()
    program(launch()).prepare(values, {"i": 0, "j": 3}, Device(0)).run(tuple(values.values()), None)
    assert "cuLaunchKernel" not in gpu.driver.names()


def test_another_chip_is_refused(gpu: Gpu) -> None:
    gpu.configure(capability=80)
    rule = r'expected a device of sm_90 or newer, but got sm_80 \(cuda:0\): compile for target="cuda:sm_80"'
    with pytest.raises(ms.UnsupportedError, match=rule):
        run(program(launch(), chip="sm_90"), operands())
    with pytest.raises(ms.UnsupportedError, match="expected a device of sm_90a, but got sm_80"):
        run(program(launch(), chip="sm_90a"), operands())


def test_ptx_that_the_driver_refuses_is_an_error_with_its_log_and_the_device_stays_usable(gpu: Gpu) -> None:
    gpu.kernel("double_it", lambda grid, block, slots: None, 0)
    with pytest.raises(ms.DeviceError, match=r"cuModuleLoadDataEx of y\(i\) .* CUDA_ERROR_INVALID_PTX") as raised:
        run(program(launch(), ptx=PTX + "INVALID"), operands())
    assert "ptxas application ptx input, line 1; fatal: Parsing error" in str(raised.value)
    with pytest.raises(ms.UnsupportedError, match=r"expected PTX that sm_90 and CUDA 13.0 take"):
        run(program(launch(), ptx=PTX.replace("sm_80", "sm_120")), operands())
    assert run(program(launch()), operands()).shape == (3,)


def test_failures_of_launches_are_named_with_their_grid(gpu: Gpu) -> None:
    gpu.kernel("double_it", lambda grid, block, slots: None, 0)
    values, made = operands(), program(launch())
    gpu.driver.fail("cuLaunchKernel", ILLEGAL_ADDRESS)
    with pytest.raises(
        ms.DeviceError, match=r"cuLaunchKernel of double_it on a grid \(2, 1, 1\) of blocks \(64, 1, 1\) failed"
    ):
        run(made, values)
    assert run(made, values).shape == (3,)
    gpu.driver.fail("cuStreamSynchronize", ILLEGAL_ADDRESS)
    with pytest.raises(ms.DeviceError, match="cuStreamSynchronize failed: CUDA_ERROR_ILLEGAL_ADDRESS"):
        device.synchronize()


# What kernels compute: those compiled for a device, their code run by the stand-in through the emulation.


def on(array: np.ndarray[Any, Any], number: int = 0) -> ms.DeviceArray:
    return from_host(array, Device(number))


def dense(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(sum(shape)).integers(-4, 5, shape).astype(np.float64)


@pytest.mark.parametrize("preset", ["CSR", "CSC", "COO", "BSR(2, 3)", "DIA"])
def test_spmv(gpu: Gpu, emulate: Any, preset: str) -> None:
    M, x = np.where(dense(7, 9) > 2, dense(7, 9), 0), dense(9)
    A = ms.tensor(M, preset).to("cuda")
    spmv = emulate("y(i) = A(i,j) * x(j)", A=A, x=on(x))
    for _ in range(2):
        assert np.array_equal(spmv(A, on(x)).to_numpy(), M @ x)
    assert gpu.driver.names().count("cuModuleLoadDataEx") == 1


def test_the_same_kernel_takes_other_shapes_and_outputs(gpu: Gpu, emulate: Any) -> None:
    A, B = ms.tensor(np.eye(3)).to("cuda"), ms.tensor(2 * np.eye(40)).to("cuda")
    spmv = emulate("y(i) = A(i,j) * x(j)", A=A, x=on(dense(3)))
    assert np.array_equal(spmv(A, on(dense(3))).to_numpy(), dense(3))
    y = on(np.full(40, np.nan))
    assert spmv(B, on(dense(40)), out=y) is y
    assert np.array_equal(y.to_numpy(), 2 * dense(40))
    assert np.array_equal(spmv(x=on(dense(40)), A=B).to_numpy(), 2 * dense(40))
    x = on(dense(40))
    assert spmv(B, x, out=x) is x
    assert np.array_equal(x.to_numpy(), 2 * dense(40))


def test_a_call_that_was_prepared_is_for_arrays_as_aligned(gpu: Gpu, emulate: Any) -> None:
    """Adjacent columns are read and written by one access where arrays begin at a multiple, and else one by one."""
    M, B = np.maximum(dense(5, 7), 0).astype(np.float32), dense(7, 128).astype(np.float32)
    A = ms.tensor(M, "CSR").to("cuda")
    spmm = emulate("C(i,j) = A(i,k) * B(k,j)", A=A, B=on(B))
    expected = M @ B
    room, wide = on(np.zeros(7 * 128 + 4, np.float32)), on(np.zeros(5 * 128 + 4, np.float32))

    def shifted(array: DeviceArray, shift: int, shape: tuple[int, int]) -> DeviceArray:
        return DeviceArray(array.pointer + shift, shape, array.dtype, array.device, array)

    taken = []
    for first, second in ((0, 0), (4, 0), (0, 8), (8, 4), (0, 0)):
        operand, out = shifted(room, first, (7, 128)), shifted(wide, second, (5, 128))
        on(B).copy_into(operand)
        gpu.driver.clear()
        np.testing.assert_allclose(spmm(A, operand, out=out).to_numpy(), expected, rtol=1e-6)
        taken += [call.split()[1] for call in gpu.driver.calls if call.startswith("cuLaunchKernel")]
        np.testing.assert_allclose(spmm(A, operand).to_numpy(), expected, rtol=1e-6)
    adjacent = [name.endswith("adjacent_by_4") for name in taken]
    assert adjacent == [True, False, False, False, True]


def test_adding_to_a_result(gpu: Gpu, emulate: Any) -> None:
    A, x, y = ms.tensor(A_ROWS).to("cuda"), on(np.ones(3)), on(np.array([10.0, 20, 30]))
    add = emulate("y(i) += A(i,j) * x(j)", A=A, x=x, y=y)
    assert add(y, A, x).to_numpy().tolist() == [16, 20, 34]
    assert y.to_numpy().tolist() == [10, 20, 30]
    assert add(y, A, x, out=y) is y
    assert y.to_numpy().tolist() == [16, 20, 34]


@pytest.mark.parametrize("name", ["CSR", "CSC", "COO"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("y(i) *= sum(j : A(i,j) * x(j))", lambda y, added: y * added),
        ("y(i) max= sum(j : A(i,j) * x(j))", lambda y, added: np.maximum(y, added)),
        ("y(i) += y(i) * A(i,j) * x(j)", lambda y, added: y + y * added),
    ],
)
def test_results_that_are_read_while_they_are_made(gpu: Gpu, emulate: Any, text: str, expected: Any, name: str) -> None:
    A, x, y = ms.tensor(A_ROWS, name).to("cuda"), on(np.ones(3)), on(np.array([10.0, 2, 3]))
    update = emulate(text, A=A, x=x, y=y)
    assert update(y, A, x, out=y) is y
    np.testing.assert_array_equal(y.to_numpy(), expected(np.array([10.0, 2, 3]), A_ROWS.sum(axis=1)))


@pytest.mark.parametrize("name", ["DCSR", "COO", "DIA", "BSR(2,2)", "Skyline"])
def test_operands_are_looked_up_on_the_device(gpu: Gpu, emulate: Any, name: str) -> None:
    lower = np.tril(A_ROWS) + np.eye(3)
    A, S = ms.tensor(A_ROWS, "COO").to("cuda"), ms.tensor(lower, name).to("cuda")
    inner = emulate("a = A(i,j) * S(i,j)", A=A, S=S)
    assert inner(A, S).to_numpy() == (A_ROWS * lower).sum()
    least = emulate("C(i,j) = min(A(i,j), S(i,j))", out="dense", A=A, S=S)
    assert np.array_equal(least(A, S).to_numpy(), np.minimum(A_ROWS, lower))


def test_sums_of_16_bits_pass_through_32(gpu: Gpu, emulate: Any) -> None:
    A, x = ms.tensor(np.full((2, 3000), 0.5, np.float16), "CSC").to("cuda"), on(np.ones(3000, np.float16))
    spmv = emulate("y(i) = A(i,j) * x(j)", A=A, x=x)
    y = spmv(A, x)
    assert y.dtype == np.float16
    assert y.to_numpy().tolist() == [1500, 1500]


def test_sddmm_shares_the_structure(gpu: Gpu, emulate: Any) -> None:
    S = ms.tensor(A_ROWS).to("cuda")
    sample = emulate("C(i,j) = S(i,j) * B(i,k) * D(k,j)", S=S, B=on(dense(3, 5)), D=on(dense(5, 3)))
    C = sample(S, on(dense(3, 5)), on(dense(5, 3)))
    assert np.array_equal(C.to_numpy(), A_ROWS * (dense(3, 5) @ dense(5, 3)))
    assert C.storage.arrays[0].pointer == S.storage.arrays[0].pointer


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (3, 3)])
def test_empty_tensors(gpu: Gpu, emulate: Any, shape: tuple[int, int]) -> None:
    A = ms.tensor(np.zeros(shape)).to("cuda")
    spmm = emulate("C(i,j) = A(i,k) * B(k,j)", A=A, B=on(dense(shape[1], 4)))
    for columns in (4, 0):
        assert np.array_equal(spmm(A, on(dense(shape[1], columns))).to_numpy(), np.zeros((shape[0], columns)))


@pytest.mark.parametrize("via", ["codegen", "library"])
def test_a_result_that_does_not_fit_is_refused_with_the_figures_and_the_next_call_works(
    gpu: Gpu, emulate: Any, via: str
) -> None:
    A, B, wide = ms.tensor(A_ROWS).to("cuda"), on(dense(3, 4)), on(dense(3, 500))
    text = "C(i,j) = A(i,k) * B(k,j)"
    spmm = emulate(text, A=A, B=B) if via == "codegen" else ms.compile(text, A=A, B=B, target="cuda", via=via)
    assert np.array_equal(spmm(A, B).to_numpy(), A_ROWS @ dense(3, 4))
    alive = _cuda.live_allocations()
    gpu.configure(memory=wide.nbytes + 4000)
    rule = r"expected 11.7 KiB to fit in the memory of cuda:0, but got 3.\d* KiB free of 15.6 KiB"
    with pytest.raises(ms.DeviceMemoryError, match=rule):
        spmm(A, wide)
    assert _cuda.live_allocations() == alive
    assert np.array_equal(spmm(A, B).to_numpy(), A_ROWS @ dense(3, 4))


def test_operands_must_lie_on_one_device(gpu: Gpu, emulate: Any) -> None:
    A, x = ms.tensor(A_ROWS).to("cuda"), on(np.ones(3))
    spmv = emulate("y(i) = A(i,j) * x(j)", A=A, x=x)
    for given, rule in (
        ((A, np.ones(3)), "expected x on a device, but got ndarray in host memory: pass ms.to_device"),
        ((A.to("cpu"), x), r"expected A on a device, but got SparseTensor in host memory: pass A.to\('cuda'\)"),
        ((A, on(np.ones(3), 1)), "expected all operands on one device, but got A on cuda:0 and x on cuda:1"),
        ((ms.tensor(A_ROWS, "CSC").to("cuda"), x), "expected A stored as"),
        ((A, on(np.ones((3, 1)))), "expected x of 1 dimensions, but got 2"),
        ((A, on(np.ones(3, np.float32))), "expected f64 for x, but got f32"),
        ((A, on(np.ones(4))), "expected index j to range over one extent, but got 3"),
        ((A,), "expected"),
    ):
        with pytest.raises(ms.SparseError, match=rule):
            spmv(*given)
    with pytest.raises(ms.OperandError, match="expected out on a device, but got ndarray"):
        spmv(A, x, out=np.ones(3))
    with pytest.raises(
        ms.OperandError, match="expected all operands on one device, but got A on cuda:0 and out on cuda:1"
    ):
        spmv(A, x, out=on(np.ones(3), 1))
    assert spmv(A, x).to_numpy().tolist() == [6, 0, 4]


def test_a_pickled_kernel_runs_without_the_compiler(gpu: Gpu, emulate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    A, x = ms.tensor(A_ROWS), np.ones(3)
    spmv = emulate("y(i) = A(i,j) * x(j)", A=A, x=x).compile_for(A, x)
    copied = pickle.loads(pickle.dumps(spmv))
    monkeypatch.setattr(GpuKernel, "_build", None)
    assert copied(A.to("cuda"), on(x)).to_numpy().tolist() == [6, 0, 4]


def test_limits_of_other_targets_are_refused() -> None:
    given = {"A": "f64[?,?] CSR", "x": "f64[?]", "target": "cuda:sm_90", "via": "library"}
    with pytest.raises(ms.ScheduleError, match=r"expected threads= and deterministic= for target='cpu' only"):
        ms.compile("y(i) = A(i,j) * x(j)", threads=2, **given)
    with pytest.raises(ms.UnsupportedError, match=r"expected via= for target='cuda' only, but got via='library'"):
        ms.compile("y(i) = A(i,j) * x(j)", A="f64[?,?] CSR", x="f64[?]", via="library")


def test_a_warm_call_takes_microseconds_beside_the_driver(gpu: Gpu, emulate: Any) -> None:
    A, x = ms.tensor(A_ROWS).to("cuda"), on(np.ones(3))
    spmv = emulate("y(i) = A(i,j) * x(j)", A=A, x=x)
    spmv(A, x)
    for one in launches_of(spmv._declared.launches):
        gpu.driver.loaded.fake_kernel(one.kernel.encode(), None)
    times = min(timeit.repeat(lambda: spmv(A, x), number=200, repeat=5)) / 200
    assert times < 100e-6  # the bound on a quiet machine is 10; this one catches what is done anew


def test_without_a_driver_kernels_show_their_code_and_refuse_to_run() -> None:
    if device.available():
        pytest.skip("this machine has a driver")
    spmv = ms.compile("y(i) = A(i,j) * x(j)", A="f64[?,?] CSR", x="f64[?]", target="cuda:sm_90", via="library")
    with pytest.raises(ms.DeviceError, match=r"no CUDA driver \(libcuda.so.1\) found"):
        spmv(ms.tensor(A_ROWS), np.ones(3))
    assert spmv.ir("plan") == "cuSPARSE: y = spmv(A as CSR, x)\n"
    with pytest.raises(
        ms.UnsupportedError, match="expected target='cpu', 'cuda' or a chip such as 'cuda:sm_90', but got 'rocm'"
    ):
        ms.compile("y(i) = A(i,j) * x(j)", A="f64[?,?] CSR", x="f64[?]", target="rocm")
    with pytest.raises(ms.UnsupportedError, match="expected via= one of auto, codegen, library, but got 'magic'"):
        ms.compile("y(i) = A(i,j) * x(j)", A="f64[?,?] CSR", x="f64[?]", target="cuda", via="magic")


def test_the_command_line_copies_operands_once_and_says_so(gpu: Gpu, emulate: Any, tmp_path: Path) -> None:
    A, x = ms.tensor(A_ROWS), np.ones(3)
    emulate("y(i) = A(i,j) * x(j)", A=A, x=x)
    ms.write(tmp_path / "A.mtx", A)
    arguments = ["run", "y(i) = A(i,j) * x(j)", "-i", f"A={tmp_path / 'A.mtx'}", "-f", "A:CSR", "-g", "x=ones"]
    run = CliRunner().invoke(main, [*arguments, "--target", "cuda", "--verify", "--time", "2"])
    assert run.exit_code == 0, run.output
    assert "88 B to cuda:0" in run.output
