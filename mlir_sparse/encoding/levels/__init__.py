"""Level formats, one class a file.

The attributes of a class are its capabilities and properties (Chou et al. 2018, section 3). Its methods work on arrays
of positions and coordinates: they count positions, return the children of a parent or all positions, check a caller's
arrays, and build a level from entries. Plain values describe the loop over a level and its view in level space. A new
level format is a file here, and a name in `mlir_sparse.encoding.level_format`.
"""
