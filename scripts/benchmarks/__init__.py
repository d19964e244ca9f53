"""Measurements beside other libraries: a registry of contests (`contests.py`) and of single figures (`figures.py`).

A new kernel is one entry in `contests.KERNELS` and its inputs one in `contests.CONTESTS`; a new library is one entry
in `peers.PEERS`. Only the public interface of the package is used.
"""
