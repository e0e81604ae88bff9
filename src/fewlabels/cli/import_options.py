"""Options of the verbs that read files of answers: `import` and `watch`."""

from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter

from fewlabels.cli.options import Flag
from fewlabels.cli.session_files import Who
from fewlabels.data.label_join import CANNOT_TELL
from fewlabels.sessions.exchange.importer import ImportSettings


@Parameter(name="*")
@dataclass(frozen=True)
class ImportOptions(ImportSettings):
    """How to read answers from files."""

    who: Who = ""
    "Annotator of rows that do not name one."
    new_classes: Flag = False
    "Accept labels that are not yet classes of the session."
    cannot_tell: Annotated[str, Parameter(show_default=True)] = CANNOT_TELL
    "The label that means: cannot tell."
