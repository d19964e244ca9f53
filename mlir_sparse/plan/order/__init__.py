"""The order of the loops, what they run over, and the storage that this asks for."""
