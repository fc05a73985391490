"""Data sets with known classes, drawn at random: what the validity is learned from.

`draw(seed)` gives a set of one of five kinds: clouds, tables, answers of yes and no, surfaces and
shapes. `draw(seed, AS_MEASURED)` gives one of three kinds that look like what people measure, in
which classes overlap along the directions of large variance: tables with common factors, texts
and curves. No real data are used. What varies: the numbers of samples, features and classes; their
sizes, shapes, overlap and noise; units and margins of the features; columns that tell nothing;
samples of no class.
"""

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.distance import pdist

MAX_FEATURES = 50


@dataclass(frozen=True)
class Drawn:
    """A data set: samples, classes (-1 for none) and the kind it is of."""

    X: np.ndarray
    y: np.ndarray
    kind: str

    @property
    def counts(self):
        """Which samples have a class."""
        return self.y >= 0

    @property
    def n_classes(self):
        return len(np.unique(self.y[self.counts]))


def draw(seed, kinds=None):
    """The data set of a seed, about its mean and in units of its spread.

    `kinds` are the kinds it may be of, with their chances; by default the general ones.
    """
    kinds = GENERAL if kinds is None else kinds
    rng = np.random.default_rng(seed)
    while True:
        n_samples = int(np.exp(rng.uniform(np.log(150), np.log(3_000))))
        n_classes = int(rng.choice([2, 2, 2, 3, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 30]))
        n_classes = min(n_classes, max(2, n_samples // 25))
        n_features = int(np.exp(rng.uniform(np.log(2), np.log(60))))
        kind = rng.choice([*kinds], p=[*kinds.values()])
        X, y = KINDS[kind](rng, class_sizes(rng, n_samples, n_classes), n_features)
        if rng.random() < (0.2 if kind == "scene" else 0.06):
            X, y = with_noise(rng, X, y)
        X = X[:, X.std(axis=0) > 1e-9]
        if X.shape[1] == 0 or len(np.unique(y[y >= 0])) < 2 or not np.isfinite(X).all():
            continue
        in_units = {"table": True, "factors": True, "binary": rng.random() < 0.5}
        in_units = in_units.get(kind, rng.random() < 0.1)
        X = X - X.mean(axis=0)
        if in_units:
            X /= X.std(axis=0)
        if X.shape[1] > MAX_FEATURES:
            left, values, _ = np.linalg.svd(X, full_matrices=False)
            X = left[:, :MAX_FEATURES] * values[:MAX_FEATURES]
        order = rng.permutation(len(y))
        return Drawn(X[order] / np.sqrt(np.mean(X**2)), y[order], str(kind))


def class_sizes(rng, n_samples, n_classes):
    """Sizes of classes, from very uneven to equal, each at least five."""
    evenness = rng.choice([1.0, 3.0, 10.0, 1e4], p=[0.2, 0.3, 0.2, 0.3])
    shares = rng.dirichlet(np.full(n_classes, evenness))
    shares = np.maximum(shares, min(1.0, max(0.02, 8 * n_classes / n_samples)) / n_classes)
    return np.maximum((n_samples * shares / shares.sum()).astype(int), 5)


def with_noise(rng, X, y):
    """Samples of no class, in the box of the others or a little beyond."""
    n_noise = max(1, int(len(y) * rng.choice([0.01, 0.04, 0.1])))
    low, high = X.min(axis=0), X.max(axis=0)
    beyond = (high - low) * rng.choice([0.0, 0.2])
    noise = rng.uniform(low - beyond, high + beyond, size=(n_noise, X.shape[1]))
    return np.vstack([X, noise]), np.append(y, np.full(n_noise, -1))


# --- clouds and tables --------------------------------------------------------------------------


def rotation_with_scales(rng, n_features, condition):
    """Matrix that turns and stretches; the variances differ by the factor `condition` at most."""
    turned = np.linalg.qr(rng.normal(size=(n_features, n_features)))[0]
    return turned * np.exp(rng.uniform(-0.25, 0.25, n_features) * np.log(condition))


def deviations(rng, size, kind):
    """Independent deviations of about unit variance."""
    if kind == "heavy":
        return rng.standard_t(3, size=size) / 1.5
    if kind == "skew":
        return rng.exponential(size=size) - 1
    if kind == "box":
        return rng.uniform(-1.7, 1.7, size=size)
    if kind == "peaked":
        return rng.laplace(size=size) / 1.4
    normal = rng.normal(size=size)
    if kind == "ball":
        lengths = np.linalg.norm(normal, axis=1, keepdims=True)
        radii = rng.random((size[0], 1)) ** (1 / size[1])
        return normal / lengths * radii * np.sqrt(size[1] + 2)
    return normal


CLOUDS = ["normal"] * 4 + ["heavy", "skew", "box", "peaked", "ball"]


def clouds(rng, sizes, n_features):
    """Clouds of equal or different shapes around random centres, some features without use."""
    n_classes, y = len(sizes), np.repeat(np.arange(len(sizes)), sizes)
    useful = n_features
    if rng.random() < 0.4:
        useful = int(rng.integers(1, min(n_features, max(2, n_classes)) + 1))
    centers = np.zeros((n_classes, n_features))
    centers[:, :useful] = rng.normal(size=(n_classes, useful))
    apart = rng.choice([0.8, 1.2, 1.7, 2.5, 4.0]) * rng.uniform(0.8, 1.2)
    if rng.random() < 0.5:
        apart *= (max(n_features, 2) / 2) ** 0.15
    centers *= 4 * apart / max(np.median(pdist(centers)), 1e-9)
    condition, kind = rng.choice([1, 3, 10, 60]), rng.choice(CLOUDS)
    same_shape, spread = rng.random() < 0.35, np.log(rng.choice([1, 1, 2, 5]))
    shape = rotation_with_scales(rng, n_features, condition)
    X = centers[y]
    for c, size in enumerate(sizes):
        if not same_shape:
            shape = rotation_with_scales(rng, n_features, condition)
        own = kind if rng.random() < 0.8 else rng.choice(CLOUDS)
        scale = np.exp(rng.uniform(-0.5, 0.5) * spread)
        X[y == c] += scale * deviations(rng, (size, n_features), own) @ shape.T
    return (odd_margins(rng, X) if rng.random() < 0.15 else X), y


def odd_margins(rng, X):
    """Some features on a logarithmic or cubic scale, rounded, cut to two values, or censored."""
    X = (X - X.mean(axis=0)) / (X.std(axis=0) + 1e-9)
    for column in X.T:
        what = rng.random()
        if what < 0.15:
            column[:] = np.exp(column)
        elif what < 0.25:
            column[:] = column**3
        elif what < 0.4:
            column[:] = np.round(column * rng.choice([0.7, 1.5, 3]))
        elif what < 0.5:
            column[:] = column > rng.uniform(-1, 1)
        elif what < 0.55:
            column[:] = np.maximum(column, 0)
    return X


def table(rng, sizes, n_features):
    """Classes of one to three groups, in few useful columns among copies and noise."""
    n_features, y = max(3, n_features), np.repeat(np.arange(len(sizes)), sizes)
    n_groups, useful = int(rng.integers(1, 4)), int(rng.integers(1, min(n_features, 8) + 1))
    apart, X = 1.4 * rng.choice([0.6, 1.0, 1.5, 2.2]), np.empty((len(y), useful))
    for c, size in enumerate(sizes):
        centers = apart * rng.normal(size=(n_groups, useful))
        if rng.random() < 0.5:  # the groups of a class lie close together
            centers = centers.mean(axis=0) + 0.5 * (centers - centers.mean(axis=0))
        group = rng.choice(n_groups, size, p=rng.dirichlet(np.full(n_groups, 2.0)))
        kind = rng.choice(["normal", "normal", "heavy", "peaked"])
        around = deviations(rng, (size, useful), kind) @ rotation_with_scales(rng, useful, 5).T
        X[y == c] = centers[group] + around
    n_copies = int(rng.integers(0, n_features - useful + 1))
    if n_copies:
        copies = X @ rng.normal(size=(useful, n_copies)) / np.sqrt(useful)
        X = np.hstack([X, copies + rng.choice([0.2, 0.6]) * rng.normal(size=copies.shape)])
    n_noise = n_features - X.shape[1]
    if n_noise:
        noise = rng.normal(size=(len(y), n_noise)) @ rotation_with_scales(rng, n_noise, 5).T
        X = np.hstack([X, noise])
    if rng.random() < 0.5:
        X = odd_margins(rng, X)
    if rng.random() < 0.2:  # some classes are noted wrongly
        wrong = rng.random(len(y)) < rng.choice([0.02, 0.1])
        y = np.where(wrong, rng.permutation(y), y)
    return X, y


def binary(rng, sizes, n_features):
    """Columns of yes and no, with probabilities of each class's own."""
    n_features, y = max(6, n_features), np.repeat(np.arange(len(sizes)), sizes)
    shape = (0.4, 0.4) if rng.random() < 0.5 else (1.0, 2.0)
    chances = rng.beta(*shape, size=(len(sizes), n_features))
    common = rng.choice([0.0, 0.3, 0.6])
    chances = (1 - common) * chances + common * chances.mean(axis=0)
    X = (rng.random((len(y), n_features)) < chances[y]).astype(float)
    if rng.random() < 0.4:
        X = np.hstack([X, 2 * chances[y, :3] + rng.normal(size=(len(y), 3))])
    return X, y


def manifold(rng, sizes, n_features):
    """Smooth surfaces of few dimensions, one for each class, or places on a common one."""
    n_features, y = max(5, n_features), np.repeat(np.arange(len(sizes)), sizes)
    n_latent, n_hidden = int(rng.integers(1, 6)), int(rng.choice([16, 32, 64]))
    bend = {"tanh": np.tanh, "sin": np.sin, "hinge": lambda z: np.maximum(z, 0)}
    bend = bend[rng.choice([*bend])]
    gain, apart = rng.choice([0.5, 1.0, 2.0]), rng.choice([0.3, 0.6, 1.0, 2.0])
    mixing, common = rng.choice([0.3, 0.6, 1.0]), rng.random() < 0.4
    inner = gain * rng.normal(size=(n_latent, n_hidden))
    offset, outer = rng.normal(size=n_hidden), rng.normal(size=(n_hidden, n_features))
    X = np.empty((len(y), n_features))
    for c, size in enumerate(sizes):
        latent = rng.normal(size=(size, n_latent))
        if common:
            place = 0.5 * latent + 1.5 * apart * rng.normal(size=n_latent)
            X[y == c] = bend(place @ inner + offset) @ outer
        else:
            own = inner + mixing * gain * rng.normal(size=inner.shape)
            shift = offset + apart * rng.normal(size=n_hidden)
            X[y == c] = bend(latent @ own + shift) @ outer
    X = X / X.std() + rng.choice([0.02, 0.1, 0.3]) * rng.normal(size=X.shape)
    if rng.random() < 0.3:  # as dark pixels: many equal lowest values
        X = np.maximum(X, np.quantile(X, 0.3))
    return X, y


# --- scenes in the plane and in space -----------------------------------------------------------


def on_circle(angle):
    return np.column_stack([np.cos(angle), np.sin(angle)])


def wandering(rng, t):
    """Places along a smooth random path at times t."""
    path = np.cumsum(on_circle(np.cumsum(0.3 * rng.normal(size=60))), axis=0)
    path = (path - path.mean(axis=0)) / np.abs(path - path.mean(axis=0)).max()
    steps = np.arange(len(path)) / (len(path) - 1)
    return np.column_stack([np.interp(t, steps, column) for column in path.T])


def shape(rng, size):
    """A shape in the plane, of about unit size, turned at random."""
    kind = rng.choice(["disk", "cloud", "box", "triangle", "ring", "arc", "spiral", "line",
                       "wave", "path", "cross"])  # fmt: skip
    t, width = rng.random(size), rng.choice([0.01, 0.03, 0.06, 0.1])
    if kind in ("disk", "cloud", "box", "triangle"):
        width = 0.0
    match kind:
        case "disk":
            X = on_circle(2 * np.pi * t) * np.sqrt(rng.random((size, 1)))
        case "cloud":
            condition = rng.choice([1, 4, 15, 60])
            X = 0.45 * rng.normal(size=(size, 2)) @ rotation_with_scales(rng, 2, condition).T
        case "box":
            X = rng.uniform(-1, 1, (size, 2))
        case "triangle":
            X = rng.dirichlet([1, 1, 1], size) @ [[-1, -0.8], [1, -0.8], [0, 1]]
        case "ring":
            X = on_circle(2 * np.pi * t)
        case "arc":
            X = on_circle(np.pi * rng.uniform(0.6, 1.6) * t)
        case "spiral":
            angle = 0.5 + rng.uniform(4, 9) * t
            X = angle[:, None] * on_circle(angle) / angle.max()
        case "line":
            X = np.column_stack([2 * t - 1, np.zeros(size)])
        case "wave":
            X = np.column_stack([2 * t - 1, 0.5 * np.sin(rng.uniform(6, 18) * t)])
        case "path":
            X = wandering(rng, t)
        case _:
            X = np.column_stack([2 * t - 1, np.zeros(size)])
            X = np.where(rng.random((size, 1)) < 0.5, X, X[:, ::-1])
    angle = rng.uniform(0, 2 * np.pi)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return (X + width * rng.normal(size=(size, 2))) @ turn.T


def placed(rng, sizes):
    """Shapes beside each other, with a gap or with some overlap."""
    gap, alike = rng.choice([-0.15, 0.0, 0.08, 0.15, 0.3, 0.5]), rng.random() < 0.3
    common, parts = rng.integers(2**31), []
    for size in sizes:
        source = np.random.default_rng(common) if alike and rng.random() < 0.8 else rng
        part, reach = shape(source, size) * rng.uniform(0.5, 1.6), 1.0
        for _ in range(400):
            moved = part + rng.uniform(-1.2, 1.2, 2) * reach
            reach *= 1.012
            if not parts:
                break
            away = cKDTree(np.vstack(parts)).query(moved[:: max(1, size // 150)])[0]
            if np.mean(away < 0.05) < 0.15 if gap < 0 else away.min() > gap:
                break
        parts.append(moved)
    return np.vstack(parts)


def nested(rng, sizes):
    """Rings around each other, the innermost often filled."""
    radii = np.cumsum(rng.uniform(0.5, 1.5, len(sizes)))
    width, parts = rng.choice([0.05, 0.12, 0.2]), []
    for c, size in enumerate(sizes):
        radius = np.full((size, 1), radii[c])
        if c == 0 and rng.random() < 0.6:
            radius = 0.5 * radii[0] * np.sqrt(rng.random((size, 1)))
        circle = radius * on_circle(rng.uniform(0, 2 * np.pi, size))
        parts.append(circle + width * rng.normal(size=(size, 2)))
    return np.vstack(parts)


def moons(rng, sizes):
    """Half circles, each reaching into the next."""
    width, parts = rng.choice([0.03, 0.08, 0.13, 0.2]), []
    for c, size in enumerate(sizes):
        arc = on_circle(rng.uniform(0, np.pi, size)) * (1 if c % 2 == 0 else -1)
        parts.append(arc + [c, 0.45 * (c % 2)] + width * rng.normal(size=(size, 2)))
    return np.vstack(parts)


def spirals(rng, sizes):
    """Arms that wind around a common centre."""
    turns, width, parts = rng.uniform(2, 7), rng.choice([0.01, 0.03, 0.06]), []
    for c, size in enumerate(sizes):
        radius = np.sqrt(rng.uniform(0.03, 1, size))
        arm = radius[:, None] * on_circle(turns * radius + 2 * np.pi * c / len(sizes))
        parts.append(arm + 3 * width / len(sizes) * rng.normal(size=(size, 2)))
    return np.vstack(parts)


def strands(rng, sizes):
    """Lines or waves that run side by side."""
    apart, height, pace = rng.uniform(0.3, 1.2), rng.choice([0, 0.3, 0.8]), rng.uniform(1, 6)
    width, parts = rng.choice([0.03, 0.08, 0.15]), []
    for c, size in enumerate(sizes):
        t = rng.uniform(-2, 2, size)
        parts.append(np.column_stack([t, height * np.sin(pace * t) + apart * c]))
        parts[-1][:, 1] += width * rng.normal(size=size)
    return np.vstack(parts)


def grid(rng, sizes):
    """Clouds on a grid, more or less regular."""
    y, side = np.repeat(np.arange(len(sizes)), sizes), int(np.ceil(np.sqrt(len(sizes))))
    places = np.array([divmod(i, side) for i in range(side**2)], dtype=float)
    centers = rng.permutation(places)[: len(sizes)]
    centers += rng.choice([0, 0.2, 0.4]) * rng.normal(size=centers.shape)
    widths = np.full(len(sizes), rng.choice([0.12, 0.2, 0.27, 0.33]))
    if rng.random() < 0.5:
        widths *= np.exp(0.4 * rng.normal(size=len(sizes)))
    return centers[y] + widths[y, None] * rng.normal(size=(len(y), 2))


def unequal(rng, sizes):
    """Clouds of very different widths."""
    y = np.repeat(np.arange(len(sizes)), sizes)
    centers = rng.uniform(1, 3) * rng.normal(size=(len(sizes), 2))
    widths = np.exp(rng.uniform(-2, 0.5, len(sizes)))
    return centers[y] + widths[y, None] * rng.normal(size=(len(y), 2))


def in_space(rng, sizes):
    """Linked rings, shells, helices or tilted planes."""
    kind, width, parts = rng.choice(["links", "shells", "helices", "planes"]), None, []
    width = rng.choice([0.03, 0.08, 0.15])
    for c, size in enumerate(sizes):
        angle = rng.uniform(0, 2 * np.pi, size)
        ring = np.column_stack([on_circle(angle), np.zeros(size)])
        match kind:
            case "links":
                part = (ring if c % 2 == 0 else ring[:, [0, 2, 1]]) + [c, 0, 0]
            case "shells":
                part = rng.normal(size=(size, 3))
                part *= (rng.uniform(0.7, 1.5) * c + 0.3) / np.linalg.norm(part, axis=1)[:, None]
            case "helices":
                turned = angle + 2 * np.pi * c / len(sizes)
                part = np.column_stack([on_circle(turned), angle / 2])
            case _:
                flat = np.column_stack([rng.uniform(-1, 1, (size, 2)), np.full(size, 0.5 * c)])
                part = flat @ np.linalg.qr(np.eye(3) + 0.1 * c * rng.normal(size=(3, 3)))[0]
        parts.append(part + width * rng.normal(size=(size, 3)))
    return np.vstack(parts)


SCENES = [placed, placed, placed, nested, moons, spirals, strands, grid, unequal, in_space]


def scene(rng, sizes, n_features):
    """Shapes in the plane or in space; mostly few of them."""
    if rng.random() < 0.9:
        sizes = sizes[:10]
    made = SCENES[rng.integers(len(SCENES))](rng, sizes)
    return made, np.repeat(np.arange(len(sizes)), sizes)


# --- as measured --------------------------------------------------------------------------------


def factors(rng, sizes, n_features):
    """Columns that share a few factors, along which the classes differ a little."""
    n_features, y = max(4, n_features), np.repeat(np.arange(len(sizes)), sizes)
    n_factors = int(rng.integers(1, min(n_features, 6) + 1))
    strength = np.exp(-rng.uniform(0, 1.2) * np.arange(n_factors))
    apart = rng.choice([1.0, 1.6, 2.5, 4.0])
    centers = apart * rng.normal(size=(len(sizes), n_factors)) / 1.5
    if rng.random() < 0.4:  # classes are steps along one factor, as grades are
        centers = np.zeros_like(centers)
        centers[:, rng.integers(n_factors)] = apart * np.arange(len(sizes))
    latent = centers[y] + deviations(rng, (len(y), n_factors), rng.choice(CLOUDS))
    if rng.random() < 0.4:  # some classes scatter more than others
        latent = (
            centers[y] + (latent - centers[y]) * np.exp(0.5 * rng.normal(size=len(sizes)))[y, None]
        )
    loadings = rng.normal(size=(n_factors, n_features)) * (
        rng.random((n_factors, n_features)) < 0.6
    )
    X = (latent * strength) @ loadings
    X += rng.choice([0.2, 0.5, 1.0]) * rng.normal(size=X.shape)
    if rng.random() < 0.5:
        return in_levels(rng, X, share=rng.uniform(0.2, 1.0)), y
    return (odd_margins(rng, X) if rng.random() < 0.6 else X), y


def in_levels(rng, X, share):
    """A share of the columns in few levels, as answers are: two, or up to five."""
    X = X.copy()
    for column in X.T:
        if rng.random() < share:
            n_levels = 2 if rng.random() < 0.7 else int(rng.integers(3, 6))
            steps = np.quantile(column, rng.uniform(0.08, 0.92, n_levels - 1))
            column[:] = (column[:, None] > steps).sum(axis=1)
    return X


def texts(rng, sizes, n_features):
    """Counts of words by topic, weighted and projected as texts usually are."""
    y, n_words = np.repeat(np.arange(len(sizes)), sizes), int(rng.choice([200, 400, 800]))
    common = rng.dirichlet(np.full(n_words, 0.1))
    topics = rng.dirichlet(np.full(n_words, 0.05), len(sizes))
    share = rng.choice([0.02, 0.05, 0.1, 0.25])
    chances = (1 - share) * common + share * topics
    lengths = np.maximum(rng.lognormal(np.log(rng.choice([30, 80, 200])), 0.7, len(y)), 5)
    counts = rng.poisson(lengths[:, None] * chances[y])
    weights = np.log(len(y) / (1 + (counts > 0).sum(axis=0)))
    X = np.log1p(counts) * np.maximum(weights, 0)
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9)
    left, values, _ = np.linalg.svd(X, full_matrices=False)
    kept = max(5, min(n_features, MAX_FEATURES))
    return left[:, :kept] * values[:kept], y


def curves(rng, sizes, n_features):
    """Sounds, movements, spectra: a course for each class, shifted, and louder or softer."""
    y, t = np.repeat(np.arange(len(sizes)), sizes), np.linspace(0, 1, max(12, n_features))
    n_waves = int(rng.choice([3, 6, 12]))
    paces, phases = np.arange(1, n_waves + 1), rng.uniform(0, 2 * np.pi, n_waves)
    likeness = rng.choice([0.0, 0.5, 0.8])
    shared = rng.normal(size=n_waves)
    heights = likeness * shared + (1 - likeness) * rng.normal(size=(len(sizes), n_waves))
    heights = heights / paces ** rng.choice([0.3, 0.8])
    own = heights[y] + rng.choice([0.05, 0.2, 0.4]) * rng.normal(size=(len(y), n_waves)) / paces
    shifts = rng.choice([0.0, 0.03, 0.1]) * rng.normal(size=(len(y), 1))
    X = np.zeros((len(y), len(t)))
    for wave in range(n_waves):
        angle = np.pi * paces[wave] * (t + shifts) + phases[wave]
        X += own[:, [wave]] * np.sin(angle)
    X *= np.exp(rng.choice([0.0, 0.2, 0.5]) * rng.normal(size=(len(y), 1)))
    return X + rng.choice([0.02, 0.1, 0.3]) * X.std() * rng.normal(size=X.shape), y


KINDS = {
    "clouds": clouds,
    "table": table,
    "binary": binary,
    "manifold": manifold,
    "scene": scene,
    "factors": factors,
    "texts": texts,
    "curves": curves,
}
GENERAL = {"clouds": 0.22, "table": 0.2, "binary": 0.06, "manifold": 0.2, "scene": 0.32}
AS_MEASURED = {"factors": 0.6, "texts": 0.2, "curves": 0.2}
