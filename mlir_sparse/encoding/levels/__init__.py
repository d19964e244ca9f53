"""Level formats, one class a file: what each can do, promises and stores, and what follows for storage and loops.

A class has its facts (Chou et al. 2018, section 3) as attributes. Its methods work on plain arrays of positions and
coordinates: how many positions there are, the children of one parent, all positions, the rules that a caller's arrays
must keep, and levels built from entries. Plain values say how loops run over a level, and how level space shows it.

A new level format is a file here, and its name in `mlir_sparse.encoding.level_format`.
"""
