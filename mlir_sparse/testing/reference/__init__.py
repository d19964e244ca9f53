"""What a kernel must give: an evaluator of index notation in NumPy that shares nothing with the compiler."""
