"""Thompson sampling in plain NumPy, beside which the compiled kernels are measured."""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from fewlabels.active.simulation.kernels.problems import CalibrationError, Cost, Rate, ShareVariance
from fewlabels.active.simulation.kernels.rules import TOP_TWO, Rule

Gains = Float[np.ndarray, " group"]
Rng = np.random.Generator


class Definition:
    """Thompson sampling as it is written down: draw the whole belief, take the best group, label, count."""

    def __init__(self, problem: Any, rule: Rule) -> None:
        self.problem, self.rule, self.pool = problem, rule, problem.pool
        self.alpha = problem.alpha.copy()
        self.beta = problem.beta.copy() if self.alpha.ndim == 1 else self.alpha
        self.left = [list(range(a, b)) for a, b in zip(self.pool.start[:-1], self.pool.start[1:], strict=True)]

    def draw(self, rng: Rng) -> Gains:
        """Return gains at one draw of everything."""
        if isinstance(self.problem, Cost | ShareVariance):
            return self._draw_shares(rng)
        return self._draw_rates(rng)

    def _draw_shares(self, rng: Rng) -> Gains:
        problem, theta = self.problem, rng.standard_gamma(self.alpha)
        theta /= theta.sum(axis=1, keepdims=True)
        if isinstance(problem, Cost):
            return np.asarray(problem.sign * (problem.price * theta).sum(axis=1))
        total, squares = self.alpha.sum(axis=1, keepdims=True), (self.alpha**2).sum(axis=1, keepdims=True)
        now = (1 - squares / total**2) / (total + 1)
        later = (1 - (squares + 2 * self.alpha + 1) / (total + 1) ** 2) / (total + 2)
        return np.asarray(self.pool.share * (now[:, 0] - (theta * later).sum(axis=1)))

    def _draw_rates(self, rng: Rng) -> Gains:
        problem, pool, theta = self.problem, self.pool, rng.beta(self.alpha, self.beta)
        if isinstance(problem, Rate):
            return problem.sign * theta
        if isinstance(problem, CalibrationError):
            return np.bincount(pool.group, weights=pool.weight * np.abs(theta - problem.score))
        now, right, wrong = (_variance(self.alpha + i, self.beta + j) for i, j in ((0, 0), (1, 0), (0, 1)))
        return pool.share * (now - theta * right - (1 - theta) * wrong)

    def pick(self, rng: Rng, closed: Bool[np.ndarray, " group"]) -> list[int]:
        """Groups to label in."""
        gains = np.where(closed, -np.inf, self.draw(rng))
        if self.rule.m > 1:
            return np.argsort(-gains)[: self.rule.m].tolist()
        best = int(gains.argmax())
        is_second = self.rule.kind is TOP_TWO.kind and rng.random() < 0.5
        return [self._find_second(rng, closed, best) if is_second else best]

    def _find_second(self, rng: Rng, closed: Bool[np.ndarray, " group"], best: int) -> int:
        """Draw until another group is the best one."""
        for _ in range(100):
            gains = np.where(closed, -np.inf, self.draw(rng))
            if gains.argmax() != best:
                break
        gains[best] = -np.inf
        return int(gains.argmax())

    def run(self, rng: Rng, n_steps: int) -> int:
        """Label until so many are labelled; how many were."""
        n, closed = 0, np.array([not items for items in self.left])
        while n < n_steps:
            for group in self.pick(rng, closed):
                item = self.left[group].pop(rng.integers(len(self.left[group])))
                self.learn(item)
                closed[group] = not self.left[group]
                n += 1
        return n

    def learn(self, item: int) -> None:
        """Count an outcome."""
        cell = self.pool.cell[item]
        if self.alpha.ndim == 2:
            self.alpha[cell, self.problem.label[item]] += 1
        else:
            self.alpha[cell] += self.problem.right[item]
            self.beta[cell] += 1 - self.problem.right[item]


def _variance(alpha: Gains, beta: Gains) -> Gains:
    return alpha * beta / ((alpha + beta) ** 2 * (alpha + beta + 1))
