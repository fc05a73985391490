"""How far to trust clusters, in words."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from separatrix.selection.trust import agreement_with, trust_words
from separatrix.validity.structure import Structure

CERTAIN = Structure(20.0, np.zeros(16), 1e-6)
LIKELY = Structure(4.0, np.zeros(16), 0.02)
NOTHING = Structure(0.5, np.zeros(16), 0.4)


def candidates(votes):
    return SimpleNamespace(votes=np.array(votes), names=[""] * len(votes))


SOME = candidates([0.5, 0.25, 0.25, 0.0])


def word(*arguments, **options):
    return trust_words(*arguments, **options).split(":")[0]


def test_words_cover_all_agreements_in_order():
    words = [word(value, SOME, CERTAIN) for value in np.linspace(-0.5, 1, 61)]
    assert list(dict.fromkeys(words)) == ["none", "weak", "moderate", "strong"]


@pytest.mark.parametrize("agreement", [0.2, 0.8, 1.0])
@pytest.mark.parametrize("gap", [0.5, 9.0])
def test_nothing_is_trusted_where_there_is_no_structure(agreement, gap):
    words = trust_words(agreement, SOME, NOTHING, gap=gap, chance=2.0)
    assert words == f"none: {NOTHING.words}"


def test_strong_trust_needs_structure_beyond_doubt():
    assert word(1.0, SOME, CERTAIN) == "strong"
    assert word(1.0, SOME, LIKELY) == "moderate"


def test_doubtful_structure_does_not_change_what_is_said_of_candidates():
    for structure in (CERTAIN, LIKELY):
        assert "find nearly the same clusters" in trust_words(0.95, SOME, structure)
        assert "similar clusters with different borders" in trust_words(0.8, SOME, structure)


def test_gaps_count_beside_agreement():
    assert "lie apart" in trust_words(0.2, SOME, CERTAIN, gap=3.0, chance=2.0)
    assert word(0.2, SOME, CERTAIN, gap=3.0, chance=2.0) == "strong"
    assert word(0.2, SOME, CERTAIN, gap=1.5, chance=2.0) == "unsure"
    assert word(0.8, SOME, CERTAIN, gap=1.5, chance=2.0) == "moderate"
    assert word(0.2, SOME, LIKELY, gap=3.0, chance=2.0) == "unsure"


def test_words_say_who_voted():
    assert "the 3 of 4 candidates that voted" in trust_words(0.95, SOME, CERTAIN)
    everyone = candidates([0.5, 0.5])
    assert "all 2 candidates" in trust_words(0.95, everyone, CERTAIN)
    assert word(1.0, candidates([1.0, 0.0]), CERTAIN) == "unknown"


def test_agreement_is_weighted_by_votes():
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=(4, 60))
    result = rng.integers(3, size=60)
    found = SimpleNamespace(votes=SOME.votes, labels=labels)
    scores = [adjusted_rand_score(result, one) for one in labels]
    assert agreement_with(result, found) == pytest.approx(SOME.votes @ scores)
    assert np.isnan(agreement_with(result, SimpleNamespace(votes=np.zeros(4), labels=labels)))
