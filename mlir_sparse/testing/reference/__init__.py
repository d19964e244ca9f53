"""The expected results of kernels: an evaluator of index notation in NumPy that shares nothing with the compiler."""
