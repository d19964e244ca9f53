"""Operations that run when they are written, on tensors and on SciPy's sparse arrays: `scripts/bench eager`."""
