"""A few figures that tell these predictions from others, so that a session does not go on with the wrong table.

Made of what every engine counts alike: a fingerprint outlives engines and their versions. Labels do not enter.
"""

from hashlib import sha256
from typing import Any

from fewlabels.table.names import MISSING, as_name
from fewlabels.table.predictions import Predictions, Value

LARGE = 10_000_000  # items; of more, a part is looked at one by one instead of all ids letter by letter
SHOWN = 4096  # about how many such a part has


def fingerprint(pool: Predictions, key: Value | None = None) -> dict[str, Any]:
    """Return the figures; `key` is the group of an item, where that should stay the same too."""
    if pool.has_whole_ids and pool.roles.id and pool.n_items > LARGE:
        return _look_at_part(pool, key)
    name = pool.name
    facts = {"n_items": pool.items.count(), "first": name.min(), "last": name.max(), "length": name.length().sum()}
    if not pool.roles.id:
        facts = {"n_items": pool.items.count()}
    if pool.has("score"):
        facts["score"] = pool.score.sum()
    found = pool.measure(facts)
    said = _find_said(pool)
    if said is not None:
        counts = pool.count_by({"predicted": said}, {})
        found["predicted"] = dict(sorted(zip(counts["predicted"], counts["n"], strict=True)))
    for word, value in (("said", said), ("placed", key)):
        if value is not None and pool.roles.id:
            found[word] = dict(sorted(_mark(pool, value).items()))
    return found


def _look_at_part(pool: Predictions, key: Value | None) -> dict[str, Any]:
    """Take the same items out of a large table every time, and make one figure of all that is said of them."""
    said = _find_said(pool)
    part = pool.take_part(pool.n_items // SHOWN)
    values = {"id": pool.id, "said": said, "placed": key, "score": pool.score if pool.has("score") else None}
    found = part.pull({name: value for name, value in values.items() if value is not None})
    rows = sorted(zip(*found.values(), strict=True))
    return {"n_items": pool.n_items, "part": sha256(repr(rows).encode()).hexdigest()}


def _find_said(pool: Predictions) -> Value | None:
    """The predicted class as its owner wrote it: what flags are called here may depend on the labels."""
    if not pool.has("predicted") or pool.has("agreement") or pool.roles.positive_score:
        return None
    return as_name(pool.items[pool.roles.predicted]) if pool.roles.predicted else pool.predicted


def _mark(pool: Predictions, key: Value) -> dict[str, int]:
    """Add up, for every value of a key, small numbers made of the ids of its items: others are there, another sum."""
    codes = [pool.name.right(i).left(1).ascii_str().cast("int64") for i in (1, 2, 3)]
    mark = (codes[0] + 3 * codes[1] + 11 * codes[2]) % 101
    found = pool.count_by({"key": key}, {"mark": mark.sum()})
    return {
        MISSING if value is None else str(value): int(total)
        for value, total in zip(found["key"], found["mark"], strict=True)
    }
