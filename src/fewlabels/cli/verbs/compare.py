"""`fewlabels compare`: the difference between two groups of one model, or between several models on the same items."""

from pathlib import Path

from fewlabels.analyses.assess import compare as compare_groups
from fewlabels.analyses.models.api import compare_models
from fewlabels.cli.console import spinner
from fewlabels.cli.model_files import name_models
from fewlabels.cli.model_tables import print_model_comparison
from fewlabels.cli.options import STDIN, AssessOptions, Columns, File, Flag, Names, Output
from fewlabels.cli.output import write_result
from fewlabels.cli.tables import print_comparison
from fewlabels.data.groups import everything
from fewlabels.data.parsing import parse_pair
from fewlabels.errors import InputError

GROUPS_ROPE, MODELS_ROPE = 0.05, 0.01


def compare(
    file: File,
    /,
    *more: File,
    groups: str | None = None,
    models: Names = (),
    model: str | None = None,
    unpaired: Flag = False,
    reference: str | None = None,
    rope: float | None = None,
    confidence: float = 0.95,
    options: AssessOptions = AssessOptions(),
    output: Output = Output(),
    columns: Columns = Columns(),
) -> int:
    """Estimate how much two groups differ, or several models on the same items, and whether the difference matters.

    One file with --groups compares two groups. Several files compare models: the files are joined by id, and
    differences are of the later model minus the earlier one.

    Parameters
    ----------
    file: str
        Predictions: Parquet, CSV(.gz), JSON lines or Arrow; or a quoted glob. Or a language model's log: samples of lm-evaluation-harness or Inspect.
    more: str
        Predictions of further models on the same items.
    groups: str
        The two groups, separated by a comma: human,trees.
    models: str
        Names of the models, separated by commas: of the files, in their order [default: from the file names]; or of one file with columns predicted_NAME, score_NAME, p_NAME_CLASS.
    model: str
        Column of one file that names the model of each row; ids repeat.
    unpaired: bool
        Compare files of different items, each by its own labels.
    reference: str
        A group of --by: also compare how far the metric of every other group is from it, by model (fairness gaps).
    rope: float
        Differences up to this size do not matter (region of practical equivalence) [default: 0.05 for groups, 0.01 for models].
    confidence: float
        Probability a verdict needs; below it, the answer is "not settled".
    """
    files = (file, *more)
    conditions = output.conditions(*files, columns.labels, options.cost, options.prior)
    if groups is not None:
        if more or models or model or reference:
            raise InputError(
                "compare: --groups compares two groups of one model; leave it out to compare models, or use --by for their differences per group"
            )
        pair, choices = parse_pair(groups), options.choices()
        with spinner("comparing"):
            result = compare_groups(
                columns.read(file), pair, rope=GROUPS_ROPE if rope is None else rope, confidence=confidence, **choices
            )
        return write_result(result, output, conditions, lambda out: print_comparison(out, result))
    if not (more or models or model):
        raise InputError(
            f"compare: name two groups with --groups human,trees; or, to compare models, give a second file, or name the models of {Path(file).name} with --models old,new or --model COLUMN"
        )
    _refuse_idle_options(model if more else None, options.m)
    if STDIN in files:
        raise InputError("compare: models are compared from files: save standard input to one")
    choices = {"by": everything} | options.choices()
    del choices["m"]
    pools = name_models(files, models) if more else file
    with spinner("comparing"):
        found = compare_models(
            pools, models=None if more else models or None, model=model, unpaired=unpaired, reference=reference, labels=columns.labels, rope=MODELS_ROPE if rope is None else rope,
            confidence=confidence, **choices, **columns.roles(),
        )  # fmt: skip
    return write_result(found, output, conditions, lambda out: print_model_comparison(out, found))


def _refuse_idle_options(model: str | None, m: int) -> None:
    """Refuse options of `compare` that say nothing about a comparison of models in several files."""
    if model is not None:
        raise InputError(
            "compare: --model names a column of one file, and several are given; leave it out, or give one file"
        )
    if m != 1:
        raise InputError("compare: --m is about the worst groups of one model; leave it out to compare models")
