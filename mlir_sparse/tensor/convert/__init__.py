"""Conversions: entries to level storage (`pack`), back (`coordinates_of`), and one encoding to another (`convert`)."""
