"""Measurements beside other libraries, and single figures (`figures.py`).

A contest (`contests.py`) is a kernel (`kernels.py`) on an input (`inputs.py`). Each library runs in a separate
process (`contestant.py`, `libraries/`), which takes one sample at a time in turn
(`match.py`); its results are compared with a reference (`referee.py`). The outcome is a row (`report.py`), and for each
kernel a standing relative to its bounds (`standing.py`). Only the public interface of the package is used.
"""
