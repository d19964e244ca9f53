"""Kernels of several statements: tensor comprehensions, and statements with ranges."""
