"""Tensors in files, a module for each format."""
