"""From samples to features and their moments."""

from numbers import Real

from separatrix._sklearn import Interval
from separatrix.data.chunks import features_of
from separatrix.estimators.kernel_features import KERNEL_CONSTRAINTS, KernelFeaturesMixin
from separatrix.solvers.minimax_sides import MomentProblem

__all__ = ["MomentFeaturesMixin"]


# --- the classifier -----------------------------------------------------------------------------


class MomentFeaturesMixin(KernelFeaturesMixin):
    """From validated samples to the features and the problem of the criterion."""

    reg: float
    _parameter_constraints: dict = {
        **KERNEL_CONSTRAINTS,
        "reg": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def _problem(self, X, sample_weight, rng):
        self._check_precomputed(X)
        self._feature_map = None
        if self.kernel != "linear":
            self._feature_map = self._fit_feature_map(
                X, sample_weight, rng, max_rank=self.n_components
            )
        isotropic = self._feature_map is not None
        problem = MomentProblem.of(
            features_of(X, self._feature_map),
            sample_weight,
            reg=self.reg,
            isotropic=isotropic,
            rng=rng,
        )
        return problem.check_varies()
