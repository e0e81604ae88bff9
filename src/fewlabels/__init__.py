"""fewlabels: estimate how good a classifier is, per group, with credible intervals, from few labels.

Public names are imported on first use, so that `fewlabels --help` starts quickly.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fewlabels.active.goals.comparison import Compare
    from fewlabels.active.goals.estimation import Estimate, Explore, LeastCertain
    from fewlabels.active.goals.fairness_gap import FairnessGap
    from fewlabels.active.goals.identification import FindBest, FindWorst
    from fewlabels.active.goals.models import BestModel, CompareModels
    from fewlabels.active.policies import (
        EpsilonGreedy,
        MultiPlay,
        Random,
        Stratified,
        Thompson,
        TopTwo,
        UpperBound,
        epsilon_greedy,
        multi_play,
        random,
        stratified,
        thompson,
        top_two,
        upper_bound,
    )
    from fewlabels.active.simulation.plan import plan
    from fewlabels.active.simulation.simulate import simulate
    from fewlabels.analyses.assess import assess, compare
    from fewlabels.analyses.assessment import Assessment
    from fewlabels.analyses.comparison import Comparison
    from fewlabels.analyses.doctor import diagnose
    from fewlabels.analyses.fairness.api import fairness
    from fewlabels.analyses.fairness.result import Fairness
    from fewlabels.analyses.models.api import compare_models
    from fewlabels.analyses.models.result import ModelComparison
    from fewlabels.analyses.rating.api import rate
    from fewlabels.analyses.rating.result import Rating
    from fewlabels.analyses.surface.api import surface
    from fewlabels.analyses.surface.result import Surface
    from fewlabels.analyses.surface.uncertain_attributes import uncertain
    from fewlabels.data.groups import bins, column, everything, predicted, ranges
    from fewlabels.data.parsing import cross
    from fewlabels.data.predictions import Predictions
    from fewlabels.distributions.beta_dirichlet import Beta, Dirichlet
    from fewlabels.distributions.draws import Draws
    from fewlabels.errors import InputError
    from fewlabels.metrics.metric import (
        accuracy,
        balanced_accuracy,
        brier,
        confusion,
        cost,
        ece,
        f1,
        fdr,
        fnr,
        for_,
        fpr,
        log_loss,
        mcc,
        npv,
        ppv,
        precision,
        recall,
        selection_rate,
        tnr,
        tpr,
    )
    from fewlabels.models.calibrated.prior import calibrated
    from fewlabels.models.earlier import from_earlier
    from fewlabels.models.priors import flat, from_scores
    from fewlabels.models.smooth import smooth
    from fewlabels.reporting.mlflow import log_assessment
    from fewlabels.reporting.plots.displays import ConfusionDisplay, IntervalsDisplay, ReliabilityDisplay
    from fewlabels.reporting.schemas.verbs import schema
    from fewlabels.sessions.session import Session

__version__ = "0.1.0"

_EXPORTS = {
    "active.goals.comparison": ("Compare",),
    "active.goals.estimation": ("Estimate", "Explore", "LeastCertain"),
    "active.goals.fairness_gap": ("FairnessGap",),
    "active.goals.identification": ("FindBest", "FindWorst"),
    "active.goals.models": ("BestModel", "CompareModels"),
    "active.policies": ("EpsilonGreedy", "MultiPlay", "Random", "Stratified", "Thompson", "TopTwo", "UpperBound",
                        "epsilon_greedy", "multi_play", "random", "stratified", "thompson", "top_two",
                        "upper_bound"),
    "active.simulation.plan": ("plan",),
    "active.simulation.simulate": ("simulate",),
    "analyses.assess": ("assess", "compare"),
    "analyses.assessment": ("Assessment",),
    "analyses.comparison": ("Comparison",),
    "analyses.doctor": ("diagnose",),
    "analyses.fairness.api": ("fairness",),
    "analyses.fairness.result": ("Fairness",),
    "analyses.models.api": ("compare_models",),
    "analyses.models.result": ("ModelComparison",),
    "analyses.rating.api": ("rate",),
    "analyses.rating.result": ("Rating",),
    "analyses.surface.api": ("surface",),
    "analyses.surface.result": ("Surface",),
    "analyses.surface.uncertain_attributes": ("uncertain",),
    "data.groups": ("bins", "column", "everything", "predicted", "ranges"),
    "data.parsing": ("cross",),
    "data.predictions": ("Predictions",),
    "distributions.beta_dirichlet": ("Beta", "Dirichlet"),
    "distributions.draws": ("Draws",),
    "errors": ("InputError",),
    "metrics.metric": ("accuracy", "balanced_accuracy", "brier", "confusion", "cost", "ece", "f1", "fdr", "fnr", "for_",
                       "fpr", "log_loss", "mcc", "npv", "ppv", "precision", "recall", "selection_rate", "tnr", "tpr"),
    "models.calibrated.prior": ("calibrated",),
    "models.earlier": ("from_earlier",),
    "models.priors": ("flat", "from_scores"),
    "models.smooth": ("smooth",),
    "reporting.mlflow": ("log_assessment",),
    "reporting.plots.displays": ("ConfusionDisplay", "IntervalsDisplay", "ReliabilityDisplay"),
    "reporting.schemas.verbs": ("schema",),
    "sessions.session": ("Session",),
}  # fmt: skip
_MODULE_OF = {name: module for module, names in _EXPORTS.items() for name in names}

__all__ = [
    "Assessment", "BestModel", "Beta", "Compare", "CompareModels", "Comparison", "ConfusionDisplay", "Dirichlet",
    "Draws", "EpsilonGreedy", "Estimate", "Explore", "Fairness", "FairnessGap", "FindBest", "FindWorst", "InputError",
    "IntervalsDisplay", "LeastCertain", "ModelComparison", "MultiPlay", "Predictions", "Random", "Rating",
    "ReliabilityDisplay", "Session", "Stratified", "Surface", "Thompson", "TopTwo", "UpperBound", "accuracy", "assess",
    "balanced_accuracy", "bins", "brier", "calibrated", "column", "compare", "compare_models", "confusion", "cost",
    "cross", "diagnose", "ece", "epsilon_greedy", "everything", "f1", "fairness", "fdr", "flat", "fnr", "for_", "fpr",
    "from_earlier", "from_scores", "log_assessment", "log_loss", "mcc", "multi_play", "npv", "plan", "ppv",
    "precision", "predicted", "random", "ranges", "rate", "recall", "schema", "selection_rate", "simulate", "smooth",
    "stratified", "surface",
    "thompson", "tnr", "top_two", "tpr", "uncertain", "upper_bound",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'fewlabels' has no attribute {name!r}")
    return getattr(import_module(f"fewlabels.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
