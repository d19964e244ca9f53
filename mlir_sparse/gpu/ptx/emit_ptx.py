"""The pass from NVVM to PTX, by LLVM's backend for NVIDIA's GPUs, which the bindings do not have and llvmlite has."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from mlir_sparse._mlir import bindings, ir
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.gpu.ptx.libdevice import find_library, functions_wanted, link_library, with_instructions
from mlir_sparse.gpu.ptx.llvm_literals import with_bits
from mlir_sparse.loops.regions import body_of, operations_of, walk

__all__ = ["assemble_kernels", "kernels_ir", "ptx_of", "to_ptx"]

_TRIPLE = "nvptx64-nvidia-cuda"
# Without it 64-bit integers would be aligned to 4 bytes, and read in halves.
_LAYOUT = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"


def assemble_kernels(module: ir.Module, options: Mapping[str, str]) -> None:
    """Replaces the kernels of a module by PTX in a `gpu.binary`, as MLIR's `gpu-module-to-binary` would.

    Args:
        module: the module, in place; its `gpu.module` holds functions of the LLVM dialect.
        options: `chip`, such as sm_90, and `features`, such as +ptx80.

    Raises:
        ValueError: where llvmlite is not installed, or has no such chip; for a module without kernels.
    """
    _check_translated(module)
    holders = [op for op in operations_of(module.body) if op.name == "gpu.module"]
    if not holders:
        raise ValueError("expected a gpu.module with kernels in NVVM, but got a module without one")
    for holder in holders:
        text = to_ptx(_llvm_ir([holder]), options["chip"], options["features"])
        held = "".join(f"\\{byte:02X}" if byte < 32 or byte in b'"\\' else chr(byte) for byte in text.encode())
        made = ir.Attribute.parse(f'#gpu.object<#nvvm.target<chip = "{options["chip"]}">, assembly = "{held}">')
        with ir.InsertionPoint(holder):
            fields = {
                "objects": ir.ArrayAttr.get([made]),
                # What is left out by default has to be said here, or printing would fail.
                "offloadingHandler": ir.Attribute.parse("#gpu.select_object"),
                "sym_name": holder.attributes["sym_name"],
            }
            ir.Operation.create("gpu.binary", attributes=fields)
        holder.erase()


def ptx_of(module: ir.Module) -> str:
    """Returns the PTX of a module whose kernels were assembled."""
    gpu = bindings().module("dialects.gpu")
    for holder in module.body.operations:
        if holder.operation.name == "gpu.binary":
            (made,) = ir.ArrayAttr(holder.operation.attributes["objects"])
            text: bytes = gpu.ObjectAttr(made).object
            return text.decode()
    raise ValueError("expected a module with PTX, but got one without")


def kernels_ir(module: ir.Module) -> str:
    """Returns the kernels of a module as LLVM IR.

    Raises:
        UnsupportedError: for operations that no pass made instructions of.
    """
    _check_translated(module)
    return _llvm_ir([op for op in operations_of(module.body) if op.name == "gpu.module"])


def _llvm_ir(holders: Sequence[ir.Operation]) -> str:
    apart = ir.Module.create()
    with ir.InsertionPoint(apart.body):
        for holder in holders:
            for kernel in operations_of(body_of(holder)):
                kernel.clone()
    apart.operation.attributes["llvm.data_layout"] = ir.StringAttr.get(_LAYOUT)
    text = str(bindings().module("dialects.llvm").translate_module_to_llvmir(apart.operation))
    return _unordered(with_instructions(with_bits(text)))


def _check_translated(module: ir.Module) -> None:
    """Refuses what LLVM IR is not made of: the bindings end the process over it."""
    kernels = [op.operation for op in module.body.operations if op.operation.name == "gpu.module"]
    names = sorted({op.name for kernel in kernels for op in walk(kernel)} - {"gpu.module", "gpu.module_end"})
    left = [name for name in names if not name.startswith(("llvm.", "nvvm."))]
    if left:
        raise UnsupportedError(
            f"expected functions that a GPU has instructions or CUDA's library for, but got {', '.join(left)}: "
            "convert operands to a floating-point type, or use target='cpu'"
        )


def _unordered(text: str) -> str:
    """Returns LLVM IR whose atomic operations order nothing else: sums are read when the kernel has ended."""
    return re.sub(r"(= atomicrmw [^\n]*) acq_rel,", r'\1 syncscope("device") monotonic,', text)


def to_ptx(text: str, chip: str, features: str) -> str:
    """Returns LLVM IR as PTX.

    Args:
        text: the IR.
        chip: the GPU's architecture.
        features: the version of PTX, as LLVM names it.
    """
    try:
        import llvmlite.binding as llvm
    except ImportError as error:
        raise ValueError("expected the package llvmlite to write PTX with: pip install 'mlir-sparse[gpu]'") from error
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    module = llvm.parse_assembly(text)
    module.triple = _TRIPLE
    machine = llvm.Target.from_triple(_TRIPLE).create_target_machine(cpu=chip, features=features, opt=3)
    module.data_layout = str(machine.target_data)
    if wanted := functions_wanted(text):
        library = find_library()
        if library is None:
            raise ValueError(f"expected CUDA's libdevice.10.bc for {', '.join(wanted)}, but found none")
        link_library(module, library)
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
    builder.getModulePassManager().run(module, builder)
    return str(machine.emit_assembly(module))
