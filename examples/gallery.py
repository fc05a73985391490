"""
Gallery of displays
===================

One picture of each display, on data that come with scikit-learn.
"""

from pathlib import Path

import matplotlib.pyplot as plt
from PIL import Image
from sklearn.cluster import KMeans
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_sample_image,
    load_wine,
)
from sklearn.preprocessing import StandardScaler

from separatrix import (
    MaximinSeparationClustering,
    MaximumMarginClustering,
    MaximumVolumeClustering,
    RegularizedLeastSquaresClustering,
)
from separatrix.datasets import make_two_moons
from separatrix.plots import (
    AgreementDisplay,
    BoundaryDisplay,
    ClusterSizesDisplay,
    CoassociationDisplay,
    HistoryDisplay,
    LabelImageDisplay,
    MarginDistributionDisplay,
    SelectionCurveDisplay,
    WeightsDisplay,
)

GALLERY = Path(__file__).parent.parent / "docs" / "gallery"


def digits_below(limit):
    """Images of the digits from 0."""
    X, digits = load_digits(return_X_y=True)
    return X[digits < limit]


def standardized(load):
    """A data frame of scikit-learn's, all features of one scale."""
    scaler = StandardScaler().set_output(transform="pandas")
    return scaler.fit_transform(load(as_frame=True).data)


def boundary():
    X, _ = make_two_moons(400, noise=0.08, random_state=0)
    model = MaximumVolumeClustering(2, random_state=0).fit(X)
    return BoundaryDisplay.from_estimator(model, X)


def boundary_projected():
    X = standardized(load_breast_cancer)
    model = MaximinSeparationClustering(2).fit(X)
    return BoundaryDisplay.from_estimator(model, X, max_samples=400)


def boundary_three_clusters():
    X = load_iris(as_frame=True).data
    model = MaximumMarginClustering(3, random_state=0).fit(X)
    return BoundaryDisplay.from_estimator(model, X)


def margin_distribution():
    X = standardized(load_breast_cancer)
    model = MaximinSeparationClustering(2).fit(X)
    return MarginDistributionDisplay.from_estimator(model, X)


def history():
    X = digits_below(6)
    minimax = MaximinSeparationClustering(2, solver="mpm").fit(X)
    bound = MaximinSeparationClustering(2, solver="gep").fit(X)
    display = HistoryDisplay.from_estimator(minimax, name="solver='mpm'")
    return HistoryDisplay.from_estimator(bound, name="solver='gep'", ax=display.ax_)


def cluster_sizes():
    X = standardized(load_wine)
    model = MaximinSeparationClustering(3).fit(X)
    return ClusterSizesDisplay.from_estimator(model, X)


def weights():
    X = standardized(load_wine)
    model = MaximinSeparationClustering(2).fit(X)
    return WeightsDisplay.from_estimator(model, X, max_features=8)


def agreement():
    X, digits = load_digits(return_X_y=True)
    models = {
        "k-means": KMeans(10, n_init=10, random_state=0),
        "margin": MaximumMarginClustering(10, random_state=0),
        "volume": MaximumVolumeClustering(10, random_state=0),
        "least squares": RegularizedLeastSquaresClustering(10, random_state=0),
    }
    labels = {name: model.fit(X).labels_ for name, model in models.items()}
    return AgreementDisplay.from_labels({**labels, "true digits": digits})


def coassociation():
    X = load_iris().data
    seeds = range(30)
    labels = [KMeans(4, n_init=1, random_state=seed).fit(X).labels_ for seed in seeds]
    return CoassociationDisplay.from_labels(labels)


def selection_curve():
    X = digits_below(4)
    model = MaximumMarginClustering(random_state=0)
    return SelectionCurveDisplay.from_estimator(model, X)


def label_image():
    return LabelImageDisplay.from_image(load_sample_image("flower.jpg")[::3, ::3], 3)


PICTURES = (
    boundary,
    boundary_projected,
    boundary_three_clusters,
    margin_distribution,
    history,
    cluster_sizes,
    weights,
    agreement,
    coassociation,
    selection_curve,
    label_image,
)


def main():
    GALLERY.mkdir(parents=True, exist_ok=True)
    for make in PICTURES:
        figure = make().figure_
        figure.set_size_inches(5.6, 4.0)
        path = GALLERY / f"{make.__name__}.png"
        figure.savefig(path, dpi=90)
        plt.close(figure)
        Image.open(path).convert("RGB").quantize(128).save(path, optimize=True)  # a third as large
        print(f"wrote {make.__name__}.png")


if __name__ == "__main__":
    main()
