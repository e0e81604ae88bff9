"""Fit P(arm | item) to classifier outputs and a few known attributes, with none, some or full calibration."""

from dataclasses import replace
from itertools import combinations
from math import prod
from typing import Literal, get_args

import numpy as np
from jaxtyping import Int

from fewlabels.models.membership.arms import list_arms
from fewlabels.models.membership.attribution import Attribution
from fewlabels.models.membership.joint_distribution import Joint, estimate_joint
from fewlabels.models.membership.potential import GoldItems, learn_jointly
from fewlabels.models.membership.scores import LogScores, Scores, center_log_scores, require_gold
from fewlabels.models.membership.temperature_scaling import TemperatureScaling, calibrate
from fewlabels.models.membership.terms import Terms, choose_pairs

Method = Literal["raw", "temperature", "full"]
METHODS: tuple[Method, ...] = get_args(Method)
Known = Int[np.ndarray, "gold axis"]


def fit_membership(
    scores: Scores,
    gold: Known,
    gold_rows: Int[np.ndarray, " gold"],
    *,
    method: Method,
    seed: int = 0,
    names: tuple[str, ...] = (),
    resampled: Int[np.ndarray, " gold"] | None = None,
) -> Attribution:
    """Fit P(arm | item) to the classifiers' probabilities of all items and the known attributes of a few.

    `resampled` are the places of known items to learn from instead of all, drawn with replacement (bootstrap).

    `raw` uses the probabilities as they are and assumes independent attributes. `temperature` calibrates each
    classifier. `full` also estimates the joint distribution of attribute values, from all items, corrected on known
    ones.

    >>> score = np.array([[0.9, 0.1], [0.2, 0.8], [0.4, 0.6]])
    >>> none = np.zeros((0, 2), dtype=np.int64), np.zeros(0, dtype=np.int64)
    >>> found = fit_membership((score, score), *none, method="raw")
    >>> (100 * found.assign((score, score)).toarray()[0]).round().astype(int).tolist()
    [81, 9, 9, 1]
    """
    evidence = center_log_scores(scores, names)
    sizes = tuple(score.shape[1] for score in scores)
    require_gold(gold, gold_rows, sizes, len(evidence[0]))
    guesses = np.stack([log.argmax(axis=1) for log in evidence], axis=1)
    arms = list_arms(sizes, guesses, gold)
    terms = Terms(arms, choose_pairs(sizes, guesses))
    warnings = _list_warnings(method, terms, len(gold))
    if method == "raw":
        return Attribution(arms, np.ones(len(sizes)), np.zeros(len(arms)), {}, warnings)
    at = np.arange(len(gold)) if resampled is None else resampled
    gold, known = gold[at], tuple(log[gold_rows[at]] for log in evidence)
    separate, common = calibrate(known, gold, biased=method == "full")
    temperatures = np.array([one.temperature for one in separate])
    if method == "temperature":
        return Attribution(arms, temperatures, np.zeros(len(arms)), {}, warnings)
    given = _estimate_potential(np.random.default_rng(seed), evidence, separate, terms)
    found = learn_jointly(GoldItems(known, arms.find(gold), terms, given), temperatures, common)
    weights = found.potential.weights
    potential = terms.design @ weights + found.potential.rest
    return Attribution(arms, found.temperatures, potential, terms.tabulate(weights), warnings)


def _estimate_potential(
    rng: np.random.Generator, evidence: LogScores, separate: tuple[TemperatureScaling, ...], terms: Terms
) -> Joint:
    """Fit the part of P(arm | item) that all items tell: log P(a), less the base rates that classifiers contain."""
    calibrated = [one.apply(log) for one, log in zip(separate, evidence, strict=True)]
    shares = [chance.mean(axis=0) for chance in calibrated]
    log_ratios = tuple(np.log(chance) - np.log(share) for chance, share in zip(calibrated, shares, strict=True))
    joint = estimate_joint(rng, log_ratios, terms)
    bias_terms = terms.project_values(
        tuple(one.bias - np.log(share) for one, share in zip(separate, shares, strict=True))
    )
    weights = joint.weights + np.pad(bias_terms, (0, len(joint.weights) - len(bias_terms)))
    return replace(joint, weights=weights)


def _list_warnings(method: Method, terms: Terms, n_gold: int) -> tuple[str, ...]:
    """Warn of what a fit of arm membership ignores: no known attributes, rare combinations, pairs."""
    warnings, sizes, n_arms = [], terms.arms.sizes, len(terms.arms)
    n_pairs = len(list(combinations([size for size in sizes if size > 1], 2)))
    if method != "raw" and not n_gold:
        warnings.append("no item has known attributes, so the classifiers are used without calibration; add the attributes of some items, drawn at random")  # fmt: skip
    if n_arms < prod(sizes):
        warnings.append(f"{n_arms:,} of {prod(sizes):,} combinations of attributes are considered: the most probable ones of the items")  # fmt: skip
    if method == "full" and len(terms.pairs) < n_pairs:
        warnings.append(
            f"{len(terms.pairs)} of {n_pairs} pairs of attributes are considered: the most strongly associated ones"
        )
    return tuple(warnings)
