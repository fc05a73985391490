"""Whether a soft-label partition is the only best one, and how far it can be from the truth."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.linalg import eigvalsh

from separatrix._typing import ArrayLike, Samples
from separatrix.data.gate import check_labels, check_number, check_rows, check_values

__all__ = ["ErrorBound", "Stability", "clustering_error_bound", "finite_sample_stability"]

# All eigenvalues of a dense matrix of this size take 15 seconds on one core.
_MAX_SPECTRUM = 5000
# Enough for the symmetries that occur in data; at 60 samples a second or two.
_MAX_NODES = 5000
# All partitions of more samples are so many that some have nearly the same value by chance.
_MAX_PARTITIONED = 12
# Theorem 2 of El-Yaniv and Pechyony (2009), 5.045...
_C0 = np.sqrt(32 * (1 + np.log(4)) / 3)


def _check_length(name, size, n):
    if size != n:
        raise ValueError(f"{name} has {size} entries for {n} samples: pass one per sample.")


def _checked_symmetric(Q, tol):
    """Return `Q` in float64, exactly symmetric, and its largest absolute entry."""
    Q = check_rows(Q, "Q", dtype=np.float64)
    if Q.shape[0] != Q.shape[1]:
        raise ValueError(f"Q has shape {Q.shape}: pass one row and one column per sample.")
    scale = float(abs(Q).max())
    asymmetry = float(abs(Q - Q.T).max())
    if asymmetry > tol * scale:
        raise ValueError(
            f"Q differs from its transpose by {asymmetry:.3g}, more than tol={tol:g} times its "
            f"largest entry {scale:.3g}: pass (Q + Q.T) / 2, or a larger tol."
        )
    return (Q + Q.T) / 2, scale


def _as_dense(Q):
    return Q.toarray() if sparse.issparse(Q) else Q


def _signs(h):
    """Side of each sample, -1 for a zero response, as in `hamming_clustering_distance`."""
    return np.where(h > 0, 1, -1)


def _isolated(Q, zero):
    """Return the samples whose row is zero except for a positive diagonal (Definition 4)."""
    linked = abs(Q) > zero
    if sparse.issparse(Q):
        rows, columns = linked.nonzero()
        is_linked = np.bincount(rows[rows != columns], minlength=Q.shape[0]) > 0
    else:
        np.fill_diagonal(linked, False)
        is_linked = linked.any(axis=1)
    return np.flatnonzero((Q.diagonal() > 0) & ~is_linked)


def _smallest_gap(Q):
    """Return the least distance of two eigenvalues, over the largest absolute one."""
    eigenvalues = eigvalsh(_as_dense(Q))
    if eigenvalues.size == 1:
        return np.inf
    largest = np.abs(eigenvalues).max()
    return float(np.diff(eigenvalues).min() / largest) if largest > 0 else 0.0


def _entry_classes(Q, tolerance):
    """Number the entries so that those within `tolerance` of each other share a number.

    Rounding would separate some equal entries at its steps; a chain of close neighbours separates
    none. A chain may grow longer than the tolerance, so results are checked against `Q`.
    """
    values, positions = np.unique(Q, return_inverse=True)
    steps = np.diff(values, prepend=values[0]) > tolerance
    return np.cumsum(steps)[positions].reshape(Q.shape)


def _refined(classes, colours):
    """Refine two colourings together until neither distinguishes more samples.

    Row 0 of `colours` colours the samples, row 1 their images: a permutation may send k to l
    only if ``colours[0, k] == colours[1, l]``. In each round the new colour of a sample is its
    old one with the sorted list of its entries in `Q`, each with the colour at its other end.
    Returns None if the sides differ, so that no permutation exists.
    """
    n = classes.shape[0]
    names, colours = np.unique(colours, return_inverse=True)
    colours, n_colours = colours.reshape(2, n), names.size
    while True:
        rows = np.sort(classes * n_colours + colours[:, None, :], axis=2)
        keys = np.concatenate([colours[:, :, None], rows], axis=2)
        # As bytes, rows compare fifteen times faster than in np.unique(..., axis=0).
        keys = keys.view(f"V{keys.itemsize * (n + 1)}").ravel()
        names, colours = np.unique(keys, return_inverse=True)
        colours = colours.reshape(2, n)
        sizes, image_sizes = (np.bincount(side, minlength=len(names)) for side in colours)
        if not np.array_equal(sizes, image_sizes):
            return None
        if len(names) == n_colours:
            return colours
        n_colours = len(names)


class _InvolutionSearch:
    """Permutations that are their own inverse, not the identity, and leave `Q` as it is.

    A depth-first search. Each node is a pair of colourings, refined after one more sample has
    been given its image. `gave_up` says afterwards whether `max_nodes` ended it.
    """

    def __init__(self, Q, tolerance, max_nodes=_MAX_NODES):
        self.Q = Q
        self.tolerance = tolerance
        self.nodes_left = max_nodes
        self.gave_up = False
        self.classes = _entry_classes(Q, tolerance)
        # Pairs of which all involutions have been listed.
        self.done = np.zeros(Q.shape, dtype=bool)

    def swapping(self, pairs, needed=None):
        """Yield each involution that swaps at least one of `pairs`, once.

        With `needed`, a boolean matrix, only those with ``needed[k, phi[k]]`` for some k.
        """
        diagonal = self.classes.diagonal()
        root = _refined(self.classes, np.stack([diagonal, diagonal]))
        for i, j in pairs:
            if root[0, i] == root[1, j]:
                yield from self._below(self._nodes(root, i, [j], needed), needed)
                self.done[i, j] = self.done[j, i] = True

    def _below(self, nodes, needed):
        """Yield the involutions of some nodes; the stack holds those still to be visited."""
        stack = [nodes]
        while stack:
            node = next(stack[-1], None)
            if node is None:
                stack.pop()
                continue
            colours, candidates = node
            n_candidates = np.count_nonzero(candidates, axis=1)
            if n_candidates.max() > 1:
                k = np.where(n_candidates > 1, n_candidates, self.Q.shape[0] + 1).argmin()
                # A sample stays in place first: the fewer are swapped, the more alike the twins.
                images = sorted(np.flatnonzero(candidates[k]), key=lambda image: image != k)
                stack.append(self._nodes(colours, k, images, needed))
                continue
            phi = candidates.argmax(axis=1)
            if (np.abs(self.Q[np.ix_(phi, phi)] - self.Q) <= self.tolerance).all():
                yield phi

    def _nodes(self, colours, k, images, needed):
        """Yield the nodes at which k is swapped with each of `images`, as long as any is left."""
        for image in images:
            if self.nodes_left == 0:
                self.gave_up = True
                return
            self.nodes_left -= 1
            split = colours.copy()
            split[0, k] = split[1, image] = colours.max() + 1
            if image != k:
                split[0, image] = split[1, k] = colours.max() + 2
            split = _refined(self.classes, split)
            if split is None:
                continue
            candidates = (split[0][:, None] == split[1]) & ~self.done
            candidates &= candidates.T
            possible = candidates.any(axis=1).all()
            if possible and (needed is None or (candidates & needed).any()):
                yield split, candidates


def _pairs(mask):
    """Return the index pairs i < j at which a symmetric boolean matrix is true."""
    return np.argwhere(np.triu(mask, 1)).tolist()


def _find_axisymmetry(Q, tolerance):
    """Return the first involution, or None, and whether the search came to its end."""
    search = _InvolutionSearch(Q, tolerance)
    everything = np.ones(Q.shape, dtype=bool)
    phi = next(search.swapping(_pairs(everything)), None)
    return phi, phi is not None or not search.gave_up


def _find_twin(Q, tolerance, signs):
    """Return the first involution that changes the partition, or None, and whether it is sure.

    Such an involution swaps two samples of opposite sides, and sends some sample to its own
    side: else it flips all signs, which is the same partition (the exception in Theorem 12).
    """
    search = _InvolutionSearch(Q, tolerance)
    same_side = signs[:, None] == signs
    phi = next(search.swapping(_pairs(~same_side), needed=same_side), None)
    return phi, phi is not None or not search.gave_up


def _all_partitions(n):
    """Return each partition of n samples in two once, as signs of which the last is +1."""
    codes = np.arange(2 ** (n - 1))[:, None]
    return 1 - 2 * ((codes >> np.arange(n)) & 1)


def _equal_partitions(Q, zero):
    """Return two different partitions of equal ``y'Qy``, or None: Definition 5.

    For the signs y and z, Equation (20) says a'Qb = 0 with a = (y + z) / 2, their common part, and
    b = (y - z) / 2, what is left; and y'Qy - z'Qz = 4 a'Qb.
    """
    partitions = _all_partitions(Q.shape[0])
    values = np.einsum("pi,pi->p", partitions @ Q, partitions)
    order = np.argsort(values, kind="stable")
    differences = np.diff(values[order])
    if differences.size == 0 or differences.min() > 4 * zero:
        return None
    nearest = differences.argmin()
    return partitions[order[nearest : nearest + 2]]


def _implied_partitions(n, isolated, phi):
    """Return such partitions of more than two samples where Theorem 10 has some, or None."""
    if n < 3 or (isolated.size == 0 and phi is None):
        return None
    first, second = np.ones((2, n), dtype=int)
    if isolated.size:  # it may change sides
        second[isolated[0]] = -1
    else:  # either of two that are swapped may be alone
        i = int(np.argmax(phi != np.arange(n)))
        first[i] = second[phi[i]] = -1
    return np.stack([first, second])


def _si_symmetry(Q, zero, isolated, phi):
    """Return two different partitions of equal ``y'Qy``, or None, and whether that is sure."""
    n = Q.shape[0]
    if n <= _MAX_PARTITIONED:
        return _equal_partitions(_as_dense(Q), zero), True
    found = _implied_partitions(n, isolated, phi)
    return found, found is not None


def _listed(items, most=5):
    """Join some items for a sentence, with a count of those left out."""
    shown = ", ".join(str(item) for item in items[:most])
    return shown if len(items) <= most else f"{shown} and {len(items) - most} more"


@dataclass(frozen=True, eq=False)
class Stability:
    """Symmetries of a matrix that can make a partition ambiguous.

    Attributes
    ----------
    isolated : ndarray of int
        Samples whose row is zero off a positive diagonal (Definition 4).
    anisotropic : bool or None
        Whether all eigenvalues are distinct (Definition 8); None if not computed.
    smallest_gap : float or None
        Smallest distance between two eigenvalues as a share of the largest absolute eigenvalue.
    axisymmetry : ndarray of shape (n_samples,) or None
        A permutation ``phi`` of the samples, its own inverse and not the identity, that leaves the
        matrix unchanged (Definition 7). If there is a twin, the permutation that gives it.
    axisymmetry_checked : bool
        Whether None in `axisymmetry` means that there is none.
    si_symmetry : ndarray of shape (2, n_samples) or None
        Signs y of two different partitions with the same value of ``y'Qy``, which is the
        definition of SI-symmetry (Definition 5). Up to 12 samples all partitions are compared;
        beyond, these follow by Theorem 10 from isolated samples and from `axisymmetry`.
    si_symmetry_checked : bool
        Whether None in `si_symmetry` means that there are none.
    twin : ndarray of shape (n_samples,) or None
        Signs of a different partition with the same objective (Theorem 12).
    twin_checked : bool or None
        Whether None in `twin` means that no symmetry gives one; None without responses.
    """

    isolated: np.ndarray
    anisotropic: bool | None
    smallest_gap: float | None
    axisymmetry: np.ndarray | None
    axisymmetry_checked: bool
    si_symmetry: np.ndarray | None = None
    si_symmetry_checked: bool = False
    twin: np.ndarray | None = None
    twin_checked: bool | None = None

    @property
    def irreducible(self) -> bool:
        """Whether no sample is isolated."""
        return self.isolated.size == 0

    def __str__(self):
        return "\n".join(
            [
                self._isolated_line(),
                self._spectrum_line(),
                self._symmetry_line(),
                self._si_symmetry_line(),
            ]
            + ([] if self.twin_checked is None else [self._twin_line()])
        )

    def _isolated_line(self):
        if self.irreducible:
            return "No sample is isolated."
        return (
            f"Isolated: {_listed(self.isolated.tolist())}. The matrix says nothing about the "
            "cluster of such a sample; leave it out."
        )

    def _spectrum_line(self):
        if self.anisotropic is None:
            return f"Eigenvalues: not computed beyond {_MAX_SPECTRUM} samples."
        kind = "all distinct" if self.anisotropic else "not all distinct"
        return f"Eigenvalues: {kind}; the smallest gap is {self.smallest_gap:.2g} of the largest."

    def _symmetry_line(self):
        if self.axisymmetry is not None:
            swaps = [f"{i}-{j}" for i, j in enumerate(self.axisymmetry.tolist()) if i < j]
            return f"Symmetric: swapping {_listed(swaps)} leaves the matrix unchanged."
        if self.axisymmetry_checked:
            return "No symmetry: no swap of samples leaves the matrix unchanged."
        return "Symmetry: not known; too many samples, or the search was too long."

    def _si_symmetry_line(self):
        if self.si_symmetry is not None:
            moved = np.flatnonzero(self.si_symmetry[0] != self.si_symmetry[1])
            return (
                "SI-symmetric: two partitions y have the same y'Qy, and differ in "
                f"{_listed(moved.tolist())}."
            )
        if self.si_symmetry_checked:
            return "SI-asymmetric: no two partitions y have the same y'Qy."
        return "SI-symmetry: not known; too many samples."

    def _twin_line(self):
        if self.twin is not None:
            return (
                "The partition is not unique: the swap turns it into a different one with the "
                "same objective."
            )
        if self.twin_checked:
            return "No symmetry turns the partition into a different one."
        return "Whether a symmetry turns the partition into a different one is not known."


def finite_sample_stability(
    Q: Samples, h: ArrayLike = None, *, tol: float = 1e-9, max_samples: int = 60
) -> Stability:
    r"""Find the symmetries of `Q` that can make the partition of soft-label MVC ambiguous.

    Soft-label maximum volume clustering minimises

    .. math:: -2 \lVert h \rVert_1 + \gamma h^\top Q h
              \quad \text{s.t.} \quad \lVert h \rVert_2 = 1

    and divides the samples by the signs of h. If a permutation :math:`\phi` of the samples leaves
    `Q` unchanged, :math:`Q_{ij} = Q_{\phi(i) \phi(j)}`, then :math:`h_{\phi(i)}` has the objective
    of :math:`h_i`. If its signs are neither those of h nor their opposites, it is the twin of h: a
    different partition, just as good (Section 5 of [1]_).

    Parameters
    ----------
    Q : {array-like, sparse matrix} of shape (n_samples, n_samples)
        The symmetric matrix of the criterion.
    h : array-like of shape (n_samples,), default=None
        Soft responses, to look for a twin. A zero counts as negative.
    tol : float, default=1e-9
        Entries are equal if they differ by at most this part of the largest absolute entry,
        eigenvalues if they differ by at most this part of the largest absolute one.
    max_samples : int, default=60
        With more samples no symmetry is searched for. The time grows at least with the square of
        the number of samples, and with its fourth power for regular matrices.

    Returns
    -------
    Stability
        The findings, which print as sentences.

    See Also
    --------
    clustering_error_bound : Bound on the distance to a partition known in part.

    Notes
    -----
    Eigenvalues are computed for at most 5,000 samples. Those of a smooth kernel matrix fall off
    so fast that the last ones are equal to any tolerance.

    Symmetries are found by colour refinement: samples are distinguished by their diagonal entries
    and the sorted entries of their rows, then repeatedly by the colours of the other samples, and
    finally each sample in turn is given an image. The search gives up after 5,000 images, and says
    so.

    SI-symmetry, Definition 5 of [1]_, requires a set of samples such that, for some signs, its
    entries with the other samples sum to zero. Equivalently, two partitions of the samples have
    the same value of :math:`y^\top Q y`: both with the signs of the set, one with the signs of the
    others and one with their opposites. So the values of all partitions are computed and sorted.
    With more than 12 samples there are so many that some would be equal up to `tol` by chance.

    A twin proves that the partition is not unique. The converse does not hold, although
    Theorem 13 of [1]_ says that without symmetry all minima induce one partition: for
    small :math:`\gamma` each sign vector y has a local minimum near :math:`y / \sqrt n`, whatever
    `Q` is. (The proof assumes that a sphere and an ellipsoid meet in single points.) Compare the
    objectives of several starts instead.

    References
    ----------
    .. [1] G. Niu, B. Dai, L. Shang and M. Sugiyama, "Maximum volume clustering: a new
       discriminative clustering approach", Journal of Machine Learning Research 14, 2013.

    Examples
    --------
    The corners of a square fall into left and right as well as into bottom and top:

    >>> import numpy as np
    >>> from sklearn.metrics.pairwise import rbf_kernel
    >>> from separatrix.stability import finite_sample_stability
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> found = finite_sample_stability(rbf_kernel(X, gamma=1.0), [0.5, -0.5, -0.5, 0.5])
    >>> print(found)  # doctest: +ELLIPSIS
    No sample is isolated.
    Eigenvalues: not all distinct; the smallest gap is ... of the largest.
    Symmetric: swapping 0-2 leaves the matrix unchanged.
    SI-symmetric: two partitions y have the same y'Qy, and differ in ...
    The partition is not unique: the swap turns it into a different one with the same objective.
    >>> found.twin
    array([-1, -1,  1,  1])
    """
    tol, max_samples = check_number(tol, "tol"), check_number(max_samples, "max_samples")
    if not 0 <= tol < 1:
        raise ValueError(f"tol={tol} must lie in [0, 1): pass a relative tolerance.")
    Q, scale = _checked_symmetric(Q, tol)
    n = Q.shape[0]
    if h is not None:
        h = check_values(h, "h")
        _check_length("h", h.size, n)
    gap = _smallest_gap(Q) if n <= _MAX_SPECTRUM else None

    phi, checked = None, False
    twin, twin_checked = None, None if h is None else False
    if n <= max_samples:
        dense = _as_dense(Q)
        if h is not None:
            phi, twin_checked = _find_twin(dense, tol * scale, _signs(h))
            twin = None if phi is None else _signs(h)[phi]
        if phi is None:
            phi, checked = _find_axisymmetry(dense, tol * scale)
        else:
            checked = True

    isolated = _isolated(Q, tol * scale)
    pair, pair_checked = _si_symmetry(Q, tol * scale, isolated, phi)
    return Stability(
        isolated=isolated,
        anisotropic=None if gap is None else gap > tol,
        smallest_gap=gap,
        axisymmetry=phi,
        axisymmetry_checked=checked,
        si_symmetry=pair,
        si_symmetry_checked=pair_checked,
        twin=twin,
        twin_checked=twin_checked,
    )


@dataclass(frozen=True)
class ErrorBound:
    """Bound on the number of samples in the wrong cluster, in its four parts.

    Attributes
    ----------
    n_samples : int
        Number of all samples.
    n_known : int
        Number of samples with a known label.
    delta : float
        Probability that the bound fails.
    empirical : float
        Surrogate loss on the known samples, scaled up to all.
    sizes : float
        Part that depends on the two numbers of samples alone.
    confidence : float
        Part that grows as `delta` falls.
    complexity : float
        Bound on the transductive Rademacher complexity of the responses.
    """

    n_samples: int
    n_known: int
    delta: float
    empirical: float
    sizes: float
    confidence: float
    complexity: float

    @property
    def total(self) -> float:
        """The bound on the Hamming clustering distance, a number of samples."""
        return self.empirical + self.sizes + self.confidence + self.complexity

    @property
    def rate(self) -> float:
        """The bound on the share of samples in the wrong cluster."""
        return self.total / self.n_samples

    @property
    def is_vacuous(self) -> bool:
        """Whether the bound says nothing, as no more than half of all samples can be wrong."""
        return self.rate >= 0.5

    def __str__(self):
        parts = ", ".join(
            f"{name} {getattr(self, name):.1f}"
            for name in ("empirical", "sizes", "confidence", "complexity")
        )
        lines = [
            f"At most {self.total:.1f} of {self.n_samples} samples ({self.rate:.1%}) are in the "
            f"wrong cluster, with probability {1 - self.delta:g}.",
            f"From {self.n_known} known labels: {parts}.",
        ]
        if self.is_vacuous:
            lines.append("This says nothing: at most half of the samples can be wrong.")
        return "\n".join(lines)


def _checked_known(known, n):
    """Return the indices of the known samples, from indices or a mask."""
    known = check_labels(known, "known")
    if known.dtype.kind == "b":
        _check_length("known, a mask,", known.size, n)
        known = np.flatnonzero(known)
    elif known.dtype.kind not in "iu":
        raise ValueError(f"known has dtype {known.dtype}: pass indices or a boolean mask.")
    elif known.min() < -n or known.max() >= n:
        raise ValueError(
            f"known has indices from {known.min()} to {known.max()} for {n} samples: pass indices "
            f"from 0 to {n - 1}."
        )
    n_distinct = np.unique(known % n).size
    if n_distinct < known.size:
        raise ValueError(
            f"known has {known.size} indices but {n_distinct} distinct ones: the bound is for a "
            "draw without replacement, so pass each once."
        )
    if not 0 < known.size < n:
        raise ValueError(
            f"known has {known.size} of {n} samples: the bound needs one known sample at least "
            "and one unknown."
        )
    return known


def _checked_labels(y_known, n_known):
    """Return the labels of the known samples as -1 and +1; which is which does not matter."""
    values, codes = np.unique(check_labels(y_known, "y_known"), return_inverse=True)
    if codes.size != n_known:
        raise ValueError(
            f"y_known has {codes.size} labels but known has {n_known} samples: pass one label per "
            "known sample, in the order of known."
        )
    if values.size > 2:
        raise ValueError(
            f"y_known has {values.size} distinct labels: the bound is for 2 clusters."
        )
    return 2 * codes - 1


def _inverse_spectrum(eigenvalues, reg, eta):
    """Return the eigenvalues of the inverse of ``reg * Q - eta * I``, all positive."""
    lowest = float(reg * eigenvalues.min())
    if not -np.inf < eta < lowest:
        raise ValueError(
            f"eta={eta:g} must be below reg times the smallest eigenvalue of Q, {lowest:g}: pass "
            "the multiplier at which the solver ended, with the reg and the Q it was given."
        )
    return 1 / (reg * eigenvalues - eta)


def _checked_spectrum(eigenvalues, Q, n):
    """Return all eigenvalues of `Q`: those given, or computed."""
    if Q is not None:
        _check_length("Q", Q.shape[0], n)
        if eigenvalues is None:
            return eigvalsh(_as_dense(Q))
    eigenvalues = check_values(eigenvalues, "eigenvalues")
    _check_length("eigenvalues", eigenvalues.size, n)
    if Q is not None:
        total, trace = eigenvalues.sum(), Q.diagonal().sum()
        if abs(total - trace) > 1e-6 * np.abs(eigenvalues).sum():
            raise ValueError(
                f"eigenvalues add up to {total:g} but the diagonal of Q to {trace:g}: pass all "
                "eigenvalues of this Q, or leave them out."
            )
    return eigenvalues


def _complexity_factor(h, Q, eigenvalues, reg, eta):
    """Return the minimum in Lemma 18.

    Its members bound h as U a with orthonormal U, as P w, and as P w in the norm of the kernel
    P, where P is the inverse of ``reg * Q - eta * I``. At a stationary point w is sign(h).
    """
    members = [np.sqrt(h.size) * np.linalg.norm(h)]
    if Q is not None or eigenvalues is not None:
        if Q is not None:
            Q, _ = _checked_symmetric(Q, tol=1e-9)
        inverse = _inverse_spectrum(_checked_spectrum(eigenvalues, Q, h.size), reg, eta)
        w = _signs(h) if Q is None else reg * (Q @ h) - eta * h
        members.append(np.linalg.norm(w) * np.linalg.norm(inverse))
        members.append(np.sqrt((w @ h) * inverse.sum()))
    return float(min(members))


def clustering_error_bound(
    h: ArrayLike,
    y_known: ArrayLike,
    known: ArrayLike,
    *,
    Q: Samples = None,
    eigenvalues: ArrayLike = None,
    reg: float,
    eta: float,
    delta: float = 0.05,
    margin: float = 1.0,
) -> ErrorBound:
    r"""Bound the distance of a soft-label partition to the truth from some known labels.

    With probability at least :math:`1 - \delta` over the choice of the :math:`n'` known samples,
    the set L, among all n (Theorem 19 of [1]_):

    .. math::
        d_H(h, y^*) \le \frac{n}{n'} \min_{s = \pm 1} \sum_{i \in L} \ell(s h_i y^*_i)
        + \frac{c_0 n}{\sqrt{n'}}
        + \sqrt{\frac{2 n^2 (n - n')^2 \ln(1/\delta)}{n' (2n - 1)(2n - 2n' - 1)}}
        + \frac{1}{\rho} \sqrt{\frac{2 (n - n')}{n'}} \; r

    with the ramp loss :math:`\ell(z) = \min(1, \max(0, 1 - z / \rho))`, the constant
    :math:`c_0 = \sqrt{32 (1 + \ln 4) / 3}` and

    .. math::
        r = \min \Bigl\{ \sqrt n, \;
        \Bigl( \sum_i \frac{n}{(\gamma \lambda_i - \eta)^2} \Bigr)^{1/2}, \;
        \Bigl( \sum_i \frac{\mu}{\gamma \lambda_i - \eta} \Bigr)^{1/2} \Bigr\}, \qquad
        \mu = \operatorname{sign}(h)^\top (\gamma Q - \eta I)^{-1} \operatorname{sign}(h).

    Parameters
    ----------
    h : array-like of shape (n_samples,)
        Soft responses of all samples, found without the known labels.
    y_known : array-like of shape (n_known,)
        True labels of the known samples, of at most two values, whatever they are.
    known : array-like of shape (n_known,) or (n_samples,)
        The samples with known labels, drawn uniformly at random: indices in the order of
        `y_known`, or a boolean mask.
    Q : {array-like, sparse matrix} of shape (n_samples, n_samples), default=None
        The matrix of the criterion.
    eigenvalues : array-like of shape (n_samples,), default=None
        All eigenvalues of `Q`. None computes them. With neither `Q` nor `eigenvalues`,
        r is the first of its three members.
    reg : float
        The paper's gamma.
    eta : float
        Lagrange multiplier of the unit norm at the end of the solver, less than `reg` times
        the smallest eigenvalue of `Q`.
    delta : float, default=0.05
        Probability that the bound may fail.
    margin : float, default=1.0
        The rho above. The theorem's value 1 is useless for `h` of unit norm; see Notes.

    Returns
    -------
    ErrorBound
        The four parts, their sum as `total`, and the `rate` of errors that it allows.

    See Also
    --------
    finite_sample_stability : Whether the partition is the only best one.
    separatrix.metrics.hamming_clustering_distance : The distance that is bounded.

    Notes
    -----
    Where this departs from the paper:

    - The constant is that of Theorem 2 of [2]_, 5.05, from which the bound follows. Read as
      :math:`\sqrt{32 (1 + \ln 4)} / 3`, 2.91, it would not.
    - The `margin` is that of [2]_. For `h` of unit norm the empirical part is at least
      :math:`n - n / (\rho \sqrt{n'})`, so with margin 1 the bound is always above n. The
      responses of a unit vector are about :math:`1 / \sqrt n`: take a margin of that size, or
      a quantile of ``abs(h)``, but not one chosen by the labels.
    - The paper takes the supremum of :math:`\mu` over all h that the solver may return for
      `Q`. Here it is that of the given `h`, which suffices as long as the labels did not influence
      its choice. To choose among several partitions by their known labels, divide `delta` by the
      number of partitions.
    - With `Q`, :math:`w = (\gamma Q - \eta I) h` takes the place of sign(h), with
      :math:`\lVert w \rVert^2` for n and :math:`w^\top h` for :math:`\mu`. The two are equal at a
      stationary point of the criterion. A bound on the cluster sizes that is met with
      equality moves `h` off such points, where only the former bounds the error. Without
      `Q`, `h` is taken as stationary, so that :math:`\mu = \lVert h \rVert_1`.
    - The first member of r is multiplied by the norm of `h`, which is 1 in the paper.

    For :math:`n' > n / 2` the theorem of [2]_ gives slightly less in the second and third
    part; these are as in [1]_.

    The bound is coarse. The second part alone is above n / 2 up to 101 known labels. The last
    part is small only if few of the :math:`1 / (\gamma \lambda_i - \eta)` are large: pass `Q` or
    `eigenvalues`, since the first member of r is that of all partitions at once.

    References
    ----------
    .. [1] G. Niu, B. Dai, L. Shang and M. Sugiyama, "Maximum volume clustering: a new
       discriminative clustering approach", Journal of Machine Learning Research 14, 2013.
    .. [2] R. El-Yaniv and D. Pechyony, "Transductive Rademacher complexity and its
       applications", Journal of Artificial Intelligence Research 35, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.stability import clustering_error_bound
    >>> y = np.repeat(["a", "b"], 1000)
    >>> h = np.repeat([1.0, -1.0], 1000) / np.sqrt(2000)
    >>> eigenvalues = np.append(0.0, np.ones(1999))  # those of I - h h'
    >>> known = np.random.default_rng(0).choice(2000, 800, replace=False)
    >>> bound = clustering_error_bound(
    ...     h, y[known], known, eigenvalues=eigenvalues, reg=1e5, eta=-np.sqrt(2000), margin=0.02
    ... )
    >>> print(bound)
    At most 510.4 of 2000 samples (25.5%) are in the wrong cluster, with probability 0.95.
    From 800 known labels: empirical 0.0, sizes 356.7, confidence 67.1, complexity 86.6.
    """
    h = check_values(h, "h")
    n = h.size
    known = _checked_known(known, n)
    n_known, n_unknown = known.size, n - known.size
    y = _checked_labels(y_known, n_known)
    delta, eta = check_number(delta, "delta"), check_number(eta, "eta")
    reg, margin = check_number(reg, "reg"), check_number(margin, "margin")
    if not 0 < delta < 1:
        raise ValueError(f"delta={delta} must lie in (0, 1): pass a probability of failure.")
    for name, value in (("reg", reg), ("margin", margin)):
        if not 0 < value < np.inf:
            raise ValueError(f"{name}={value} must be positive and finite.")
    with np.errstate(over="ignore"):  # an infinite part is a bound as well
        factor = _complexity_factor(h, Q, eigenvalues, reg, eta) / margin
        loss = min(np.clip(1 - side * h[known] * y / margin, 0, 1).sum() for side in (1, -1))
    squared = 2 * (n * n_unknown) ** 2 / (n_known * (2 * n - 1) * (2 * n_unknown - 1))
    return ErrorBound(
        n_samples=n,
        n_known=n_known,
        delta=delta,
        empirical=float(n / n_known * loss),
        sizes=float(_C0 * n / np.sqrt(n_known)),
        confidence=float(np.sqrt(squared * np.log(1 / delta))),
        complexity=float(np.sqrt(2 * n_unknown / n_known) * factor),
    )
