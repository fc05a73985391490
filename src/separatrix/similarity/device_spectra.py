r"""Eigenvectors and linear systems of graph Laplacians on a device.

A device multiplies a sparse matrix by many columns at once so fast that the plain methods serve:
eigenvectors by subspace iteration with Chebyshev polynomials [1]_, linear systems by conjugate
gradients from what the eigenvectors know of the solution. Only matrices of some ten rows, and
numbers, go to the host.

References
----------
.. [1] Y. Zhou, Y. Saad, M. L. Tiago, J. R. Chelikowsky, "Self-consistent-field calculations using
   Chebyshev-filtered subspace iteration", Journal of Computational Physics 219, 2006, 172-184.
"""

from math import acosh

import numpy as np

from separatrix._sklearn import like, namespace_of, to_numpy
from separatrix.similarity.multigrid import ritz_pairs

# Vectors beyond those asked for: as a share, and at least so many.
SPARE_SHARE, LEAST_SPARE = 0.3, 4
# How much more a polynomial lets through at zero than where it begins to damp: then vectors are
# not so much alike that rounding would decide.
GAIN = 1e5
MAX_ROUNDS, MAX_DEGREE = 100, 1_000
# Eigenvalues below this share of the last are measured as if they were as large, and errors of so
# many roundings are none.
LEAST_VALUE, ROUNDINGS = 1e-6, 100
# Steps of conjugate gradients from one look at the residual, which waits for the device, to the
# next, and most of them.
STEPS_AT_A_TIME, MAX_STEPS = 10, 10_000
TINY = float(np.finfo(np.float32).tiny)


class DeviceLaplacian:
    """Eigenpairs and systems of the Laplacian L of a form; as those of `GraphHierarchy`.

    Components of a graph need no joining: their eigenvalues are zero.

    Parameters
    ----------
    form : DeviceForm
        The form, of whose matrix L is the part without lift.
    """

    def __init__(self, form):
        self._form = form
        xp, _ = namespace_of(form.degrees)
        trivial = xp.sqrt(form.degrees) if form.name == "normalized" else form.roots
        self._trivial = (trivial / xp.sqrt(xp.sum(trivial * trivial)))[:, None]
        # twice the largest degree over the mass bounds the eigenvalues
        self._bound = 2.0 if form.name == "normalized" else 2.0 * float(xp.max(form.degrees))
        self._known: tuple | None = None

    def _without_trivial(self, x):
        return x - self._trivial @ (self._trivial.T @ x)

    def eigenpairs(self, n_pairs=1, *, tol=1e-2):
        """Smallest nontrivial eigenvalues of L and their eigenvectors.

        Parameters
        ----------
        n_pairs : int, default=1
            How many.
        tol : float, default=1e-2
            Error of eigenvectors, in the norm of L relative to their eigenvalue's root.

        Returns
        -------
        values : ndarray of shape (n_pairs,)
            Ascending.
        vectors : array of shape (n_nodes, n_pairs)
            Orthonormal, and orthogonal to the trivial one.
        """
        xp, _ = namespace_of(self._trivial)
        n_nodes = self._form.n_nodes
        n_vectors = min(n_pairs + max(LEAST_SPARE, int(SPARE_SHARE * n_pairs)), n_nodes - 1)
        rounding = ROUNDINGS * float(xp.finfo(self._trivial.dtype).eps) * self._bound
        rng = np.random.default_rng(0)
        vectors = like(rng.standard_normal((n_nodes, n_vectors)), self._trivial)
        for _ in range(MAX_ROUNDS):
            # 1) the best vectors in the span
            vectors = self._without_trivial(vectors)
            images = self._form.smoothness(vectors)
            values, turn = ritz_pairs(
                to_numpy(vectors.T @ vectors), to_numpy(vectors.T @ images), n_vectors
            )
            turn = like(np.ascontiguousarray(turn.T), vectors)
            vectors, images = vectors @ turn, images @ turn
            residuals = images - like(values, vectors) * vectors
            errors = to_numpy(xp.sum(residuals * residuals, axis=0))[:n_pairs]
            # 2) what is beyond the span has larger values than its last
            values, last = np.maximum(values, 0.0), float(max(values[-1], rounding))
            least = np.maximum(values[:n_pairs], LEAST_VALUE * last)
            if np.all(errors <= np.maximum(tol**2 * least * last, rounding**2)):
                break
            # 3) damp that; directions that were lost come again
            vectors = self._filtered(vectors, last)
            lost = n_vectors - vectors.shape[1]
            if lost:
                fresh = like(rng.standard_normal((n_nodes, lost)), vectors)
                vectors = xp.concat([vectors, fresh], axis=1)
        self._known = values[:n_pairs], vectors[:, :n_pairs]
        return self._known

    def _filtered(self, vectors, last):
        """A Chebyshev polynomial of L, small from `last` on, times vectors."""
        # what a polynomial of the largest degree can tell from zero
        last = max(last, self._bound * (acosh(GAIN) / (2 * MAX_DEGREE)) ** 2)
        centre, radius = (self._bound + last) / 2, (self._bound - last) / 2
        radius = max(radius, 1e-3 * self._bound)  # all eigenvalues may be equal
        degree = max(2, int(acosh(GAIN) / acosh(centre / radius)))

        def shifted(x):
            return (self._form.smoothness(x) - centre * x) / radius

        before, now = vectors, shifted(vectors)
        for _ in range(degree - 1):
            before, now = now, 2.0 * shifted(now) - before
        xp, _ = namespace_of(now)
        return now / xp.sqrt(xp.sum(now * now, axis=0))

    def matvec(self, x):
        """L x."""
        return self._form.smoothness(x[:, None])[:, 0]

    def solve(self, rhs, shift, *, start=None, tol=1e-4):
        """Solution x of (L + shift * I) x = rhs.

        Parameters
        ----------
        rhs : array of shape (n_nodes,)
            Right side.
        shift : float
            Positive multiple of the identity.
        start : array of shape (n_nodes,), default=None
            Where to start; None is zero.
        tol : float, default=1e-4
            Norm of the residual relative to that of `rhs`.

        Returns
        -------
        x : array of shape (n_nodes,)
        """
        xp, _ = namespace_of(rhs)
        rhs = rhs[:, None]
        right = self._without_trivial(rhs)
        target = tol**2 * float(xp.sum(rhs * rhs))
        # each entry over its diagonal one is all the preconditioning
        inverse = 1.0 / (self._form.diagonal[:, None] + shift)

        def residual_of(x):
            return right - self._form.smoothness(x) - shift * x

        x = xp.zeros_like(right) if start is None else self._without_trivial(start[:, None])
        residual = right if start is None else residual_of(x)
        if self._known is not None:  # what the eigenvectors tell of the solution
            values, vectors = self._known
            inside = (vectors.T @ residual) / like(values + shift, residual)[:, None]
            x = x + vectors @ inside
            residual = residual_of(x)
        correction = inverse * residual
        direction, energy = correction, xp.sum(residual * correction)
        for step in range(MAX_STEPS):
            if step % STEPS_AT_A_TIME == 0 and float(xp.sum(residual * residual)) <= target:
                break
            image = self._form.smoothness(direction) + shift * direction
            length = energy / positive_part(xp.sum(direction * image))
            x, residual = x + length * direction, residual - length * image
            correction = inverse * residual
            before, energy = energy, xp.sum(residual * correction)
            direction = correction + (energy / positive_part(before)) * direction
        x = self._without_trivial(x) + self._trivial * (xp.sum(self._trivial * rhs) / shift)
        return x[:, 0]


def positive_part(number):
    """A number that is safe to divide by: zero, where all is solved, becomes tiny."""
    xp, _ = namespace_of(number)
    return xp.where(number > 0, number, xp.full_like(number, TINY))
