"""What kernels take on many nodes: bytes of cuts, counted and computed, and times by a stated model."""
