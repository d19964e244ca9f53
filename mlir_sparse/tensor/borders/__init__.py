"""Tensors of other libraries: a neighbour to a module."""
