"""The oracles of optimal transport: a linear and an integer program."""

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp


def transport_cost(supply, cost):
    """Least cost of moving the positive part of `supply` to the negative one, by HiGHS."""
    n = len(supply)
    rows = np.kron(np.eye(n), np.ones(n))
    columns = np.kron(np.ones(n), np.eye(n))
    sums = np.r_[np.maximum(supply, 0), np.maximum(-supply, 0)]
    return linprog(cost.ravel(), A_eq=np.vstack([rows, columns]), b_eq=sums).fun


def best_total(scores, low, high):
    """Largest total score of labels whose clusters have sizes within bounds, by HiGHS."""
    n, k = scores.shape
    sums = np.vstack([np.kron(np.eye(n), np.ones(k)), np.kron(np.ones(n), np.eye(k))])
    bounds = np.r_[np.ones(n), low], np.r_[np.ones(n), high]
    rows = LinearConstraint(sums, *bounds)
    return -milp(-scores.ravel(), constraints=rows, bounds=Bounds(0, 1), integrality=1).fun
