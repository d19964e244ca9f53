"""Tensors in files: a format to a module."""
