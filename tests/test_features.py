import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagtune.engine.expansions import FINE, USUAL, Sample, _coefficients, expand
from dagtune.engine.features import TOLERANCE, JointColumn, SumColumn, compress
from dagtune.engine.kernels import KERNELS, bandwidth_of

LAWS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "heavy": lambda rng, n: rng.standard_cauchy(n),
    "skew": lambda rng, n: rng.exponential(size=n),
    "few values": lambda rng, n: rng.integers(0, 4, n).astype(float),
}
SMOOTH = ["gaussian", "sigmoid", "rational-quadratic"]


def column_of(x, kernel, *, centred=True, fine=False):
    bandwidth = bandwidth_of(x, "median") if KERNELS[kernel].takes_bandwidth else 1.0
    sample = Sample(bandwidth, x.min(), x.max(), np.abs(x).min(), x)
    expansion = expand(KERNELS[kernel], sample, centred=centred, error=FINE if fine else USUAL)
    assert expansion is not None
    return SumColumn((0,), sample.origin(KERNELS[kernel]), bandwidth, expansion)


def features_of(column, x, **options):
    return compress(column, len(x), *column.moments(x[None, :]), **options)


def phi_of(column, chunk):
    """(r0, n) values of the functions themselves."""
    rank = len(column.signs)
    out = np.empty((rank, chunk.shape[1]))
    column.rotated(chunk, np.eye(rank), np.zeros(rank), out)
    return out


def centred_matrix(x, kernel, bandwidth):
    K = KERNELS[kernel](x[:, None] / bandwidth, x[None, :] / bandwidth)
    return K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()


@pytest.mark.parametrize("kernel", SMOOTH)
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("n", [5, 150, 400])
def test_features_give_the_centred_kernel_matrix_within_their_bound(kernel, law, n):
    x = LAWS[law](np.random.default_rng(n), n)
    column = column_of(x, kernel)
    features = features_of(column, x)
    K = centred_matrix(x, kernel, column.bandwidth)
    F = features.values(x[None, :])
    error = np.linalg.norm(K - (F.T * features.signs) @ F)
    size = np.linalg.norm(K)
    assert error <= features.bound * features.norm + 1e-13 * n
    assert error <= 0.5 * TOLERANCE * size + 1e-13 * n
    assert F.mean(axis=1) == pytest.approx(0, abs=1e-11)
    assert features.norm == pytest.approx(size, rel=1e-7, abs=1e-12)


@pytest.mark.parametrize("kernel", SMOOTH)
def test_the_rank_is_the_least_that_the_error_allows(kernel):
    x = np.random.default_rng(0).normal(size=500)
    column = column_of(x, kernel)
    features = features_of(column, x)
    sizes = np.sort(np.abs(np.linalg.eigvalsh(centred_matrix(x, kernel, column.bandwidth))))[::-1]
    tails = np.sqrt(np.cumsum(sizes[::-1] ** 2)[::-1])
    needed = int(np.argmax(tails <= 0.5 * TOLERANCE * tails[0]))
    assert needed <= features.rank <= needed + 1


@settings(max_examples=25)
@given(st.floats(0.05, 200), st.integers(0, 10))
def test_an_expansion_is_the_kernel_within_its_error(reach, seed):
    x = np.random.default_rng(seed).uniform(-reach, reach, 60)
    for kernel in SMOOTH:
        sample = Sample(1.0, x.min(), x.max(), np.abs(x).min(), x)
        for fine in (False, True):
            expansion = expand(KERNELS[kernel], sample, centred=False, error=FINE if fine else USUAL)
            column = SumColumn((0,), sample.origin(KERNELS[kernel]), 1.0, expansion)
            phi = phi_of(column, x[None, :])
            total, gram, left_out = column.moments(x[None, :])
            assert total == pytest.approx(phi.sum(axis=1), abs=1e-11)
            assert gram == pytest.approx(phi @ phi.T, abs=1e-11)
            error = np.abs(KERNELS[kernel](x[:, None], x[None, :]) - (phi.T * column.signs) @ phi)
            assert error.max() <= column.error + left_out + 1e-12


@pytest.mark.parametrize("error", [1e-4, 1e-8])
def test_a_series_is_as_short_as_its_error_allows(error):
    """Coefficients by sums of cosines; the least count for which all others together are small enough."""

    def kernel(nodes):
        return np.exp(-0.5 * (3 * np.subtract.outer(nodes, nodes)) ** 2)

    k = np.arange(128)
    angles = np.pi * (k + 0.5) / 128
    waves = np.cos(np.outer(k, angles)) * np.where(k == 0, 1, 2)[:, None] / 128
    size = np.abs(waves @ kernel(np.cos(angles)) @ waves.T)
    left = [size.sum() - size[:count, :count].sum() for count in k]
    found = _coefficients(kernel, error, False)
    assert len(found.matrix) == next(count for count in k[2:] if left[count] <= error * size.max())
    assert found.left_out == pytest.approx(left[len(found.matrix)], rel=0.02)


def test_a_kernel_with_a_kink_has_no_short_expansion():
    x = np.random.default_rng(0).normal(size=5000)
    sample = Sample(1.0, x.min(), x.max(), np.abs(x).min(), x)
    assert expand(KERNELS["laplace"], sample) is None


def test_joint_features_give_the_product_of_two_kernel_matrices():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(2, 200))
    for kernel in SMOOTH:
        parts, matrices = [], []
        for position, values in enumerate((x, y)):
            column = column_of(values, kernel, centred=False, fine=True)
            one = features_of(column, values, centred=False, tolerance=TOLERANCE / 20)
            placed = SumColumn((position,), column.origin, column.bandwidth, column.expansion)
            parts.append(
                compress(placed, 200, *placed.moments(np.array([x, y])), centred=False, tolerance=TOLERANCE / 20)
            )
            assert parts[-1].rank == one.rank
            matrices.append(KERNELS[kernel](values[:, None] / column.bandwidth, values[None, :] / column.bandwidth))
        joint = JointColumn.of(*parts, 200, 1.0)
        features = compress(joint, 200, *joint.moments(np.array([x, y])))
        F = features.values(np.array([x, y]))
        K = matrices[0] * matrices[1]
        K = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
        assert np.linalg.norm(K - (F.T * features.signs) @ F) <= features.bound * features.norm + 1e-12
