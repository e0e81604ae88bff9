"""Read the predictions of one model or of several: several files, one wide file or one long file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

from cyclopts import Parameter

from fewlabels.cli.options import COLUMN_GROUP, Columns, Names
from fewlabels.data.model_join import LAYOUTS, open_models
from fewlabels.data.predictions import Predictions
from fewlabels.errors import InputError, count


def name_models(files: Sequence[str], names: Sequence[str] = ()) -> dict[str, str]:
    """Name models by their files; files of the same name get their folder's name too.

    >>> name_models(["old.parquet", "new.parquet"])
    {'old': 'old.parquet', 'new': 'new.parquet'}
    >>> list(name_models(["a/preds.csv", "b/preds.csv"]))
    ['a/preds', 'b/preds']
    """
    if names and len(names) != len(files):
        raise InputError(f"models: {count(len(names), 'name')} for {count(len(files), 'file')}; give one name per file")
    found = list(names) or _shorten_paths([PurePath(file).parts for file in files])
    twice = next((name for name in found if found.count(name) > 1), None) if len(found) < 1000 else None
    if twice is not None:
        raise InputError(f"models: {twice!r} is named twice; give two different files, and names with --models old,new")
    return dict(zip(found, files, strict=True))


@Parameter(name="*", group=COLUMN_GROUP)
@dataclass(frozen=True)
class ModelOptions:
    """Where the predictions of several models are."""

    models: Names = ()
    "Names of several models, separated by commas: of the files, in their order [default: from the file names]; or of one file with columns predicted_NAME, score_NAME, p_NAME_CLASS."
    model: str | None = None
    "Column of one file that names the model of each row; ids repeat."

    def fill(self, given: Mapping[str, Any]) -> "ModelOptions":
        """Return these options, or where one file has the models of a session if none is typed."""
        layout = {name: given[name] for name in LAYOUTS if name in given}
        return replace(self, **layout) if self == ModelOptions() else self

    def read(self, files: Sequence[str], columns: Columns) -> Predictions:
        """Read the predictions of one model, or join those of several."""
        if len(files) == 1 and not self.models and self.model is None:
            return columns.read(files[0])
        pools = name_models(files, self.models) if len(files) > 1 else files[0]
        names = None if len(files) > 1 else self.models or None
        return open_models(pools, models=names, model=self.model, labels=columns.labels, **columns.roles())


def _shorten_paths(paths: Sequence[tuple[str, ...]]) -> list[str]:
    """Return the last parts of models' file paths, as few as tell them apart, without endings."""
    stems = [(*parts[:-1], parts[-1].split(".")[0] or parts[-1]) for parts in paths]
    for depth in range(1, max(map(len, stems)) + 1):
        names = ["/".join(stem[-depth:]) for stem in stems]
        if len(set(names)) == len(names):
            return names
    return names
