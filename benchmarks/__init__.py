"""Measurements of the library: the papers' tables, speed, choices of defaults, robustness."""
