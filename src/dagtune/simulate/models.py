"""Equations of a node given its parents: ``MODELS[name][recipe]``. Add your own with ``@register_model``.

A model is a function ``(node, rng) -> Mechanism``; its docstring is its formula. ``PA`` are the values of the parents
(rows, parents), parents by ascending position; ``e`` is the noise of the node; ``+-U(0.5, 2)`` is uniform on
[-2, -0.5] and [0.5, 2] together. Each node has its own generator and draws one number for each possible parent, so that
a weight depends on the seed and its edge, not on the other edges.

Recipe ``printed`` is Section V-A of the paper. What the paper leaves open is fixed as follows: noise N(0, 1), a root
equals its noise (sigmoid-mix: beta sigmoid(e)), one weight for each edge and data set, and the mixed models choose one
of their two formulas for each node with probability 1/2. Recipe ``released`` is what the authors' script computes:
weights +1, roots by the same formula with an empty sum, and t is the position of the node in the topological order,
from 0. ``linear``, ``gp`` and ``gp-joint`` are not in the paper; they follow the conventions of ``printed`` and are
listed under that recipe.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from dagtune.registry import plug_ins, tell_broken
from dagtune.simulate import portable
from dagtune.validation import InputError, check_choice

__all__ = ["GP_FEATURES", "MODELS", "Mechanism", "Model", "Node", "find_model", "register_model", "signed_uniform"]

#: Number of cosines in one draw of a Gaussian process.
GP_FEATURES = 100


@dataclass(frozen=True)
class Node:
    """What a model may know about a node.

    Parameters
    ----------
    column : int
        Position of the node.
    parents : ndarray of int
        Positions of its parents, ascending.
    t : int
        Its position in the topological order, from 0.
    nodes, rows : int
        Size of the graph and of the table.
    """

    column: int
    parents: np.ndarray
    t: int
    nodes: int
    rows: int


@dataclass(frozen=True)
class Mechanism:
    """Equation of one node: ``X = rule(PA, e)``.

    Parameters
    ----------
    rule : callable
        Function of the parents' values (rows, parents) and the noise (rows,) that returns the values of the node.
    weights : dict of str to ndarray
        The numbers drawn for the equation, by the letters of its formula.
    noise : str
        Name of the noise distribution that the recipe states, from :data:`NOISES`.
    kind : str
        Name of the formula, for models that choose among several.
    """

    rule: Callable[[np.ndarray, np.ndarray], np.ndarray]
    weights: dict[str, np.ndarray] = field(default_factory=dict)
    noise: str = "gaussian"
    kind: str = ""


Model = Callable[[Node, np.random.Generator], Mechanism]

#: Models by name, then by recipe.
MODELS: dict[str, dict[str, Model]] = {}


def register_model(name: str, *, recipe: str = "printed") -> Callable[[Model], Model]:
    """Decorator that adds a model to :data:`MODELS`.

    Parameters
    ----------
    name : str
        Name of the model.
    recipe : str
        Name of the variant.

    Returns
    -------
    callable
        Decorator for a function ``(node, rng) -> Mechanism``.

    Raises
    ------
    InputError
        If this name and recipe are already registered.

    Examples
    --------
    >>> @register_model("cubic")
    ... def cubic(node, rng):
    ...     a = signed_uniform(rng, node.nodes)[node.parents]
    ...     return Mechanism(lambda PA, e: PA**3 @ a + e, {"a": a})
    >>> MODELS["cubic"]["printed"] is cubic
    True
    >>> del MODELS["cubic"]
    """

    def add(model: Model) -> Model:
        if recipe in MODELS.get(name, {}):
            raise InputError(
                f"model {name!r} with recipe {recipe!r} is already registered: choose another name or recipe"
            )
        MODELS.setdefault(name, {})[recipe] = model
        return model

    return add


@cache
def _add_installed() -> None:
    """Add the models of other packages, from entry points of the group "dagtune.generators"."""
    for entry in plug_ins("dagtune.generators"):
        try:
            model = entry.load()
        except Exception as error:
            tell_broken(entry, error)
        else:
            MODELS.setdefault(entry.name, {"printed": model})  # there already, if its module used register_model


def find_model(name: str, recipe: str) -> Model:
    """Registered model; an unknown name or recipe is refused with a list of the known ones."""
    if name not in MODELS:
        _add_installed()
    recipes = MODELS[check_choice("model", name, MODELS)]
    if recipe not in recipes:
        others = [other for other, known in MODELS.items() if recipe in known]
        known = ", ".join(map(repr, recipes))
        cure = f"; recipe {recipe!r} exists for {', '.join(map(repr, others))}" if others else ""
        raise InputError(f"model {name!r} has no recipe {recipe!r}: choose one of {known}{cure}")
    return recipes[recipe]


def signed_uniform(rng: np.random.Generator, shape: int | tuple[int, ...]) -> np.ndarray:
    """Draws from +-U(0.5, 2): uniform on [-2, -0.5] and [0.5, 2] together.

    Parameters
    ----------
    rng : Generator
        Source of the draws.
    shape : int or tuple of int
        Shape of the result.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> weights = signed_uniform(np.random.default_rng(0), 1000)
    >>> bool((abs(weights) >= 0.5).all() and (abs(weights) <= 2).all())
    True
    """
    u = 2.0 * portable.uniform(rng, shape) - 1.0
    return np.where(u < 0, -0.5, 0.5) + 1.5 * u


@register_model("linear")
def linear(node: Node, rng: np.random.Generator) -> Mechanism:
    """X = sum_j alpha_j X_j + e, alpha ~ +-U(0.5, 2)."""
    alpha = _edge_weights(node, rng)
    return Mechanism(lambda PA, e: _weighted(PA, alpha) + e, {"alpha": alpha}, kind="linear")


@register_model("mlp100")
def mlp100(node: Node, rng: np.random.Generator) -> Mechanism:
    """X = sigmoid(PA W1) W2 + e with 100 hidden units, W1 and W2 ~ +-U(0.5, 2)."""
    return _mlp(node, rng, hidden=100)


@register_model("mlp2")
def mlp2(node: Node, rng: np.random.Generator) -> Mechanism:
    """X = sigmoid(PA W1) W2 + e with 2 hidden units, W1 and W2 ~ +-U(0.5, 2)."""
    return _mlp(node, rng, hidden=2)


@register_model("tanh")
def tanh(node: Node, rng: np.random.Generator) -> Mechanism:
    """X = tanh(sum_j alpha_j X_j) + e, alpha ~ +-U(0.5, 2)."""
    alpha = _edge_weights(node, rng)
    return Mechanism(lambda PA, e: portable.tanh(_weighted(PA, alpha)) + e, {"alpha": alpha}, kind="tanh")


@register_model("sigmoid-mix")
def sigmoid_mix(node: Node, rng: np.random.Generator) -> Mechanism:
    """X = beta sigmoid(sum_j alpha_j X_j + e), alpha and beta ~ +-U(0.5, 2): the noise goes through the sigmoid."""
    alpha, beta = _edge_weights(node, rng), signed_uniform(rng, 1)
    return Mechanism(
        lambda PA, e: beta[0] * portable.sigmoid(_weighted(PA, alpha) + e),
        {"alpha": alpha, "beta": beta},
        kind="sigmoid-mix",
    )


@register_model("abs")
def absolute(node: Node, rng: np.random.Generator) -> Mechanism:
    """X = sum_j alpha_j |X_j| + e, alpha ~ +-U(0.5, 2)."""
    alpha = _edge_weights(node, rng)
    return Mechanism(lambda PA, e: _weighted(np.abs(PA), alpha) + e, {"alpha": alpha}, kind="abs")


@register_model("mlp-tanh")
def mlp_tanh(node: Node, rng: np.random.Generator) -> Mechanism:
    """With probability 1/2 X = beta sigmoid(sum_j alpha_j X_j) + e, else X = tanh(sum_j alpha_j X_j) + e; a root is e.

    alpha and beta ~ +-U(0.5, 2).
    """
    tanh_mechanism = tanh(node, rng)
    alpha, beta = tanh_mechanism.weights["alpha"], signed_uniform(rng, 1)
    if _coin(rng):
        return tanh_mechanism
    if not len(alpha):
        return Mechanism(lambda PA, e: e.copy(), {"alpha": alpha, "beta": beta}, kind="mlp")
    return Mechanism(
        lambda PA, e: beta[0] * portable.sigmoid(_weighted(PA, alpha)) + e, {"alpha": alpha, "beta": beta}, kind="mlp"
    )


@register_model("abs-tanh")
def abs_tanh(node: Node, rng: np.random.Generator) -> Mechanism:
    """With probability 1/2 X = sum_j alpha_j |X_j| + e, else X = tanh(sum_j alpha_j X_j) + e; alpha ~ +-U(0.5, 2)."""
    alpha = _edge_weights(node, rng)
    if _coin(rng):
        return Mechanism(lambda PA, e: portable.tanh(_weighted(PA, alpha)) + e, {"alpha": alpha}, kind="tanh")
    return Mechanism(lambda PA, e: _weighted(np.abs(PA), alpha) + e, {"alpha": alpha}, kind="abs")


@register_model("gp")
def gaussian_process(node: Node, rng: np.random.Generator) -> Mechanism:
    """X = sum_j f_j(X_j) + e, each f_j a draw from a Gaussian process with kernel exp(-(x - x')^2 / 2).

    Drawn as f(x) = sqrt(2 / M) sum_m a_m cos(omega_m x + phi_m), M = 100, a and omega ~ N(0, 1), phi ~ U(0, 2 pi). Over
    all draws its covariance is exactly that kernel, and its distribution becomes Gaussian as M grows. Each f is a
    function, not a vector of values: it is the same for any rows, and there is no kernel matrix to factor.
    """
    shape = (node.nodes, GP_FEATURES)
    omega, phi, a = (part[node.parents] for part in _cosines(rng, shape))

    def rule(PA: np.ndarray, e: np.ndarray) -> np.ndarray:
        total = np.zeros(len(e))
        for j in range(len(node.parents)):
            total += _cosine_sum(np.multiply.outer(PA[:, j], omega[j]), phi[j], a[j])
        return total + e

    return Mechanism(rule, {"omega": omega, "phi": phi, "a": a}, kind="gp")


@register_model("gp-joint")
def gaussian_process_joint(node: Node, rng: np.random.Generator) -> Mechanism:
    """X = f(PA) + e, f a draw from a Gaussian process of all parents with kernel exp(-|p - p'|^2 / 2).

    Drawn as f(p) = sqrt(2 / M) sum_m a_m cos(omega_m . p + phi_m), M = 100, a and omega ~ N(0, 1), phi ~ U(0, 2 pi); a
    root equals its noise.
    """
    phi, a = (part[0] for part in _cosines(rng, (1, GP_FEATURES))[1:])
    omega = portable.normal(rng, (node.nodes, GP_FEATURES))[node.parents]

    def rule(PA: np.ndarray, e: np.ndarray) -> np.ndarray:
        return _cosine_sum(_product(PA, omega), phi, a) + e if len(omega) else e.copy()

    return Mechanism(rule, {"omega": omega, "phi": phi, "a": a}, kind="gp-joint")


@register_model("tanh", recipe="released")
def released_tanh(node: Node, rng: np.random.Generator) -> Mechanism:
    """X = sum_j tanh(X_j) + e."""
    return Mechanism(lambda PA, e: portable.left_sum(portable.tanh(PA)) + e, kind="tanh")


@register_model("abs", recipe="released")
def released_abs(node: Node, rng: np.random.Generator) -> Mechanism:
    """X = sum_j b_j |X_j| + e, b ~ +-U(0.5, 2) drawn again for every row and parent."""
    b = signed_uniform(rng, (node.rows, node.nodes))[:, node.parents]
    return Mechanism(lambda PA, e: portable.left_sum(b * np.abs(PA)) + e, {"b": b}, kind="abs")


@register_model("mlp-tanh", recipe="released")
def released_mlp_tanh(node: Node, rng: np.random.Generator) -> Mechanism:
    """t divisible by 7: X = sum_j (tanh + cos + sin)(X_j) + e, e ~ Exp(1); otherwise X = sum_j X_j + e, e ~ N(0, 1)."""
    if node.t % 7:
        return Mechanism(lambda PA, e: portable.left_sum(PA) + e, kind="sum")
    return Mechanism(
        lambda PA, e: portable.left_sum(portable.tanh(PA) + portable.cos(PA) + portable.sin(PA)) + e,
        noise="raw-exponential",
        kind="tanh-cos-sin",
    )


@register_model("abs-tanh", recipe="released")
def released_abs_tanh(node: Node, rng: np.random.Generator) -> Mechanism:
    """t even: X = sum_j |X_j| + e, e ~ N(0, 1); t odd: X = sum_j tanh(X_j) + e, e ~ Exp(1)."""
    if node.t % 2:
        return Mechanism(lambda PA, e: portable.left_sum(portable.tanh(PA)) + e, noise="raw-exponential", kind="tanh")
    return Mechanism(lambda PA, e: portable.left_sum(np.abs(PA)) + e, kind="abs")


def _mlp(node: Node, rng: np.random.Generator, *, hidden: int) -> Mechanism:
    """X = sigmoid(PA W1) W2 + e; W1 is (parents, hidden), W2 has one weight per hidden unit; a root is its noise."""
    W1 = signed_uniform(rng, (node.nodes, hidden))[node.parents]
    W2 = signed_uniform(rng, hidden)

    def rule(PA: np.ndarray, e: np.ndarray) -> np.ndarray:
        return _weighted(portable.sigmoid(_product(PA, W1)), W2) + e if len(W1) else e.copy()

    return Mechanism(rule, {"W1": W1, "W2": W2}, kind="mlp")


def _edge_weights(node: Node, rng: np.random.Generator) -> np.ndarray:
    """One weight from +-U(0.5, 2) for each parent."""
    return signed_uniform(rng, node.nodes)[node.parents]


def _coin(rng: np.random.Generator) -> bool:
    return bool(portable.uniform(rng, 1)[0] < 0.5)


def _weighted(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """values @ weights for (rows, terms) values, summed from first to last."""
    return portable.left_sum(values * weights)


def _product(PA: np.ndarray, W: np.ndarray) -> np.ndarray:
    """PA @ W, (rows, parents) by (parents, hidden), summed parent by parent; the order of a sum in BLAS varies."""
    total = np.zeros((len(PA), W.shape[1]))
    for j in range(len(W)):
        total += np.multiply.outer(PA[:, j], W[j])
    return total


def _cosines(rng: np.random.Generator, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """omega ~ N(0, 1), phi ~ U(0, 2 pi), a ~ N(0, 1), each of this shape."""
    omega = portable.normal(rng, shape)
    phi = 2.0 * math.pi * portable.uniform(rng, shape)
    return omega, phi, portable.normal(rng, shape)


def _cosine_sum(angle: np.ndarray, phi: np.ndarray, a: np.ndarray) -> np.ndarray:
    """sqrt(2 / M) sum_m a_m cos(angle_m + phi_m) for (rows, M) angles."""
    return math.sqrt(2.0 / len(a)) * _weighted(portable.cos(angle + phi), a)
