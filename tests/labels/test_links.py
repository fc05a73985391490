"""Links against brute force over all labellings, contradictions against the pairs given."""

import itertools
import pickle
import re

import dask.array as dask_array
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix.labels import links as links_module
from separatrix.labels.links import Links, linked_labels, linked_signs, links_of
from separatrix.result import Labelling, renumbered


def random_pairs(rng, n_samples, n_pairs):
    pairs = rng.integers(0, n_samples, size=(n_pairs, 2))
    return pairs[pairs[:, 0] != pairs[:, 1]]


def consistent(rng, n_samples, n_clusters, n_pairs):
    """Must-links and cannot-links that a hidden labelling keeps, and that labelling."""
    hidden = rng.integers(0, n_clusters, size=n_samples)
    pairs = random_pairs(rng, n_samples, n_pairs)
    same = hidden[pairs[:, 0]] == hidden[pairs[:, 1]]
    return pairs[same], pairs[~same], hidden


def allowed_labels(n_samples, n_clusters, must, cannot):
    """All labellings that keep the pairs, straight from their definition."""
    labels = np.array(list(itertools.product(range(n_clusters), repeat=n_samples)))
    kept = np.ones(len(labels), dtype=bool)
    for a, b in must:
        kept &= labels[:, a] == labels[:, b]
    for a, b in cannot:
        kept &= labels[:, a] != labels[:, b]
    return labels[kept]


def links_case(seed, n_clusters, most=9):
    """Random links that can be kept, and all labellings that keep them."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, most + 1))
    must, cannot, _ = consistent(rng, n, n_clusters, int(rng.integers(0, n + 3)))
    links = Links.of(n, n_clusters, must_link=must, cannot_link=cannot)
    return rng, links, allowed_labels(n, n_clusters, must, cannot)


def by_label(known, equal):
    """All pairs of known samples whose labels are equal, or are not."""
    one, other = np.triu_indices(len(known), 1)
    both = (known[one] >= 0) & (known[other] >= 0) & ((known[one] == known[other]) == equal)
    return np.column_stack([one, other])[both]


def check_chain(message, n_clusters, must, cannot):
    """Assert that the chain of a message consists of given pairs and contradicts itself."""
    chain, start, end = re.search(r": (\d[\d =!]*) but (\d+) != (\d+)", message).groups()
    tokens = chain.split()
    samples, relations = [int(token) for token in tokens[::2]], tokens[1::2]
    known = {(frozenset(pair), "=") for pair in must.tolist()}
    known |= {(frozenset(pair), "!=") for pair in cannot.tolist()}
    for a, relation, b in zip(samples, relations, samples[1:], strict=False):
        assert (frozenset((a, b)), relation) in known
    assert (samples[0], samples[-1]) == (int(start), int(end))
    assert (frozenset((int(start), int(end))), "!=") in known
    assert len(set(samples)) == len(samples)
    n_apart = relations.count("!=")
    assert n_apart % 2 == 0 if n_clusters == 2 else n_apart == 0


def check_group(message, n_clusters, must, cannot, n_samples):
    """Assert that the samples of a message, with those bound to them, cannot be labelled."""
    named = [int(sample) for sample in re.search(r"samples ([\d, ]+\d)", message)[1].split(", ")]
    component = Links.of(n_samples, n_clusters, must_link=must).component
    inside = np.isin(component, component[named])
    kept = cannot[inside[cannot].all(axis=1)]
    assert len(allowed_labels(n_samples, n_clusters, must, kept)) == 0


@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_clusters=st.integers(1, 3),
    n_pairs=st.integers(0, 14),
    share=st.sampled_from([0.0, 0.3, 0.6]),
    with_known=st.booleans(),
)
def test_links_are_refused_if_and_only_if_no_labelling_keeps_them(
    seed, n_clusters, n_pairs, share, with_known
):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    pairs = random_pairs(rng, n, n_pairs)
    together = rng.uniform(size=len(pairs)) < share
    must, cannot, known = pairs[together], pairs[~together], np.full(n, -1)
    if with_known:
        known = rng.integers(-1, n_clusters, size=n)
    all_must = np.concatenate([must, by_label(known, True)])
    all_cannot = np.concatenate([cannot, by_label(known, False)])
    allowed = allowed_labels(n, n_clusters, all_must, all_cannot)
    arguments = {"must_link": must, "cannot_link": cannot, "known_labels": known}
    if not len(allowed):
        with pytest.raises(ValueError) as error:
            Links.of(n, n_clusters, **arguments)
        if "contradict" in str(error.value):
            check_chain(str(error.value), n_clusters, all_must, all_cannot)
        else:
            check_group(str(error.value), n_clusters, all_must, all_cannot, n)
        return
    links = Links.of(n, n_clusters, **arguments)
    # components bind as all allowed labellings do
    for a, b in itertools.combinations(range(n), 2):
        equal = allowed[:, a] == allowed[:, b]
        if links.component[a] == links.component[b]:
            assert (equal == (links.sign[a] == links.sign[b])).all()
        elif n_clusters == 2:
            assert 0 < equal.sum() < len(equal)
    first = [int(np.flatnonzero(links.component == c)[0]) for c in range(links.n_components)]
    np.testing.assert_array_equal(links.representatives, first)
    assert first == sorted(first)
    np.testing.assert_array_equal(links.sign[first], 1)
    assert links.violations(allowed[0]) == 0
    if n_clusters != 2:
        assert links.violations(links.spread(links.coloring)) == 0


@pytest.mark.parametrize("n_clusters", [2, 3])
def test_a_contradiction_is_named(n_clusters):
    with pytest.raises(ValueError, match=r"must_link and cannot_link .*: 3 = 7 = 12 but 3 != 12"):
        Links.of(20, n_clusters, must_link=[[3, 7], [7, 12], [1, 2]], cannot_link=[[12, 3]])
    with pytest.raises(ValueError, match=r"must_link and known_labels .*: 2 = 5 = 4 but 2 != 4"):
        Links.of(6, 2, must_link=[[2, 5], [5, 4]], known_labels=[-1, -1, 0, -1, 1, -1])
    path = np.column_stack([np.arange(999), np.arange(1, 1000)])
    with pytest.raises(ValueError, match=r"0 = 1 = .* \.\.\. 959 more \.\.\. .* 999 but 0 != 999"):
        Links.of(1000, n_clusters, must_link=path, cannot_link=[[0, 999]])


def test_chains_of_contradictions_consist_of_what_was_given():
    """Also where the way from a sample to what it is apart from leads into a cycle and back."""
    n_refused = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        pairs = random_pairs(rng, 14, 20)
        together = rng.uniform(size=len(pairs)) < 0.3
        must, cannot = pairs[together], pairs[~together]
        try:
            Links.of(14, 2, must_link=must, cannot_link=cannot)
        except ValueError as refused:
            check_chain(str(refused), 2, must, cannot)
            n_refused += 1
    assert n_refused > 100


def test_too_many_clusters_needed_is_told():
    clique = np.array(list(itertools.combinations(range(3, 8), 2)))
    with pytest.raises(ValueError, match="needs 5 clusters to keep apart samples 3, 4, 5, 6, 7,"):
        Links.of(20, 4, cannot_link=clique)
    assert Links.of(20, 5, cannot_link=clique).violations(np.arange(20) % 5) == 0
    # a wheel with an odd rim needs four clusters, but has no four nodes that are all joined
    rim = np.arange(1, 6)
    wheel = np.vstack([np.column_stack([0 * rim, rim]), np.column_stack([rim, np.roll(rim, 1)])])
    with pytest.raises(ValueError, match="leaves no labelling for samples 0, 1, 2, 3, 4, 5,"):
        Links.of(9, 3, cannot_link=wheel)
    assert Links.of(9, 4, cannot_link=wheel).n_components == 9


def test_twenty_samples_are_named_and_more_are_counted():
    for n_samples, end in ((20, "18, 19, more than"), (21, "18, 19 and 1 more, more than")):
        with pytest.raises(ValueError, match=f"for samples 0, 1, .* {end} n_clusters=2"):
            Links.of(n_samples, 2, cannot_link=[4] * n_samples)


MALFORMED = [
    ("must_link", [[0, 10]], "has 10 in row 0 but there are 10 samples: .*0 to 9"),
    ("cannot_link", [[0, 1], [-1, 2]], "has -1 in row 1"),
    ("cannot_link", [[0, 1], [4, 4]], "keeps a sample apart from itself in row 1"),
    ("must_link", [[0.0, 1.0]], "has dtype float64: pass one integer per sample"),
    ("cannot_link", [[True, False]], "has dtype bool"),
    ("must_link", [[0, 1, 2]], r"has shape \(1, 3\)"),
    ("must_link", [[0, 1], [2]], "has rows of different lengths"),
    ("must_link", [3, 7], r"has shape \(2,\) but there are 10 samples: .*n_pairs, 2"),
    ("must_link", [-1] * 9 + [-5], "has -5 in row 9"),
    ("cannot_link", [4] * 3 + [-1] * 7, "has id 4 for samples 0, 1, 2, more than n_clusters=2"),
    ("known_labels", [0] * 9, r"has shape \(9,\) but there are 10"),
    ("known_labels", [-1] * 9 + [2], "has label 2 for sample 9: .*from 0 to 1 for n_clusters=2"),
    ("known_labels", [-2] * 10, "has -2 in row 0"),
]


@pytest.mark.parametrize(("name", "value", "message"), MALFORMED)
def test_malformed_links_are_refused_by_name(name, value, message):
    with pytest.raises(ValueError, match=f"^{name} {message}"):
        Links.of(10, 2, **{name: value})


def test_malformed_arguments_are_refused_by_name():
    links, three, ones = Links.of(7, 2), Links.of(7, 3), np.ones(7)
    for call, message in [
        (lambda: links.violations(np.zeros(6)), r"labels has shape \(6,\): pass shape \(7,\)"),
        (lambda: links.restricted(np.ones(6, dtype=bool)), r"rows has shape \(6,\)"),
        (lambda: links.restricted([0.0, 1.0]), "rows has .* dtype float64"),
        (lambda: linked_signs(np.zeros(6), links, balance=1), r"gains has shape \(6,\)"),
        (lambda: linked_signs(ones * np.nan, links, balance=1), "gains has values .* not finite"),
        (lambda: linked_signs(ones, links, balance=-0.1), "balance=-0.1"),
        (lambda: linked_signs(ones, three, balance=0.1), "n_clusters=3"),
        (
            lambda: linked_signs(ones, links, balance=1, sample_weight=-ones),
            "sample_weight",
        ),
        (lambda: linked_labels(np.ones((7, 2)), three), r"scores has shape \(7, 2\)"),
        (
            lambda: linked_labels(np.ones((7, 3)), three, min_size=4, max_size=3),
            "min_size=4 is above max_size=3",
        ),
    ]:
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.parametrize("empty", [None, [], np.empty((0, 2)), np.full(7, -1), [[3, 3]]])
def test_nothing_given_is_no_link(empty):
    links = Links.of(7, 2, must_link=empty)
    assert links.is_empty
    assert links.n_components == 7
    gains = np.linspace(-1, 1, 7)
    np.testing.assert_array_equal(linked_signs(gains, links, balance=1).y, np.sign(gains - 1e-9))


def assert_same(one, other, names=("coloring",)):
    for name in ("component", "sign", "representatives", "conflicts", *names):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize("n_clusters", [2, 3, 4])
def test_ids_and_known_labels_equal_pairs_in_any_order(n_clusters):
    for seed in range(30):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(4, 30))
        hidden = rng.integers(0, n_clusters, size=n)
        ids = np.where(rng.uniform(size=n) < 0.5, 10 * hidden + rng.integers(0, 2, n), -1)
        apart_ids = np.full(n, -1)
        for number in range(3):  # one sample of each cluster
            group = [rng.choice(np.flatnonzero(hidden == c)) for c in np.unique(hidden)]
            apart_ids[[sample for sample in group if apart_ids[sample] < 0]] = 100 * number
        pairs, apart = by_label(ids, True), by_label(apart_ids, True)
        links = Links.of(n, n_clusters, must_link=ids, cannot_link=apart_ids)
        assert_same(links, Links.of(n, n_clusters, must_link=pairs, cannot_link=apart))
        mixed = {
            "must_link": rng.permutation(pairs)[:, ::-1],
            "cannot_link": rng.permutation(np.concatenate([apart, apart]))[:, ::-1],
        }
        assert_same(links, Links.of(n, n_clusters, **mixed))
        known = np.where(rng.uniform(size=n) < 0.5, hidden, -1)
        pairs = {"must_link": by_label(known, True), "cannot_link": by_label(known, False)}
        of_known = Links.of(n, n_clusters, known_labels=known)
        assert_same(of_known, Links.of(n, n_clusters, **pairs), names=())
        assert_same(links, pickle.loads(pickle.dumps(links)))


def test_violations_are_counted_and_values_summed():
    links = Links.of(6, 3, must_link=[[0, 1], [1, 2]], cannot_link=[[3, 4], [4, 5], [0, 3]])
    assert links.violations([0, 0, 0, 1, 2, 1]) == 0
    assert links.violations([0, 1, 0, 1, 1, 1]) == 4
    for n_clusters in (2, 3):
        rng, links, _ = links_case(1, n_clusters)
        values, parts = rng.normal(size=(links.n_samples, 3)), rng.normal(size=links.n_components)
        assert links.n_components < links.n_samples
        np.testing.assert_allclose(parts @ links.totals(values), links.spread(parts) @ values)
        np.testing.assert_allclose(links.totals(values)[:, 1], links.totals(values[:, 1]))


@pytest.mark.parametrize("n_clusters", [2, 3])
def test_restricted_links_allow_what_is_left_of_allowed_labellings(n_clusters):
    for seed in range(60):
        rng, links, allowed = links_case(seed, n_clusters, 8 if n_clusters == 2 else 7)
        rows = rng.permutation(links.n_samples)[: rng.integers(1, links.n_samples + 1)]
        some = links.restricted(rows)
        left = {tuple(labels) for labels in allowed[:, rows]}
        every = itertools.product(range(n_clusters), repeat=len(rows))
        kept = {labels for labels in every if some.violations(labels) == 0}
        # with more clusters, conflicts with samples left out may have bound more
        assert kept == left if n_clusters == 2 else kept >= left
        mask = np.isin(np.arange(links.n_samples), rows)
        assert_same(links.restricted(mask), links.restricted(np.sort(rows)))
        assert links.restricted(np.repeat(rows, 2)).n_components == some.n_components


def test_signs_equal_brute_force():
    """Exactly, for equal and for whole weights; and nearest to a band out of reach."""
    n_outside = 0
    for seed in range(400):
        rng, links, allowed = links_case(seed, 2)
        n = links.n_samples
        some = np.where(np.arange(n) % 3 == 1, 0.0, 0.1)  # what has no weight needs no room
        weight = [None, np.full(n, 0.1), rng.integers(1, 4, n).astype(float), some][seed % 4]
        gains = rng.normal(size=n).round(1)
        balance = [0.0, 0.1, 0.25, 0.5, 1.0, 2.0][seed % 6]
        found = linked_signs(gains, links, balance=balance, sample_weight=weight)
        s, signs = np.ones(n) if weight is None else weight, 2 * allowed - 1
        gaps = np.maximum(np.abs(signs @ s) - balance * s.sum(), 0)
        nearest = gaps <= gaps.min() + 1e-9
        assert links.violations(found.y) == 0
        assert found.within == (gaps.min() < 1e-9)
        assert abs(found.y @ s) <= balance * s.sum() + gaps.min() + 1e-9
        assert found.y @ gains == pytest.approx((signs @ gains)[nearest].max(), abs=1e-9)
        n_outside += not found.within
    assert n_outside > 0


def test_signs_without_a_table_are_near_the_optimum(monkeypatch):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        must, cannot, _ = consistent(rng, 2_000, 2, 600)
        links = Links.of(2_000, 2, must_link=must, cannot_link=cannot)
        gains, weight = rng.normal(size=2_000) + 0.5, rng.uniform(size=2_000)
        best = linked_signs(gains, links, balance=0.05)
        with monkeypatch.context() as patch:
            patch.setattr(links_module, "TABLE_BUDGET", -1)
            found = linked_signs(gains, links, balance=0.05)
        weighted = linked_signs(weight * gains, links, balance=0.05, sample_weight=weight)
        for result, s in ((best, np.ones(2_000)), (found, np.ones(2_000)), (weighted, weight)):
            assert result.within
            assert links.violations(result.y) == 0
            assert abs(result.y @ s) <= 0.05 * s.sum() * (1 + 1e-9)
        # no more is lost than what one sample has to say
        assert 0 <= best.y @ gains - found.y @ gains + 1e-9 <= 2 * np.abs(gains).max()


def test_equal_gains_stay_together_where_the_band_allows_it():
    links = Links.of(10, 2)
    gains = np.array([1.0, 1, 0, 0, 0, 0, 0, 0, 0, -1])
    assert linked_signs(gains, links, balance=0.6).y.tolist() == [1, 1] + 8 * [-1]
    assert linked_signs(gains, links, balance=0.5).y.sum() in (-4, 4)
    found = linked_signs(np.zeros(10), links, balance=0.0)
    assert found.within
    assert found.y.sum() == 0
    # two samples apart are in balance whatever their signs
    gains = np.array([1.0, 1, 2, 3, 4, 5])
    found = linked_signs(gains, Links.of(6, 2, cannot_link=[[0, 1]]), balance=0.0)
    assert found.y.tolist() == [-1, 1, -1, -1, 1, 1]


def sizes_case(seed, n_clusters):
    rng, links, allowed = links_case(seed, n_clusters, {2: 9, 3: 8}[n_clusters])
    scores = rng.normal(size=(links.n_samples, n_clusters)) + rng.normal(size=n_clusters)
    weight = rng.integers(1, 4, size=links.n_samples).astype(float) if seed % 2 else None
    return links, allowed, scores, weight, np.ones(links.n_samples) if weight is None else weight


@pytest.mark.parametrize("n_clusters", [2, 3])
def test_labels_equal_brute_force_when_no_sizes_bind(n_clusters):
    for seed in range(150):
        links, allowed, scores, weight, s = sizes_case(seed, n_clusters)
        found = linked_labels(scores, links, sample_weight=weight)
        rows = np.arange(len(scores))
        assert found.within
        assert links.violations(found.labels) == 0
        np.testing.assert_array_equal(found.offsets, 0)
        best = (s * scores[rows, allowed]).sum(axis=1).max()
        assert (s * scores[rows, found.labels]).sum() == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("n_clusters", [2, 3])
def test_sizes_are_kept_whenever_free_samples_allow(n_clusters):
    n_bound = 0
    for seed in range(200):
        links, allowed, scores, weight, s = sizes_case(seed, n_clusters)
        low = np.floor(0.7 * s.sum() / n_clusters) * np.ones(n_clusters)
        high = np.ceil(1.2 * s.sum() / n_clusters) * np.ones(n_clusters)
        found = linked_labels(scores, links, min_size=low, max_size=high, sample_weight=weight)
        sizes = np.bincount(found.labels, s, n_clusters)
        assert links.violations(found.labels) == 0
        assert found.within == bool(((sizes >= low) & (sizes <= high)).all())
        n_bound += (found.offsets != 0).any()
        every = np.stack([(allowed == c) @ s for c in range(n_clusters)], axis=1)
        inside = ((every >= low) & (every <= high)).all(axis=1)
        assert inside.any() or not found.within
        if n_clusters == 2:  # exact
            assert found.within == inside.any()
            continue
        # what free samples of weight one find in place, and whether they can fill the rest
        alone = np.bincount(links.component)[links.component] == 1
        alone &= ~np.isin(links.component, links.conflicts) & (s == 1)
        fixed = np.bincount(found.labels[~alone], s[~alone], n_clusters)
        needed, room = np.maximum(low - fixed, 0).sum(), (high - fixed).sum()
        if (fixed <= high).all() and needed <= alone.sum() <= room:
            assert found.within
    assert n_bound > 0


def test_conflicts_and_exact_sizes_mostly_end_in_the_optimum():
    """The offsets that sizes ask for guide the search among conflicts, which is no proof."""
    n_within, n_best = 0, 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        hidden, pairs = rng.permutation(np.arange(9) % 3), random_pairs(rng, 9, 12)
        cannot = pairs[hidden[pairs[:, 0]] != hidden[pairs[:, 1]]]
        scores = rng.normal(size=(9, 3)) + [2.0, 0.0, 0.0]  # too many want the first cluster
        found = linked_labels(scores, Links.of(9, 3, cannot_link=cannot), min_size=3, max_size=3)
        allowed = allowed_labels(9, 3, [], cannot)
        inside = allowed[((allowed[:, :, None] == np.arange(3)).sum(axis=1) == 3).all(axis=1)]
        best = scores[np.arange(9), inside].sum(axis=1).max()
        reached = scores[np.arange(9), found.labels].sum()
        n_within += found.within
        n_best += found.within and reached >= best - 1e-9
        assert reached <= best + 1e-9 or not found.within
    assert n_within > 40
    assert n_best > n_within / 2


def test_offsets_of_two_clusters_agree_with_the_labels():
    for seed in range(10):
        scores, links = np.random.default_rng(seed).normal(size=(9, 2)), Links.of(9, 2)
        if seed % 2:
            scores[0] = 1.0  # undecided, so that an offset of zero would leave it below
        for size in range(9):
            sizes = np.array([9 - size, size])
            found = linked_labels(scores, links, min_size=sizes, max_size=sizes)
            assert found.within
            np.testing.assert_array_equal(np.bincount(found.labels, minlength=2), sizes)
            by_offsets = (scores + found.offsets).argmax(axis=1)
            # no threshold is beyond the last sample, which lies on it
            assert np.count_nonzero(by_offsets != found.labels) <= (size == 0)


def test_equal_scores_are_parted_for_sizes():
    found = linked_labels(np.ones((3_000, 3)), Links.of(3_000, 3), min_size=1_000)
    assert found.within
    np.testing.assert_array_equal(np.bincount(found.labels), 1_000)
    one = Links.of(9, 3, must_link=np.zeros(9, dtype=int))
    assert not linked_labels(np.zeros((9, 3)), one, max_size=4).within


@pytest.mark.parametrize("n_clusters", [2, 3, 5])
def test_many_links_are_all_kept(n_clusters):
    rng = np.random.default_rng(n_clusters)
    must, cannot, hidden = consistent(rng, 20_000, n_clusters, 1_000)
    links = Links.of(20_000, n_clusters, must_link=must, cannot_link=cannot)
    assert links.violations(hidden) == 0
    scores = rng.normal(size=(20_000, n_clusters)) + 0.3 * np.arange(n_clusters)
    for share in (0.0, 0.8):
        size = share * 20_000 / n_clusters
        found = linked_labels(scores, links, min_size=size)
        assert found.within
        assert links.violations(found.labels) == 0
        again = linked_labels(scores, links, min_size=size)
        np.testing.assert_array_equal(found.labels, again.labels)
    free = np.bincount(links.component)[links.component] == 1
    free &= ~np.isin(links.component, links.conflicts)
    moved = np.argmax(scores + found.offsets, axis=1) != found.labels
    assert np.count_nonzero(moved & free) <= 10


def test_a_group_too_large_to_search_still_keeps_its_links(monkeypatch):
    monkeypatch.setattr(links_module, "GROUP_BUDGET", 0)
    rng = np.random.default_rng(0)
    for n, n_pairs in ((40, 60), (300, 3_000)):
        _, cannot, hidden = consistent(rng, n, 3, n_pairs)
        links = Links.of(n, 3, cannot_link=cannot)
        assert links.violations(linked_labels(rng.normal(size=(n, 3)), links).labels) == 0
    np.testing.assert_array_equal(linked_labels(np.eye(3)[hidden], links).labels, hidden)


def test_links_of_users_are_none_if_they_bind_nothing():
    X = np.zeros((5, 2))
    assert links_of(X, 2, None, None, None) is None
    assert links_of(X, 2, [[3, 3]], [], [-1] * 5) is None
    assert links_of(X, 2, None, None, [0, -1, -1, -1, -1]) is not None  # the number of a cluster
    links = links_of(X, 3, [[0, 1]], [[2, 3]], [0, -1, -1, -1, 0])
    assert_same(links, Links.of(5, 3, must_link=[[0, 1], [0, 4]], cannot_link=[[2, 3]]))
    with pytest.raises(TypeError, match="need samples in memory, got a dask array"):
        links_of(dask_array.from_array(X), 2, [[0, 1]], None, None)


# --- known labels -------------------------------------------------------------------------------


def numbered_by(links, labels):
    """Labels whose clusters have the numbers of known labels."""
    return renumbered(labels, links.order(Labelling(labels, links.n_clusters)))


def known_case(seed, n_clusters, most=7):
    """Random links with known labels, and all labellings that keep both."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, most + 1))
    must, cannot, hidden = consistent(rng, n, n_clusters, int(rng.integers(0, n)))
    known = np.where(rng.uniform(size=n) < 0.4, hidden, -1)
    links = Links.of(n, n_clusters, must_link=must, cannot_link=cannot, known_labels=known)
    allowed = allowed_labels(n, n_clusters, must, cannot)
    kept = (allowed == known)[:, known >= 0].all(axis=1)
    return rng, links, allowed[kept], known


@pytest.mark.parametrize("n_clusters", [2, 3, 4])
def test_known_labels_are_kept_and_the_others_are_the_best(n_clusters):
    n_known = 0
    for seed in range(120):
        rng, links, allowed, known = known_case(seed, n_clusters, most=9 - n_clusters)
        n = len(known)
        scores, weight = rng.normal(size=(n, n_clusters)), rng.integers(1, 4, size=n)
        columns = links.columns(scores, weight) if links.teaches else np.arange(n_clusters)
        found = linked_labels(scores, links, sample_weight=weight).labels
        values = (weight * scores[np.arange(n), columns[allowed]]).sum(axis=1)
        assert (numbered_by(links, found) == known)[known >= 0].all()
        assert links.violations(found) == 0
        assert weight @ scores[np.arange(n), found] == pytest.approx(values.max())
        n_known += (known >= 0).sum()
    assert n_known > 100


def test_known_labels_are_kept_where_sizes_are_bound():
    """With two clusters exactly: the best of the labellings nearest to the bounds."""
    for seed in range(150):
        rng, links, allowed, known = known_case(seed, 2)
        n = len(known)
        gains, least = rng.normal(size=n), int(rng.integers(0, n // 2 + 1))
        bounds = {"min_size": [0, least], "max_size": [n, n - least]}  # of the second cluster
        found = linked_labels(gains, links, **bounds)
        scores = np.column_stack([-gains, gains])
        columns = links.columns(scores, np.ones(n)) if links.teaches else np.arange(2)
        sizes = allowed.sum(axis=1)
        gaps = np.maximum(np.maximum(least - sizes, sizes - (n - least)), 0)
        values = scores[np.arange(n), columns[allowed]].sum(axis=1)
        assert (numbered_by(links, found.labels) == known)[known >= 0].all()
        assert found.within == (gaps.min() == 0)
        value = scores[np.arange(n), found.labels].sum()
        assert value == pytest.approx(values[gaps == gaps.min()].max())


@pytest.mark.parametrize("n_clusters", [2, 3])
def test_labels_of_samples_linked_to_known_ones_are_known(n_clusters):
    for seed in range(80):
        _, links, allowed, _ = known_case(seed, n_clusters)
        told = links.known_labels
        assert (allowed == told)[:, told >= 0].all()
        if n_clusters == 2:  # where no more than these are the same in all labellings
            settled = (allowed == allowed[0]).all(axis=0)
            np.testing.assert_array_equal(told >= 0, settled)


@pytest.mark.parametrize("n_clusters", [2, 3])
def test_nearest_labels_differ_least(n_clusters):
    for seed in range(60):
        rng, links, allowed, known = known_case(seed, n_clusters)
        labels = rng.integers(n_clusters, size=len(known))
        found = links.nearest(labels)
        assert links.violations(found) == 0
        assert (found == known)[known >= 0].all()
        told = links.known_labels
        # clusters are renumbered so that they agree best with what is known
        orders = np.array(list(itertools.permutations(range(n_clusters))))
        agree = (orders[:, labels] == told)[:, told >= 0].sum(axis=1)
        assert any(
            (found != order[labels]).sum() == (allowed != order[labels]).sum(axis=1).min()
            for order in orders[agree == agree.max()]
        )


def test_known_samples_weigh_as_much_as_all_others_but_no_more_than_tenfold():
    known = np.r_[0, 1, np.full(8, -1)]
    weight = Links.of(10, 2, known_labels=known).taught(None)
    np.testing.assert_allclose(weight, np.r_[4, 4, np.ones(8)])
    few = Links.of(100, 2, known_labels=np.r_[0, np.full(99, -1)]).taught(None)
    np.testing.assert_allclose(few, np.r_[links_module.MOST_TAUGHT, np.ones(99)])
    most = Links.of(4, 2, known_labels=[0, 1, 0, -1]).taught(None)
    np.testing.assert_allclose(most, np.ones(4))  # never less than before
    assert Links.of(4, 2, must_link=[[0, 1]]).taught(None) is None


def test_a_weight_teaches_as_much_as_repetitions():
    rng = np.random.default_rng(0)
    known, weight = rng.integers(-1, 3, size=30), rng.integers(1, 4, size=30)
    links = Links.of(30, 3, known_labels=known)
    many = Links.of(weight.sum(), 3, known_labels=np.repeat(known, weight))
    repeated = many.taught(None)
    np.testing.assert_allclose(np.repeat(links.taught(weight) / weight, weight), repeated)
    np.testing.assert_allclose(links.known_shares(weight), many.known_shares())


def test_known_labels_are_numbers_and_other_clusters_go_by_size():
    links = Links.of(7, 4, known_labels=[2, -1, -1, -1, -1, -1, -1])
    labels = np.array([0, 1, 1, 3, 3, 3, 2])
    np.testing.assert_array_equal(links.order(Labelling(labels, 4)), [3, 1, 0, 2])
