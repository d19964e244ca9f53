"""Tuning: the schedule, and where asked the storage, that computes a kernel fastest on given tensors."""
