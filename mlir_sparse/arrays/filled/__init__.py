"""NumPy's functions on tensors with a fill value.

Functions of elements are evaluated at the places that some operand stores, and once for all others, which gives the
fill value of the result (`filled_elements`). Reductions combine stored entries with the fill value as often as elements
are missing (`filled_reductions`). Functions that move elements are those of SparseTensors, on the numbers of entries
(`moved_entries`). What has zeros where nothing is stored refuses other fill values.
"""
