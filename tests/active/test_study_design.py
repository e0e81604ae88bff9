"""One value holds all choices of a study, whoever asks for it."""

import pytest

import fewlabels as fl
from fewlabels.active.parsing import resolve_design
from fewlabels.active.study_design import StudyDesign

CHOICES = {"by": "site", "policy": None, "prior": "flat", "bins": "equal-mass:4", "level": 0.9, "seed": 3}


def test_words_and_objects_make_the_same_design() -> None:
    goal = fl.FindWorst("recall", m=2)
    found = resolve_design(goal, **CHOICES)
    bins = fl.bins(4, equal_mass=True)
    assert found == StudyDesign(goal, fl.column("site"), fl.multi_play, fl.flat(), 0.9, bins=bins, seed=3)


def test_an_assessment_takes_the_options_of_the_study() -> None:
    design = resolve_design(fl.FindWorst(m=2), **CHOICES)
    spec = design.specify_assessment(fl.recall)
    assert (spec.metric, spec.prior, spec.level, spec.m, spec.seed) == (fl.recall, fl.flat(), 0.9, 2, 3)


@pytest.mark.parametrize(("choice", "why"), [({"level": 1.0}, "level is 1.0"), ({"seed": -1}, "seed is -1")])
def test_sessions_plans_and_simulations_refuse_the_same_choices(choice: dict[str, float], why: str) -> None:
    pool = {"id": [1, 2], "predicted": ["a", "b"], "label": ["a", "a"]}
    for call in (fl.simulate, fl.plan, lambda *a, **k: fl.Session.create(None, *a, **k)):
        with pytest.raises(fl.InputError, match=why):
            call(pool, goal="estimate", **choice)
