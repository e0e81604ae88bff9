"""`fewlabels doctor`: what is in this file, what is wrong with it, what can be assessed, what to type next?"""

import json as to_json

from fewlabels.cli.options import Columns, Path
from fewlabels.cli.printing import print_diagnosis, printer, working
from fewlabels.cli.words import given
from fewlabels.diagnosis import diagnose


def doctor(file: str, /, *, json: Path = None, columns: Columns = Columns()) -> int:
    """Look a file over: what is in it, what is wrong, what can be assessed, what to type next.

    Parameters
    ----------
    file: str
        Predictions: Parquet, CSV(.gz), JSON lines or Arrow; a glob of them in quotes.
    json: str
        Print JSON instead (-).
    """
    with working("looking"):
        found = diagnose(file, **given(**{name: getattr(columns, name) for name in columns.__dataclass_fields__}))
    if json:
        print(to_json.dumps(found.to_dict(), ensure_ascii=False, indent=2))
    else:
        print_diagnosis(printer(), found)
    return 0 if found.is_sound else 1
