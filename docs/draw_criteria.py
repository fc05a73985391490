"""Write docs/images/criterion_*.png: what each criterion looks at, on small data."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import scale

from separatrix import (
    InformationMaximizationClustering,
    LDAKMeans,
    MaximinSeparationClustering,
    MaximumMarginClustering,
    MaximumVolumeClustering,
    OptimalMarginDistributionClustering,
    RegularizedLeastSquaresClustering,
    SemidefiniteMarginClustering,
)
from separatrix.datasets import make_two_moons
from separatrix.plots import BoundaryDisplay
from separatrix.plots.colors import HEAT, INK, MUTED, cluster_color, cluster_marker

IMAGES = Path(__file__).parent / "images"


def petals():
    """Two features of the two species of iris that overlap."""
    return load_iris().data[50:, 2:]


def grid_of(X, pad=0.3, n=200):
    """Axes of a grid around samples, and its points."""
    corners = zip(X.min(axis=0) - pad, X.max(axis=0) + pad, strict=True)
    xs, ys = (np.linspace(low, high, n) for low, high in corners)
    return xs, ys, np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2)


def scatter(ax, X, labels):
    for cluster in np.unique(labels):
        style = {"color": cluster_color(cluster), "marker": cluster_marker(cluster)}
        ax.scatter(*X[labels == cluster].T, s=16, linewidths=0, **style)
    ax.set(xticks=[], yticks=[])


def separation(figure):
    """Means and deviations of both clusters along the normal of the boundary."""
    X = petals()
    model = MaximinSeparationClustering(2).fit(X)
    left, right = figure.subplots(1, 2)
    BoundaryDisplay.from_estimator(model, X, ax=left)
    left.get_legend().remove()
    left.set(xlabel="petal length (cm)", ylabel="petal width (cm)")
    left.set_title("the boundary", color=INK)
    values = model.decision_function(X)
    for cluster in (0, 1):
        own = values[model.labels_ == cluster]
        right.hist(own, bins=15, color=cluster_color(cluster), alpha=0.5)
        height = 16 + 2 * cluster
        right.plot(own.mean(), height, "o", color=cluster_color(cluster))
        spread = [own.mean() - own.std(), own.mean() + own.std()]
        right.plot(spread, [height] * 2, color=cluster_color(cluster), linewidth=2)
    right.axvline(0, color=INK)
    right.set(yticks=[], xlabel="along the normal")
    right.set_title("means and deviations of both sides", color=INK)


def margin(figure):
    """The band around the boundary that holds no samples of a hard machine."""
    X = petals()
    for ax, balance in zip(figure.subplots(1, 2), (0.1, 0.5), strict=True):
        model = MaximumMarginClustering(2, kernel="linear", balance=balance).fit(X)
        xs, ys, points = grid_of(X)
        values = model.decision_function(points).reshape(len(ys), len(xs))
        ax.contourf(xs, ys, values, levels=[-1, 1], colors=[MUTED], alpha=0.15)
        ax.contour(xs, ys, values, levels=[-1, 0, 1], colors=INK, linewidths=[0.7, 2, 0.7])
        scatter(ax, X, model.labels_)
        sizes = " and ".join(map(str, np.bincount(model.labels_)))
        ax.set_title(f"balance={balance}: {sizes} rows", color=INK)


def volume(figure):
    """Responses on a graph: their signs are the clusters, their sizes the confidence."""
    X, _ = make_two_moons(300, noise=0.12, random_state=1)
    model = MaximumVolumeClustering(2).fit(X)
    left, right = figure.subplots(1, 2)
    links = model.affinity_matrix_.tocoo()
    for i, j in zip(
        links.row[links.row < links.col], links.col[links.row < links.col], strict=True
    ):
        left.plot(*X[[i, j]].T, color=MUTED, linewidth=0.3)
    scatter(left, X, model.labels_)
    left.set_title("the graph of neighbours", color=INK)
    points = right.scatter(*X.T, c=model.response_, cmap="RdBu", s=16)
    right.set(xticks=[], yticks=[])
    right.set_title("responses", color=INK)
    figure.colorbar(points, ax=right)


def least_squares(figure):
    """Values of one classifier for each cluster; the largest wins."""
    X = load_iris().data[:, 2:]
    model = RegularizedLeastSquaresClustering(3, shares="equal").fit(X)
    xs, ys, points = grid_of(X)
    scores = model.decision_function(points)
    for cluster, ax in enumerate(figure.subplots(1, 3)):
        ax.contourf(
            xs, ys, scores[:, cluster].reshape(200, 200), levels=12, cmap="Greys", alpha=0.6
        )
        scatter(ax, X, model.labels_)
        ax.set_title(f"classifier of cluster {cluster}", color=INK)


def labellings(figure):
    """Some of the labellings that are mixed, with their weights."""
    X = petals()
    model = OptimalMarginDistributionClustering(2).fit(X)
    heaviest = np.argsort(model.labelling_weights_)[::-1][:3]
    axes = figure.subplots(1, 4)
    for ax, row in zip(axes, heaviest, strict=False):
        scatter(ax, X, (np.asarray(model.labellings_[row]) > 0).astype(int))
        ax.set_title(f"weight {model.labelling_weights_[row]:.2f}", color=INK)
    scatter(axes[-1], X, model.labels_)
    axes[-1].set_title("what is read out", color=INK)


def information(figure):
    """Probability of the likeliest cluster everywhere."""
    X = load_iris().data[:, 2:]
    for ax, reg in zip(figure.subplots(1, 2), (0.02, 0.2), strict=True):
        model = InformationMaximizationClustering(2, reg=reg).fit(X)
        xs, ys, points = grid_of(X)
        surest = model.predict_proba(points)[:, 1].reshape(200, 200)
        filled = ax.contourf(
            xs, ys, surest, levels=np.linspace(0, 1, 11), cmap="PuOr_r", alpha=0.6
        )
        scatter(ax, X, model.labels_)
        ax.set_title(f"reg={reg}", color=INK)
    figure.colorbar(filled, ax=ax, label="probability of cluster 1")


def relaxations(figure):
    """Products of labels, relaxed and rounded, with samples in the order of clusters."""
    X, _ = make_two_moons(120, noise=0.05, random_state=0)
    model = SemidefiniteMarginClustering(2, balance=0.1).fit(X)
    order = np.argsort(model.decision_function(X))
    signs = np.where(model.labels_ == 1, 1.0, -1.0)
    left, right = figure.subplots(1, 2)
    scatter(left, X, model.labels_)
    left.set_title("labels", color=INK)
    drawn = right.imshow(np.outer(signs, signs)[np.ix_(order, order)], cmap=HEAT)
    right.set(xticks=[], yticks=[])
    right.set_title("products of labels, which the program relaxes", color=INK)
    figure.colorbar(drawn, ax=right)


def classics(figure):
    """The plane that discriminates the clusters best, and the plane of largest variance."""
    X = scale(load_wine().data)
    model = LDAKMeans(3).fit(X)
    left, right = figure.subplots(1, 2)
    _, _, directions = np.linalg.svd(X, full_matrices=False)
    scatter(left, X @ directions[:2].T, model.labels_)
    left.set_title("the plane of largest variance", color=INK)
    scatter(right, X @ model.components_.T, model.labels_)
    right.set_title("the plane of LDAKMeans", color=INK)


PICTURES = (
    separation,
    margin,
    volume,
    least_squares,
    labellings,
    information,
    relaxations,
    classics,
)


def main():
    for draw in PICTURES:
        figure = plt.figure(figsize=(8.4, 3.1), layout="constrained")
        draw(figure)
        path = IMAGES / f"criterion_{draw.__name__}.png"
        figure.savefig(path, dpi=110)
        plt.close(figure)
        Image.open(path).convert("RGB").quantize(128).save(path, optimize=True)  # a third as large
        print(f"wrote {path.name}")


if __name__ == "__main__":
    main()
