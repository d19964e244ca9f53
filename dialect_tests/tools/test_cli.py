"""The command line, run as users run it: what it prints where, and its exit status."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import mlir_sparse as ms
from mlir_sparse.encoding import PRESETS
from mlir_sparse.tools.cli import main

SPMV = "y(i) = A(i,j) * x(j)"
MATRIX = """%%MatrixMarket matrix coordinate real general
4 3 5
1 1 1.5
2 3 -2
3 1 4
3 2 0.25
4 3 8
"""
TENSOR = "1 1 1 1.0\n1 2 3 2.0\n2 1 2 3.0\n3 3 1 4.0\n3 3 3 5.0\n"


def run(*arguments: str) -> Result:
    """Runs the command and requires success."""
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    return result


def refused(*arguments: str) -> str:
    """Runs the command, requires failure without a traceback and nothing on stdout; returns what it said."""
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code in (1, 2), result.output
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    return result.stderr


@pytest.fixture
def matrix(tmp_path: Path) -> str:
    path = tmp_path / "a.mtx"
    path.write_text(MATRIX)
    return str(path)


@pytest.fixture
def cube(tmp_path: Path) -> str:
    path = tmp_path / "t.tns"
    path.write_text(TENSOR)
    return str(path)


# emit


def test_emit_prints_the_stage_and_nothing_else() -> None:
    result = run("emit", SPMV, "-f", "A:CSR")
    kernel = ms.compile(SPMV, A="f64[?,?] CSR", x="f64[?]", out="dense")
    assert result.stdout.rstrip("\n") == kernel.ir("linalg").rstrip("\n")
    assert result.stderr == ""


@pytest.mark.parametrize("stage", ms.STAGES)
def test_emit_every_stage(stage: str) -> None:
    assert run("emit", SPMV, "-f", "A:CSR", "--stage", stage).stdout.strip()


def test_emit_shows_what_a_pass_changed() -> None:
    changed = run("emit", SPMV, "-f", "A:CSR", "--diff", "sparsification").stdout
    assert any(line.startswith("-") and "linalg.generic" in line for line in changed.splitlines())
    assert any(line.startswith("+") and "scf.for" in line for line in changed.splitlines())
    assert "expected a pass of linalg-generalize-named-ops, " in refused("emit", SPMV, "--diff", "no-such-pass")


def test_names_of_options_are_those_of_the_text() -> None:
    output = run(
        "emit",
        "gr\N{LATIN SMALL LETTER O WITH DIAERESIS}e(i) = 2 * \N{MICRO SIGN}(i,j) * _x(j)",
        "-f",
        "\N{MICRO SIGN}:CSR",
        "-t",
        "_x:f32",
        "--stage",
        "explain",
    ).output
    assert "\N{GREEK SMALL LETTER MU}: f64[?,?] CSR" in output
    assert "_x: f32[?] dense" in output


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is full")
def test_output_that_cannot_be_written_ends_in_one_message(matrix: str) -> None:
    script = "from mlir_sparse.tools.cli import main; main()"
    command = [sys.executable, "-c", script, "run", SPMV, "-f", "A:CSR", "-i", f"A={matrix}", "-g", "x=ones"]
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (1, "mlir-sparse: error: cannot read or write: No space left on device\n")


def test_emit_lists_the_passes_and_explains() -> None:
    kernel = ms.compile(SPMV, A="f64[?,?] CSR", x="f64[?]", out="dense")
    assert run("emit", SPMV, "-f", "A:CSR", "--stage", "passes").stdout == f"{kernel.passes()}\n"
    assert run("emit", SPMV, "-f", "A:CSR", "--stage", "explain").stdout == f"{kernel.explain()}\n"
    assert "'asm', 'gpu', 'nvvm', 'ptx', 'passes', 'explain'" in refused("emit", SPMV, "--stage", "object")


def test_emit_takes_how_a_gpu_runs_it() -> None:
    def plan(via: str) -> str:
        return run("emit", SPMV, "-f", "A:CSR", "--stage", "plan", "--target", "cuda:sm_90", "--via", via).stdout

    assert plan("library") == "cuSPARSE: y = spmv(A as CSR, x)\n"
    assert plan("codegen") == plan("auto") == run("emit", SPMV, "-f", "A:CSR", "--stage", "plan").stdout
    assert "expected via= for target='cuda' only" in refused("emit", SPMV, "-f", "A:CSR", "--via", "library")
    assert "is not one of 'auto', 'codegen', 'library'" in refused("run", SPMV, "--target", "cuda", "--via", "magic")
    both = "def twice(float(N) x) -> (y) { y(i) = 2 * x(i) }"
    assert "expected via= for target='cuda' only" in refused("emit", both, "--via", "codegen")


def test_emit_takes_maps_types_and_shapes() -> None:
    storage = "A:(i, j) -> (i : compressed, j : compressed)"
    text = run("emit", SPMV, "-f", storage, "-t", "A:f32", "-t", "x:f32", "-s", "A=1000x?").stdout
    assert "tensor<1000x?xf32" in text
    assert "(d0 : compressed, d1 : compressed)" in text


def test_emit_gives_the_result_the_storage_asked_for() -> None:
    text = run(
        "emit", "C(i,j) = A(i,k) * B(k,j)", "-f", "A:CSR", "-f", "B:CSR", "-f", "C:DCSR", "--stage", "plan"
    ).stdout
    assert "C: f64[?,?] DCSR" in text


# run


STORED = [
    name
    for name in PRESETS
    if PRESETS[name].min_rank <= 2 <= (PRESETS[name].max_rank or 2)
    if ms.encoding(name).is_native
]


@pytest.mark.parametrize("name", STORED)
def test_run_spmv_on_every_matrix_preset(name: str, matrix: str, tmp_path: Path) -> None:
    target = tmp_path / "y.ttx"
    arguments = ["run", SPMV, "-f", f"A:{name}", "-i", f"A={matrix}", "-g", "x=random", "-o", f"y={target}"]
    result = run(*arguments, "--time", "3", "--verify")
    for line in ("compile", "call", "verify  passed: 4 values", "wrote"):
        assert line in result.stdout
    assert ms.read(target).shape == (4,)


@pytest.mark.parametrize("storage", ["CSF", "CSF(2, 0, 1)", "COO", "dense"])
def test_run_mttkrp(storage: str, cube: str) -> None:
    notation = "M(i,r) = T(i,j,k) * B(j,r) * C(k,r)"
    result = run(
        *("run", notation, "-f", f"T:{storage}", "-i", f"T={cube}", "-g", "B=random", "-g", "C=random:seed=1"),
        *("-s", "B=?x4", "-s", "C=?x4", "--verify"),
    )
    assert "verify  passed: 12 values" in result.stdout


@pytest.mark.parametrize("dtype", ["i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", "c64", "c128", "bool"])
def test_run_in_every_element_type(dtype: str) -> None:
    types = ("-t", f"A:{dtype}", "-t", f"x:{dtype}")
    result = run(
        "run", SPMV, "-f", "A:CSR", "-g", "A=random:density=0.2", "-s", "A=30x20", "-g", "x=random", *types, "--verify"
    )
    assert "verify  passed" in result.stdout


def test_run_sparse_results_and_scalars(matrix: str, tmp_path: Path) -> None:
    target = tmp_path / "c.mtx"
    result = run(
        *("run", "C(i,j) = alpha * A(i,j) + B(i,j)", "-f", "A:CSR", "-f", "B:CSC", "-f", "C:DCSR", "-i", f"A={matrix}"),
        *("-g", "B=uniform:density=0.5", "-g", "alpha=2", "-o", f"C={target}", "--verify"),
    )
    assert "verify  passed: 12 values" in result.stdout
    assert ms.read(target).shape == (4, 3)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_run_checks_against_numbers_as_the_type_has_them(matrix: str, dtype: str) -> None:
    """1e-50 is zero in f32, so that all that is not stored is as large."""
    result = run("run", "C(i,j) = A(i,j) >= 1e-50", "-i", f"A={matrix}", "-t", f"A:{dtype}", "--verify")
    assert "verify  passed" in result.stdout


def test_run_updates_of_the_target(matrix: str) -> None:
    result = run(
        "run", "y(i) += A(i,j) * x(j)", "-f", "A:CSR", "-i", f"A={matrix}", "-g", "x=ones", "-g", "y=ones", "--verify"
    )
    assert "verify  passed: 4 values" in result.stdout


def test_run_says_where_the_result_is_wrong(matrix: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    original = ms.Kernel.__call__

    def wrong(self: ms.Kernel, *operands: object, **named: object) -> object:
        result = original(self, *operands, **named)
        result[0] += 1e-3
        return result

    monkeypatch.setattr(ms.Kernel, "__call__", wrong)
    target = tmp_path / "y.ttx"
    arguments = ("run", SPMV, "-f", "A:CSR", "-i", f"A={matrix}", "-g", "x=ones", "-o", f"y={target}", "--verify")
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 1
    assert "verify  FAILED" in result.stdout
    assert "the result differs from the reference" in result.stderr
    assert not target.exists()


# convert, formats, doctor


@pytest.mark.parametrize("suffix", [".mtx", ".mtx.gz", ".tns", ".ttx", ".tns.gz"])
def test_convert_keeps_the_entries(suffix: str, matrix: str, tmp_path: Path) -> None:
    target = tmp_path / f"out{suffix}"
    result = run("convert", matrix, str(target), "--encoding", "CSC")
    assert result.stdout == ""
    assert "5 entries" in result.stderr
    assert ms.read(target).to_numpy().tolist() == ms.read(matrix).to_numpy().tolist()


def test_convert_prunes_and_drops_zeros_when_asked(tmp_path: Path) -> None:
    source = tmp_path / "full.mtx"
    source.write_text("%%MatrixMarket matrix coordinate real general\n1 4 4\n1 1 1\n1 2 -7\n1 3 0\n1 4 2\n")
    told = refused("convert", str(source), str(tmp_path / "out.mtx"), "--encoding", "NV_24")
    assert "expected at most 2 entries in each block of 4" in told
    run("convert", str(source), str(tmp_path / "two.mtx"), "--encoding", "NV_24", "--prune")
    assert ms.read(tmp_path / "two.mtx").to_numpy().tolist() == [[0, -7, 0, 2]]
    run("convert", str(source), str(tmp_path / "three.mtx"), "--drop-zeros")
    assert ms.read(tmp_path / "three.mtx").nse == 3


def test_convert_to_another_element_type(matrix: str, tmp_path: Path) -> None:
    run("convert", matrix, str(tmp_path / "out.mtx"), "--dtype", "c128")
    assert ms.read(tmp_path / "out.mtx").dtype.kind == "c"


def test_formats_prints_every_preset() -> None:
    text = run("formats").stdout
    for name in PRESETS:
        assert f"{name}: " in text
        assert str(ms.encoding(name)) in text
    assert "storage: positions[1], coordinates[1], values" in run("formats", "CSR").stdout


def test_formats_prints_any_encoding() -> None:
    text = run("formats", "BSR(2, 3)", "CSR(unordered)", "soa_coo", "(i, j) -> (j : compressed, i : dense)").stdout
    titles = [paragraph.splitlines()[0] for paragraph in text.strip().split("\n\n")]
    named = ("BSR(2, 3): (i", "CSR(unordered): (i", "SoA-COO: ", "(i, j) -> (j : compressed, i : dense)")
    assert [title.startswith(name) for title, name in zip(titles, named, strict=True)] == [True] * 4
    assert text.count("runs as stored: ") == 4


def test_doctor_finds_what_the_tests_use() -> None:
    text = run("doctor").stdout
    for line in ("mlir_sparse", "Python", "native module", "numpy", "MLIR bindings", "kernel cache", "CUDA driver"):
        assert line in text
    names = [line.split("  ")[0] for line in text.splitlines()]
    assert len(set(names)) == len(names), "a package of several element types is one line"


# mistakes


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("emit", "y(i) = A(i,j * x(j)"), "mlir-sparse: error: notation:1:16:"),
        (("emit", SPMV, "-f", "A:CSQ"), "did you mean CSR"),
        (("emit", SPMV, "-f", "B:CSR"), "expected -f to name one of y, A, x, but got 'B'"),
        (
            ("emit", SPMV, "-f", "A:CSF(0, 1, 2)"),
            "expected one rank for CSF, but got 2 from the rank, 3 from the order",
        ),
        (("emit", SPMV, "-t", "A:u7"), "expected an element type"),
        (("emit", SPMV, "-f", "A"), "expected NAME:ENCODING, but got 'A'"),
        (("emit", SPMV, "-f", "A:CSR", "-f", "A:CSC"), "once for each tensor"),
        (("emit", SPMV, "-s", "A=3x4", "-s", "x=5"), "4"),
        (("emit", SPMV, "--stage", "ptx"), "llvmir, asm, but got 'ptx'"),
        (("emit", SPMV, "--target", "tpu"), "target"),
        (("run", SPMV, "-g", "x=ones"), "expected -i A=FILE or -g A=random, but got neither"),
        (("run", SPMV, "-g", "A=ones", "-g", "x=ones"), "expected an extent for index i of 'A', but got none"),
        (("run", SPMV, "-i", "A=absent.mtx", "-g", "x=ones"), "absent.mtx"),
        (
            ("run", SPMV, "-g", "A=ones", "-g", "x=ones", "-o", "A=a.mtx"),
            "expected -o to name the target 'y', but got 'A'",
        ),
        (
            ("run", SPMV, "-g", "A=ones", "-g", "x=ones", "-o", "y=absent/y.ttx"),
            "cannot use absent/y.ttx: No such file",
        ),
        (("run", SPMV, "-g", "A=ones", "-g", "x=ones", "-o", "y=y.csv"), "expected a name that ends in .mtx, .ttx"),
        (
            ("run", "C(i,j,k) = A(i,j) * x(k)", "-g", "A=ones", "-g", "x=ones", "-o", "C=c.mtx"),
            "expected a matrix for c.mtx, but got a tensor of rank 3: write a .ttx file",
        ),
        (("run", SPMV, "-i", "A=.", "-g", "x=ones"), "but got the folder -i A=.: give --memory 1GiB"),
        (("convert", "absent.mtx", "out.tns"), "absent.mtx"),
        (("formats", "CSQ"), "did you mean CSR"),
        (("formats", "(i) -> (i : compresed)"), "unknown level format: compresed"),
        (("frobnicate",), "No such command"),
    ],
)
def test_mistakes_end_in_one_message(arguments: tuple[str, ...], message: str) -> None:
    assert message in refused(*arguments)


def test_shapes_that_contradict_a_file(matrix: str) -> None:
    text = refused("run", SPMV, "-i", f"A={matrix}", "-s", "A=5x?", "-g", "x=ones")
    assert "expected 'A' to be 5x?, as -s says, but got 4x3" in text


def test_a_file_that_is_not_what_its_name_says(tmp_path: Path) -> None:
    path = tmp_path / "a.mtx"
    path.write_text("not a matrix\n")
    assert "a.mtx" in refused("run", SPMV, "-i", f"A={path}", "-g", "x=ones")


def test_run_stores_files_as_read_does(matrix: str, cube: str) -> None:
    assert "A       f64[4,3] CSR, 5 entries" in run("run", SPMV, "-i", f"A={matrix}", "-g", "x=ones", "--verify").stdout
    assert "A       f64[4,3] dense" in run("run", SPMV, "-f", "A:dense", "-i", f"A={matrix}", "-g", "x=ones").stdout
    said = run("run", "y(i) = T(i,j,k) * x(k)", "-i", f"T={cube}", "-g", "x=ones", "--verify").stdout
    assert "T       f64[3,3,3] COO, 5 entries" in said
    # What a result is combined with is stored as the result is.
    assert run("run", "A(i,j) += x(i) * z(j)", "-i", f"A={matrix}", "-g", "x=ones", "-g", "z=ones", "--verify")


def test_run_writes_over_no_file_that_it_reads(matrix: str, tmp_path: Path) -> None:
    before, link = Path(matrix).read_bytes(), tmp_path / "link.mtx"
    link.symlink_to(matrix)
    for path in (matrix, str(link), f"{tmp_path}/../{tmp_path.name}/a.mtx"):
        said = refused("run", "B(i,j) = 2 * A(i,j)", "-i", f"A={matrix}", "-o", f"B={path}")
        assert f"expected -o B={path} to name a file of its own, but got the file of -i A={matrix}" in said
    assert Path(matrix).read_bytes() == before
    run("run", "B(i,j) = 2 * A(i,j)", "-i", f"A={matrix}", "-o", f"B={tmp_path / 'b.mtx'}")


def test_the_package_is_the_command_where_its_script_is_not_on_the_path() -> None:
    command = [sys.executable, "-m", "mlir_sparse"]
    done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"python -m mlir_sparse, version {ms.__version__}\n"
    done = subprocess.run([*command, "nope"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Usage: python -m mlir_sparse" in done.stderr
