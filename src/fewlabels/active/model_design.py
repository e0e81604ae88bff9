"""The design of a study of several models: its groups are items on which the models disagree alike."""

from dataclasses import replace

from fewlabels.active.goals.models import BestModel, CompareModels
from fewlabels.active.study_design import StudyDesign
from fewlabels.data.disagreement import Disagreement
from fewlabels.data.groups import Bins, Everything, Predicted
from fewlabels.data.joint_predictions import JointPredictions
from fewlabels.errors import InputError, count


def design_for_models(pool: JointPredictions, design: StudyDesign) -> StudyDesign:
    """Return the design for several models: items are drawn from groups of items on which they disagree alike."""
    if not isinstance(design.goal, CompareModels | BestModel):
        raise InputError(f"goal {design.goal.name}: it is about one model, and {count(len(pool.models), 'model')} are given; use compare-models or best-model")  # fmt: skip
    if design.votes > 1:
        raise InputError("votes: several models are compared on one answer per item; leave votes at 1")
    if not isinstance(design.by, Everything | Predicted | Disagreement):
        raise InputError(f"by: goal {design.goal.name} is about all items, and chooses those on which models disagree; leave by out, and compare per group with the labels afterwards")  # fmt: skip
    return replace(design, by=Disagreement(), bins=Bins(1))
