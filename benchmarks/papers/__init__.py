"""The tables and figures of five papers, published and ours: ``python -m benchmarks.papers``."""
