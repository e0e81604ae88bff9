"""Labelled items on which the models disagree: what each predicted, and which class was right."""

from fewlabels.analyses.models.result import DisagreedItem
from fewlabels.data.groups import Groups
from fewlabels.data.joint_predictions import JointPredictions

MOST = 100  # items that a report lists


def list_disagreements(pool: JointPredictions, by: Groups, most: int = MOST) -> tuple[DisagreedItem, ...]:
    """List the first labelled items on which the models disagree: not all predict the same class."""
    said = [pool.predicted_by(i) for i in range(len(pool.models))]
    differ = said[1] != said[0]
    for one in said[2:]:
        differ = differ | (one != said[0])
    cut = by.cut(pool)
    shown = {f"predicted_{i}": one for i, one in enumerate(said)} | {
        f"key_{i}": key for i, key in enumerate(cut.keys.values())
    }
    found = pool.find_items(differ & pool.label.notnull(), most=most, id=pool.name, label=pool.label, **shown)
    n = len(found["id"])
    keys = [found[f"key_{i}"] for i in range(len(cut.keys))]
    keys = [
        [facet.blank if value is None else value for value in column]
        for facet, column in zip(cut.facets, keys, strict=True)
    ]
    groups = [cut.name(key) for key in zip(*keys, strict=True)] if keys else ["all"] * n
    return tuple(
        DisagreedItem(
            found["id"][i], groups[i], found["label"][i], tuple(found[f"predicted_{j}"][i] for j in range(len(said)))
        )
        for i in range(n)
    )
