r"""Machines from few constraints: cutting planes that bound a mean loss from below.

A machine of one score for each of its rows, whose loss has planes below it, minimises

.. math:: \tfrac12 \|w\|^2 + s \max_p \, (d_p - \langle g_p, w \rangle - h_p^\top b), \qquad
          |b| \le \text{bound}

with the strength s, and the offset d, the slopes g and the counts h of each plane. The functions
here solve one such problem, or a stack of them at once.
"""

import numpy as np

from separatrix._sklearn import one_blas_thread

__all__ = ["maximize_quadratic", "minimize_over_planes"]

# Most steps of the interior-point method, which takes about fifteen.
MAX_STEPS = 60


def minimize_over_planes(gram, biases, offsets, *, tol):
    r"""Least of the norm plus the highest plane, by its dual: the shares of the planes in w / C.

    .. math:: \max_{\alpha} \; d^\top\alpha - \tfrac12 \alpha^\top G \alpha - \|H^\top\alpha\|_1
              \quad \text{subject to} \quad \mathbf 1^\top\alpha = 1, \; \alpha \ge 0

    with the `offsets` d, n C times the products of slopes as the `gram` G, and the `biases` H in
    units of their bound; two multipliers for the box of each bias make the last term linear. Each
    may be a stack along the first axis.

    Returns the shares, the biases in units of their bound, and the dual value.
    """
    *stack, n_planes, n_biases = biases.shape
    ones = np.ones((*stack, n_planes, 1))
    box = np.vstack([-np.eye(n_biases), np.eye(n_biases)])
    box = np.column_stack([np.zeros(2 * n_biases), box])
    box = np.broadcast_to(box, (*stack, *box.shape))
    E = np.concatenate([np.concatenate([ones, biases], axis=-1), box], axis=-2)
    c = np.concatenate([offsets, np.full((*stack, 2 * n_biases), -1.0)], axis=-1)
    Q = np.zeros((*stack, len(c.T), len(c.T)))
    Q[..., :n_planes, :n_planes] = gram
    z, x = maximize_quadratic(Q, c, E, np.eye(1 + n_biases)[0], tol=tol)
    shares = z[..., :n_planes] / z[..., :n_planes].sum(axis=-1, keepdims=True)
    value = (
        (shares * offsets).sum(axis=-1)
        - 0.5 * (shares * _products(gram, shares)).sum(axis=-1)
        - np.abs(_products(biases.swapaxes(-1, -2), shares)).sum(axis=-1)
    )
    return shares, np.clip(x[..., 1:], -1, 1), value


def _products(matrices, vectors):
    """The matrices of a stack times its vectors."""
    return (matrices @ vectors[..., None])[..., 0]


@one_blas_thread
def maximize_quadratic(Q, c, E, e, *, tol):
    r"""Maximise :math:`c^\top z - \frac12 z^\top Q z` subject to :math:`E^\top z = e, z \ge 0`.

    Mehrotra's predictor-corrector method. The first column of E has a one in every row whose slack
    could be negative, which gives a start with positive slacks. `Q`, `c` and `E` may be stacks of
    problems along the first axis, which all have the right-hand sides `e`.

    Returns z, and the multipliers x of the equations.
    """
    n, Et = c.shape[-1], E.swapaxes(-1, -2)
    z = np.full(c.shape, 1 / n)
    x = e * (1 + (c - _products(Q, z)).max(axis=-1, keepdims=True))
    slack = _products(Q, z) + _products(E, x) - c
    diagonal = np.diagonal(Q, axis1=-2, axis2=-1)
    for _ in range(MAX_STEPS):
        gap, unmet = (z * slack).sum(axis=-1), e - _products(Et, z)
        going = (gap > tol) | (np.abs(unmet).max(axis=-1) > tol)
        if not going.any():
            break
        # planes may repeat, and only differences of biases count, so a little is added to the
        # diagonal
        matrix = Q + (slack / z + 1e-14 * diagonal)[..., None] * np.eye(n)
        change = -z * slack  # of the products of z and slack
        solved = np.linalg.solve(matrix, np.concatenate([E, (change / z)[..., None]], axis=-1))
        inner, moves = solved[..., :-1], solved[..., -1]
        schur = Et @ inner
        largest = schur.max(axis=(-2, -1))[..., None, None]
        schur = schur + 1e-14 * largest * np.eye(len(e))
        for corrected in (False, True):
            dx = np.linalg.solve(schur, (_products(Et, moves) - unmet)[..., None])[..., 0]
            dz = moves - _products(inner, dx)
            dslack = (change - slack * dz) / z
            steps = np.concatenate([dz / z, dslack / slack], axis=-1)
            length = 0.99 / np.maximum(0.99, -steps.min(axis=-1))[..., None]
            if not corrected:
                left = ((z + length * dz) * (slack + length * dslack)).sum(axis=-1)
                change = change + ((left / gap) ** 3 * gap / n)[..., None] - dz * dslack
                moves = np.linalg.solve(matrix, (change / z)[..., None])[..., 0]
        length = length * going[..., None]  # what has ended stays where it is
        z, x, slack = z + length * dz, x + length * dx, slack + length * dslack
    return z, x
