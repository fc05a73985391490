"""Random cases against every estimator, and the laws that every outcome obeys."""
