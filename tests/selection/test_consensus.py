"""Agreement and votes against brute force."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from separatrix.selection import consensus


def test_agreement_counts_each_pair_of_families_once():
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=(4, 50))
    families = ["a", "a", "b", "c"]
    matrix = consensus.agreement_matrix(labels)
    for i in range(4):
        for j in range(4):
            assert matrix[i, j] == pytest.approx(adjusted_rand_score(labels[i], labels[j]))
    expected = np.mean(
        [(matrix[0, 2] + matrix[1, 2]) / 2, (matrix[0, 3] + matrix[1, 3]) / 2, matrix[2, 3]]
    )
    assert consensus.agreement_between_families(matrix, families) == pytest.approx(expected)
    assert np.isnan(consensus.agreement_between_families(np.eye(2), ["a", "a"]))


@pytest.mark.parametrize(("one", "other"), [(1, 1), (1, 3), (2, 2), (7, 3), (40, 1), (40, 40)])
def test_adjusted_rand_index_is_that_of_sklearn(one, other):
    rng = np.random.default_rng(one)
    a, b = rng.permutation(np.arange(40) % one), rng.permutation(np.arange(40) % other)
    for labels in ((a, b), (a, a)):
        expected = adjusted_rand_score(*labels)
        assert consensus.adjusted_rand_index(*labels) == pytest.approx(expected)


def test_support_is_the_mean_over_other_families():
    agreement = consensus.agreement_matrix(np.random.default_rng(1).integers(3, size=(5, 40)))
    families, usable = ["a", "a", "b", "c", "c"], np.array([True, True, True, True, False])
    found = consensus.support_by_others(agreement, families, usable)
    assert found[0] == pytest.approx(np.mean([agreement[0, 2], agreement[0, 3]]))
    expected = np.mean([(agreement[2, 0] + agreement[2, 1]) / 2, agreement[2, 3]])
    assert found[2] == pytest.approx(expected)
    alone = consensus.support_by_others(np.eye(2), ["a", "a"], np.ones(2, dtype=bool))
    np.testing.assert_array_equal(alone, 0)


@pytest.mark.parametrize("n_features", [3, 4])
def test_votes_fall_with_the_predicted_validity(n_features):
    temperature = consensus.TEMPERATURES[n_features > consensus.FEW_FEATURES]
    standing = np.array([0.1, 0.1 - temperature, 0.1, -0.9])
    votes = consensus.vote_weights(standing, n_features)
    assert votes.sum() == pytest.approx(1)
    assert votes[0] == votes[2] == pytest.approx(np.e * votes[1])
    assert votes[3] == 0
    np.testing.assert_allclose(consensus.vote_weights(standing + 7, n_features), votes)


def test_votes_differ_less_where_there_are_more_than_a_few_features():
    standing = np.linspace(0, 0.2, 5)
    few, many = consensus.vote_weights(standing, 3), consensus.vote_weights(standing, 4)
    assert few.argmax() == many.argmax() == 4
    assert many.max() < few.max()


def test_mixtures_have_a_credit_where_there_are_more_than_a_few_features():
    alone, among = np.array([0.3, 0.1, 0.2]), np.array([0.1, 0.1, 0.4])
    families = ["means", "mixture", "spectral"]
    np.testing.assert_allclose(consensus.standing_of(alone, among, families, 3), [0.2, 0.1, 0.3])
    np.testing.assert_allclose(consensus.standing_of(alone, among, families, 4), [0.2, 0.13, 0.3])


def test_words_cover_all_agreements_in_order():
    values = np.linspace(-0.5, 1, 61)
    words = [consensus.agreement_words(value).split(":")[0] for value in values]
    assert list(dict.fromkeys(words)) == ["none", "weak", "moderate", "strong"]
    assert consensus.agreement_words(np.nan).startswith("unknown")
    assert consensus.agreement_words(0.2, gap=3.0, chance=2.0) == consensus.APART
    assert consensus.agreement_words(0.2, gap=1.5, chance=2.0) == consensus.PARTED
    assert consensus.agreement_words(0.6, gap=1.5, chance=2.0).startswith("moderate")
    assert consensus.agreement_words(0.9, gap=3.0, chance=2.0) == consensus.WORDS[0][1]


def test_families_weigh_alike():
    weights = consensus.family_weights(["a", "b", "c"])
    np.testing.assert_allclose(weights, 1 / 3)
    np.testing.assert_allclose(consensus.family_weights(["a", "a", "b"]), [0.25, 0.25, 0.5])


def test_consensus_minimises_the_weighted_disagreement():
    """Against all splits of nine samples in two."""
    rng = np.random.default_rng(3)
    labels = (rng.random((5, 9)) < 0.3) ^ np.array([0, 0, 0, 0, 1, 1, 1, 1, 1], bool)
    labels, weights = labels.astype(int), rng.dirichlet(np.ones(5))
    differ = sum(w * (y[:, None] != y) for y, w in zip(labels, weights, strict=True))

    def scatter(split):
        return sum(
            differ[np.ix_(split == c, split == c)].sum() / max(1, (split == c).sum())
            for c in (0, 1)
        )

    splits = [np.array(list(f"{number:09b}")).astype(int) for number in range(1, 256)]
    found = consensus.consensus_labels(labels, weights, 2, np.random.RandomState(0))
    assert scatter(found) == pytest.approx(min(map(scatter, splits)))


def test_equal_candidates_are_their_own_consensus():
    y = np.repeat([0, 1, 2], [5, 7, 9])
    turned = np.array([1, 2, 0])[y]
    found = consensus.consensus_labels([y, turned], [0.5, 0.5], 3, np.random.RandomState(0))
    assert adjusted_rand_score(found, y) == 1
    shares = consensus.vote_shares(y, [y, turned], [0.5, 0.5], 3)
    np.testing.assert_allclose(shares, np.eye(3)[y])


def test_vote_shares_count_the_matched_votes():
    elected = np.array([0, 0, 0, 1, 1, 1])
    other = np.array([1, 1, 0, 0, 0, 0])  # numbered the other way, and one sample elsewhere
    shares = consensus.vote_shares(elected, [elected, other], [0.75, 0.25], 2)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_allclose(shares[np.arange(6), elected], [1, 1, 0.75, 1, 1, 1])
