"""The order of the loops, their co-iteration, and the storage that they need."""
