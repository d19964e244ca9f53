"""Measurements beside other libraries, and single figures (`figures.py`).

A contest (`contests.py`) is a kernel (`kernels.py`) on an input (`inputs.py`). Each library has a process of its own
(`contestant.py`, `libraries/`), which is asked for one sample at a time in turn (`match.py`); its results are held
against a reference (`referee.py`). What comes of it is a row (`report.py`), and for each kernel a standing against
what must be reached (`standing.py`). Only the public interface of the package is used.
"""
