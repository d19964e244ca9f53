"""Tuning: finds the fastest schedule, and optionally storage, of a kernel on given tensors, and measures machines."""
