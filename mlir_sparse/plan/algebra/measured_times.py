"""The times that estimates go by; `scripts/measure-machine` has written them."""

from mlir_sparse.plan.algebra.machine_times import MachineTimes

__all__ = ["MACHINE"]

MACHINE = MachineTimes(
    processor="AMD EPYC, family 25",
    walk=0.13,
    look_up=0.65,
    far_look_ups=(1.6, 4.1, 7.5, 9.0),
    scatter=1.0,
    far_scatters=(1.7, 4.4, 7.5, 9.0),
    meet=4.0,
    enter=6.3,
    far_enters=(13.0, 54.0, 140.0, 180.0),
    lane=0.058,
    append=1.2,
    insert=10.0,
    near_line=0.6,
    far_line=7.8,
    write=0.26,
    fresh_write=1.1,
    call=3400.0,
    sparse_result=18000.0,
    convert=7.5,
    far_converts=(12.0, 20.0, 36.0, 48.0),
    function=3.3,
    multiply_add=0.044,
    element=0.64,
    matrices=27.0,
    near=1048576.0,
    kept=1048576.0,
)
