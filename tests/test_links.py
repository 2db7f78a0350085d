"""Bends and negentropies from bins, against least squares on the same bins and what is known of the laws."""

import numpy as np
import pytest
from scipy import interpolate, special, stats

from dagtune.conditional import links
from dagtune.conditional.links import _bend, _bin_sums, equal_bins, judge, link_fit, negentropy


def bent(n=1000, seed=0, link=np.tanh, slope=2.0, noise=0.3):
    """A straight index u and e = y - u, y a bent function of it with noise."""
    rng = np.random.default_rng(seed)
    index = slope * rng.normal(size=n)
    y = link(index) + noise * rng.normal(size=n)
    y -= y.mean()
    u = index * (index @ y) / (index @ index)
    return u, y - u


def dense_bend(u, e):
    """Bins, squares explained and values, by one least-squares problem on rows; the ridge is rows of its own."""
    n, deviation = len(u), u.std()
    width = 2 * links._REACH * deviation / links._BINS
    where = np.clip(np.floor(u / width + links._BINS / 2), 0, links._BINS - 1).astype(int)
    B = links._BASIS[where]
    p = B.shape[1]
    A = np.vstack([B, np.sqrt(1e-4 * n) * np.eye(p)])

    def squares_left(columns):
        w, *_ = np.linalg.lstsq(A[:, columns], np.append(e, np.zeros(p)), rcond=None)
        return np.sum((np.append(e, np.zeros(p)) - A[:, columns] @ w) ** 2), w

    straight, _ = squares_left([0, 1])
    whole, w = squares_left(list(range(p)))
    return where, straight - whole, w


# --- the bend -------------------------------------------------------------------------------------------------------


def test_the_basis_begins_with_the_constant_and_the_line_and_is_orthonormal():
    B = links._BASIS
    v = (np.arange(len(B)) + 0.5) / len(B) * 2 * links._REACH - links._REACH
    assert np.ptp(B[:, 0]) < 1e-10
    assert np.abs(np.diff(B[:, 1], 2)).max() < 1e-10
    np.testing.assert_allclose((B * np.exp(-(v**2) / 2)[:, None]).T @ B, np.eye(B.shape[1]), atol=1e-10)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("link", [np.tanh, np.abs, np.square])
def test_a_bend_is_what_least_squares_gains_over_the_straight_line(seed, link):
    u, e = bent(400, seed, link)
    where, explained, w = dense_bend(u, e)
    bins, count, sums = _bin_sums(u, e, u.std())
    np.testing.assert_array_equal(bins, where)
    np.testing.assert_array_equal(count, np.bincount(where, minlength=len(count)))
    np.testing.assert_allclose(sums, np.bincount(where, e, minlength=len(count)), atol=1e-9)
    found, values = _bend(count, sums, len(u))
    assert found == pytest.approx(explained, rel=1e-6)
    # with the line's share set free of the bent part's, coefficients 2.. are those of the whole problem
    np.testing.assert_allclose(
        values - values.mean(), _bent_part(w, where, u) - _bent_part(w, where, u).mean(), atol=1e-6
    )


def _bent_part(w, where, u):
    """Bent functions with the ridge regression of themselves on constant and line taken away."""
    B, n = links._BASIS, len(where)
    G = B[where].T @ B[where] + 1e-4 * n * np.eye(B.shape[1])
    raw = w[2:]
    line = -np.linalg.solve(G[:2, :2], G[:2, 2:] @ raw)
    return B @ np.concatenate([line, raw])


@pytest.mark.parametrize("link", [np.tanh, np.abs, lambda u: np.exp(u / 4)])
def test_a_bent_link_gains_about_what_a_spline_of_the_index_does(link):
    for seed in range(4):
        u, e = bent(1500, seed, link)
        order = np.argsort(u)
        inner = np.quantile(u, [0.1, 0.25, 0.4, 0.6, 0.75, 0.9])
        spline = interpolate.make_lsq_spline(u[order], e[order], np.r_[[u.min()] * 4, inner, [u.max()] * 4])
        line = np.polyval(np.polyfit(u, e, 1), u)
        direct = np.log(np.mean((e - line) ** 2) / np.mean((e - spline(u)) ** 2))
        gain, bend, _ = link_fit(u, e)
        assert direct > 0.2
        assert 0.75 * direct < gain < 1.05 * direct
        assert np.log(np.var(e) / np.var(e - bend)) == pytest.approx(gain, abs=0.1 * gain)


def test_the_slope_is_the_bends_derivative():
    """What the slope adds up to between two rows is the difference of the bend there; in the middle it rises."""
    u, e = bent(5000, 1)
    _, bend, slope = link_fit(u, e)
    order = np.argsort(u)
    order = order[np.abs(u[order]) < 2 * u.std()]
    added_up = np.concatenate([[0.0], np.cumsum(np.diff(u[order]) * (slope[order][1:] + slope[order][:-1]) / 2)])
    np.testing.assert_allclose(added_up, bend[order] - bend[order[0]], atol=0.1 * np.ptp(bend))
    assert slope[np.abs(u) < 0.3 * u.std()].mean() > 0 > slope[np.abs(u) > 1.2 * u.std()].mean()


def test_a_straight_relation_seldom_gains_more_than_its_fee():
    """Chi-square with LINK_FREEDOM degrees under no bend; the fee is twice their number."""
    n, exceeding = 500, 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        u = rng.normal(size=n)
        gain = link_fit(u, rng.normal(size=n) + 0.4 * u)[0]
        exceeding += gain > 2 * links.LINK_FREEDOM / n
    assert exceeding <= 12


def test_shrinkage_undone_is_no_bend():
    rng = np.random.default_rng(3)
    u = rng.normal(size=2000)
    gain = link_fit(0.2 * u, 0.8 * u + 0.05 * rng.normal(size=2000))[0]
    assert gain < 0.02


def test_units_of_the_index_and_of_what_is_left_mean_nothing():
    u, e = bent(600, 2)
    gain, bend, slope = link_fit(u, e)
    moved, bend_moved, slope_moved = link_fit(8 * u, 0.25 * e)
    assert moved == pytest.approx(gain, rel=1e-9)
    np.testing.assert_allclose(bend_moved, 0.25 * bend, atol=1e-9)
    np.testing.assert_allclose(slope_moved, slope / 32, atol=1e-9)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_an_index_without_variance_and_a_perfect_fit_gain_nothing(kind):
    rng = np.random.default_rng(0)
    e, zero = rng.normal(size=50).astype(kind), np.zeros(50, dtype=kind)
    gain, bend, slope = link_fit(zero, e)
    assert gain == 0
    assert not bend.any()
    assert not slope.any()
    gain, bend, _ = link_fit(e, zero)
    assert gain == 0
    assert not bend.any()
    fits, no = e[None].astype(np.float32), np.zeros(1)
    assert judge(fits, fits, np.zeros(1, dtype=int), no, equal_bins(50), False, np.ones(1, dtype=bool))[0] == 0


# --- negentropy -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [50, 300, 5000, 10**6])
def test_bins_are_equally_likely_under_a_gaussian_but_for_the_tails(n):
    table = equal_bins(n)
    tails = len(links._TAILS)
    equal = table[-1] + 1 - 2 * tails
    edges = np.arange(len(table) + 1) / links._CELLS - links._SIDE
    p = np.diff(np.concatenate([[0.0], special.ndtr(edges[1:-1]), [1.0]]))
    share = np.bincount(table, weights=p)
    expected = np.full(equal, 1 / equal)
    expected[[0, -1]] -= links._TAIL_TOTAL
    expected = np.concatenate([expected, links._TAIL_SHARES, links._TAIL_SHARES])
    # what bins of other sizes would add to the negentropy of a Gaussian stays below what chance does
    assert np.sum(share * np.log(share / expected)) < 0.3 * np.sqrt(len(share) / 2) / min(n, 5000)
    np.testing.assert_allclose(share / expected, 1, atol=0.25)


def test_bins_follow_each_other_from_one_tail_to_the_other():
    table = equal_bins(300)
    tails = len(links._TAILS)
    equal = int(table[-1]) + 1 - 2 * tails
    lower = list(range(equal + tails - 1, equal - 1, -1))
    changes = table[np.append(True, np.diff(table) != 0)]
    assert changes.tolist() == [*lower, *range(equal), *range(equal + tails, equal + 2 * tails)]


def test_more_rows_get_no_fewer_bins():
    sizes = [equal_bins(n)[-1] + 1 for n in (10, 100, 1000, 10_000, 100_000)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]


@pytest.mark.parametrize("n", [200, 1000, 5000])
def test_gaussian_rows_have_no_negentropy_on_average(n):
    table = equal_bins(n)
    found = np.array([negentropy(np.random.default_rng([seed, n]).normal(3, 2, n), table) for seed in range(150)])
    assert abs(found.mean()) < 4 * found.std() / np.sqrt(len(found)) + 0.02 * table[-1] / n


@pytest.mark.parametrize(
    ("draw", "known"),
    [
        (lambda rng, n: rng.uniform(size=n), np.log(np.sqrt(2 * np.pi * np.e / 12))),
        (lambda rng, n: rng.exponential(size=n), np.log(np.sqrt(2 * np.pi * np.e)) - 1),
        (lambda rng, n: rng.laplace(size=n), np.log(np.sqrt(2 * np.pi * np.e) * np.sqrt(2)) - np.log(2 * np.e)),
        (lambda rng, n: rng.standard_t(3, size=n), np.log(np.sqrt(2 * np.pi * np.e * 3)) - stats.t(3).entropy()),
    ],
    ids=["uniform", "exponential", "laplace", "t3"],
)
def test_known_distributions_have_their_negentropy_up_to_what_binning_loses(draw, known):
    found = [negentropy(draw(np.random.default_rng(seed), 20_000), equal_bins(20_000)) for seed in range(5)]
    assert 0.6 * known < np.mean(found) < known + 0.01


def test_negentropy_grows_with_the_distance_from_gaussian_and_knows_no_units():
    rng = np.random.default_rng(1)
    odd, even = rng.exponential(size=4000) - 1, rng.normal(size=4000)
    table = equal_bins(4000)
    found = [negentropy(a * odd + (1 - a) * even, table) for a in (0.0, 0.5, 0.65, 0.8, 1.0)]
    assert found == sorted(found)
    assert negentropy(1024 * odd - 4096, table) == pytest.approx(found[-1], abs=2e-3)
    assert negentropy(np.full(100, 2.5), table) == 0


# --- both together --------------------------------------------------------------------------------------------------


def test_judge_takes_the_gain_above_the_fee_and_twice_the_negentropy_of_what_remains():
    rng = np.random.default_rng(4)
    pairs = [bent(800, seed, noise=0.2) for seed in range(3)]
    straight = rng.normal(size=800)
    pairs.append((straight, rng.exponential(size=800) - 1))
    fits = np.array([u for u, _ in pairs], dtype=np.float32)
    targets = np.array([u + e for u, e in pairs], dtype=np.float32)
    children, table = np.arange(4), equal_bins(800)
    for fee in (0.0, 0.05, 10.0):
        fees = np.full(4, fee)
        for smooth in (np.ones(4, dtype=bool), np.array([True, False, True, False])):
            plain = judge(fits, targets, children, fees, table, False, smooth)
            noisy = judge(fits, targets, children, fees, table, True, smooth)
            for a, (u, e) in enumerate(zip(fits.astype(float), (targets - fits).astype(float))):
                gain, bend, _ = link_fit(u, e)
                taken = max(gain - fee, 0)
                assert plain[a] == pytest.approx(taken, abs=5e-3)
                left = e - bend if taken > 0 else e
                more = 2 * negentropy(left, table) if smooth[a] else 0
                assert noisy[a] - plain[a] == pytest.approx(more, abs=2e-2)
