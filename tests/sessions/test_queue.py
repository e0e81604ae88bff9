"""The line of items of a pool too large to list: one pass of the engine, every group served, nothing wrong with it missed."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import ibis.expr.operations as ops
import numpy as np
import pandas as pd
import pytest

import fewlabels as fl
from fewlabels.active.study_design import StudyDesign
from fewlabels.data import checks
from fewlabels.data import fingerprint as fingerprints
from fewlabels.data import sampling as samples
from fewlabels.data.candidates import compute_priority, priority_expression
from fewlabels.data.query_results import fetch_arrow
from fewlabels.errors import InputError
from fewlabels.sessions import queue
from fewlabels.sessions.creation import create_spec
from fewlabels.sessions.opening import require_same_predictions
from fewlabels.sessions.pool_fingerprint import compute_fingerprint
from fewlabels.sessions.spec_file import read_spec, write_spec

N, MOST = 3000, 60
SITE = fl.column("site")


@pytest.fixture(autouse=True)
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take a few thousand items for very many, of which about one in five is picked."""
    monkeypatch.setattr(queue, "MAX_ITEMS", MOST)
    monkeypatch.setattr(samples, "MIN_SAMPLED_POOL", 1000)
    monkeypatch.setattr(samples, "SAMPLE_SIZE", N // 5)
    monkeypatch.setattr(fingerprints, "SUBSET_SIZE", N)


def make(**changes: Any) -> pd.DataFrame:
    """Three groups: two of about 1,500 items, and one of six that no sample need hold."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "id": rng.permutation(N) - N // 2,  # some below zero
            "predicted": rng.choice(["yes", "no"], N),
            "score": rng.uniform(0.5, 1, N),
            "site": np.where(np.arange(N) < 6, "rare", rng.choice(["a", "b"], N)),
            "label": [None, None, None, "yes"] * (N // 4),
        }
    )
    return frame.assign(**changes)


def lay(frame: Any, by: Any = SITE, **choices: Any) -> Any:
    usual = {
        "goal": fl.FindWorst(),
        "policy": fl.thompson,
        "prior": fl.flat(),
    }
    pool = frame if isinstance(frame, fl.Predictions) else fl.Predictions.read(frame)
    return create_spec(pool, StudyDesign(by=by, **usual | choices))


@contextmanager
def overhear(pool: fl.Predictions) -> Iterator[list[Any]]:
    """Note the expressions that are put to the engine."""
    heard: list[Any] = []

    def note(engine: Any, expression: Any) -> Any:
        heard.append(expression)
        return fetch_arrow(engine, expression)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fewlabels.data.relation.fetch_arrow", note)
        yield heard


def test_chances_are_the_same_here_and_in_the_engine() -> None:
    ids = np.array([0, 1, -1, 61, -(2**40), 2**31 - 1, 2**31, 2**62 + 5, -(2**63) + 1])
    pool = fl.Predictions.read({"id": ids, "predicted": ["a"] * len(ids)})
    for seed in range(3):
        there = pool.fetch_columns({"c": priority_expression(pool.id, pool.engine, seed)})["c"]
        assert compute_priority(ids, seed).tolist() == there


def test_one_pass_does_for_counts_ids_candidates_and_fingerprint() -> None:
    pool = fl.Predictions.read(make(site=["a", "b"] * (N // 2)))
    with overhear(pool) as heard:
        lay(pool)
    size, head, aggregated = heard
    assert not pool.engine.compile(size).count("WHERE")  # of Parquet files and the like, known without reading any
    assert "LIMIT 100000" in pool.engine.compile(head)
    assert aggregated.op().find(ops.ArrayCollect)


def test_rare_groups_take_one_pass_more() -> None:
    pool = fl.Predictions.read(make())
    with overhear(pool) as heard:
        lay(pool)
    assert len(heard) == 4
    assert heard[-1].op().find(ops.JoinChain)
    assert not any(e.op().find((ops.Sort, ops.WindowFunction)) for e in heard)


def test_every_group_gets_its_share_of_unlabelled_items() -> None:
    frame = make().set_index("id")
    spec, items = lay(frame.reset_index())
    rows = frame.loc[[int(item.id) for item in items]]
    assert rows.label.isna().all()
    assert rows.index.is_unique
    assert rows.site.tolist() == [spec.tally.groups[item.group] for item in items]
    assert rows.predicted.tolist() == [spec.tally.classes[spec.tally.predicted[item.entry]] for item in items]
    bins = [min(int(10 * score), 9) for score in rows.score]
    assert bins == [int(spec.tally.bin[item.entry]) for item in items]
    open_ = frame[frame.label.isna()].site.value_counts()
    wanted = {site: min(n, int(np.ceil(MOST // 6 + n * MOST / 2 / open_.sum()))) for site, n in open_.items()}
    assert rows.site.value_counts().to_dict() == wanted
    assert wanted["rare"] == open_["rare"]


def test_the_line_follows_from_the_seed_whatever_the_order_of_the_rows() -> None:
    one, same, other = (list(lay(f, seed=s)[1]) for f, s in ((make(), 3), (make()[::-1], 3), (make(), 4)))
    assert one == same
    assert {item.id for item in one} != {item.id for item in other}


def test_over_many_seeds_any_item_may_be_asked_about() -> None:
    """Sixty of 1,100 items, 300 times: an item is never drawn once in 10^7, and 45 times instead of 16 once in 10^9."""
    pool = fl.Predictions.read({"id": range(1100), "predicted": ["a"] * 1100})
    seen = Counter(item.id for seed in range(300) for item in lay(pool, fl.everything, seed=seed)[1])
    assert len(seen) == 1100
    assert max(seen.values()) < 45


def test_a_file_that_was_read_twice_is_refused() -> None:
    with pytest.raises(InputError, match=r"column 'id': id -?\d+ occurs in rows [\d,]+, [\d,]+; every item needs"):
        lay(make().iloc[[*range(N), *range(1000, 1500)]])


def test_where_the_sample_is_thin_ids_get_a_look_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "MAX_EXACT_IDS", 1000)
    monkeypatch.setattr(checks, "ID_SAMPLE_STEP", 2)
    pool = fl.Predictions.read(make(site=["a", "b"] * (N // 2)))
    with overhear(pool) as heard:
        lay(pool)
    assert [bool(e.op().find(ops.CountDistinct)) for e in heard] == [False, False, False, True]


def test_every_missing_id_is_seen() -> None:
    ids = make().id.astype("Int64")
    ids[[7, 70]] = None
    with pytest.raises(InputError, match="column 'id': 2 ids are missing, the first in row 8;"):
        lay(make(id=ids))


def test_what_is_all_but_labelled_is_listed_whole() -> None:
    _, items = lay(make(label=[None] * 50 + ["yes"] * (N - 50)))
    assert sorted(int(item.id) for item in items) == sorted(make().id[:50])


# -- which predictions it was made from -----------------------------------------------------------------------


def reopen(spec: Any) -> Any:
    about, blobs = write_spec(spec)
    return read_spec(json.loads(json.dumps(about)), blobs)


def test_the_same_table_is_known_again_in_any_order_and_with_any_labels() -> None:
    spec = reopen(lay(make(), prior=fl.calibrated())[0])
    for frame in (make(), make()[::-1], make(label=None), make().drop(columns="label")):
        require_same_predictions(spec, fl.Predictions.read(frame), "s.db")


def swap(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    """Let the items exchange what is said of them: nothing that is counted or added up changes."""
    return frame.assign(**{column: frame[column].to_numpy()[::-1]})


OTHERS = {
    "fewer": (make()[1:], "items: 3000 then, 2999 now"),
    "other scores": (make(score=0.7), "sum of scores: "),
    "other predictions": (make(predicted="no"), "how often no, yes is predicted"),
    "exchanged predictions": (swap(make(), "predicted"), "which items get which prediction, score or group"),
    "exchanged scores": (swap(make(), "score"), "which items get which prediction, score or group"),
    "exchanged groups": (swap(make(), "site"), "which items get which prediction, score or group"),
    "exchanged ids": (swap(make(), "id"), "which items get which prediction, score or group"),
}


@pytest.mark.parametrize(("frame", "says"), OTHERS.values(), ids=OTHERS)
def test_another_table_is_refused(frame: pd.DataFrame, says: str) -> None:
    spec = reopen(lay(make())[0])
    with pytest.raises(InputError, match=f"s.db was made from other predictions .*: {says}"):
        require_same_predictions(spec, fl.Predictions.read(frame), "s.db")


def test_flags_are_known_again_whatever_the_labels_are_written_like() -> None:
    flags = make().predicted == "yes"
    bare, labelled = make(predicted=flags, label=None), make(predicted=flags, label=[None, 1, 0, None] * (N // 4))
    assert lay(bare)[0].fingerprint == lay(labelled)[0].fingerprint


def test_a_session_made_before_there_were_samples_still_knows_its_table() -> None:
    made = replace(lay(make())[0], fingerprint=compute_fingerprint(fl.Predictions.read(make()), SITE))
    spec = reopen(made)
    assert set(spec.fingerprint) == {"n_items", "part"}
    require_same_predictions(spec, fl.Predictions.read(make()[::-1]), "s.db")
    with pytest.raises(InputError, match="which items get which prediction, score or group"):
        require_same_predictions(spec, fl.Predictions.read(swap(make(), "score")), "s.db")


def test_no_habit_of_numbering_decides_who_is_drawn() -> None:
    """Five sources take turns: items of all of them are drawn, whatever the seed."""
    pool = make(id=np.arange(N), site="a")
    for seed in range(5):
        turns = Counter(int(item.id) % 5 for item in lay(pool, seed=seed)[1])
        assert len(turns) == 5
        assert max(turns.values()) < MOST / 2


@pytest.mark.parametrize("seed", range(6))
def test_a_repeat_is_found_where_ids_go_by_tens(seed: int) -> None:
    """Of one id in five that is looked at, some are repeated in a file that was read twice."""
    ids = 10 * np.tile(np.arange(N // 2), 2)
    with pytest.raises(InputError, match=r"every item needs"):
        lay(make(id=ids), seed=seed)


def test_a_table_that_has_lost_its_scores_is_another_table() -> None:
    spec, _ = lay(make())
    lost = make()
    lost.loc[lost["predicted"] == "yes", "score"] = None
    with pytest.raises(InputError, match="other predictions"):
        require_same_predictions(spec, fl.Predictions.read(lost), "audit.db")
