"""Measures the times of steps that estimates of plans go by."""
