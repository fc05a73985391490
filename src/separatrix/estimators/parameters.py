"""What parameters may be, for those that several estimators have."""

from numbers import Integral, Real

from separatrix._sklearn import Interval, StrOptions

# Weights beyond these would drown in the sums and squares that they are part of, or overflow them.
POSITIVE = [Interval(Real, 1e-150, 1e150, closed="both")]
NONNEGATIVE = [Interval(Real, 0, 1e150, closed="both")]
COUNT = [Interval(Integral, 1, None, closed="left")]

N_CLUSTERS = {"n_clusters": COUNT, "random_state": ["random_state"]}
UPDATES = {"max_iter": COUNT, "tol": [Interval(Real, 0, 1, closed="left")]}
RESTARTS = {"n_init": COUNT, **UPDATES}
GAMMA = [
    StrOptions({"scale", "mean", "median"}),
    Interval(Real, 0, None, closed="neither"),
    tuple,
]
KERNEL = {
    "kernel": [
        StrOptions(
            {"linear", "rbf", "poly", "sigmoid", "laplacian", "cosine", "chi2", "precomputed"}
        ),
        callable,
    ],
    "gamma": GAMMA,
    "degree": [Interval(Real, 1, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
}
N_JOBS = {"n_jobs": [Interval(Integral, None, -1, closed="right"), *COUNT, None]}
N_COMPONENTS = {"n_components": COUNT}
INIT = {"init": [StrOptions({"k-means", "random"}), "array-like"]}
OUTLIERS = {"outliers": [StrOptions({"auto"}), Interval(Real, 0, 0.5, closed="left"), None]}
WARM_START = {"warm_start": ["boolean"]}
SIZE_BOUNDS = {
    "min_size": [Interval(Real, 0, None, closed="left"), "array-like", None],
    "max_size": [Interval(Real, 0, None, closed="neither"), "array-like", None],
}
BALANCE = {"balance": [Interval(Real, 0, 1, closed="left")]}
SCALED_C = {"C": [StrOptions({"scale"}), *POSITIVE]}
SAMPLED_SEARCH = {"max_samples": [Interval(Integral, 2, None, closed="left")], **N_COMPONENTS}
GAP_TOL = {"gap_tol": [Interval(Real, 0, 1, closed="left")]}
CERTIFIED = {"max_steps": COUNT, **GAP_TOL}
ROUNDINGS = {"n_roundings": [Interval(Integral, 0, None, closed="left")]}
GRAPH = {
    "affinity": [StrOptions({"local", "rbf", "cosine", "precomputed"})],
    "graph": [StrOptions({"union", "mutual", "full"})],
    "n_neighbors": COUNT,
    "gamma": GAMMA,
    "neighbors": [StrOptions({"auto", "exact", "approximate"})],
    **N_JOBS,
}
