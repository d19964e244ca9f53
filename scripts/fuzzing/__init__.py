"""Random kernels on random data in random storage, each right or refused by name."""
