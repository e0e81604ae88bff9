"""Everything that the verbs need, so that a process which is forked from here starts at once."""

import pandas  # noqa: F401

import fewlabels.cli.ask
import fewlabels.cli.assess
import fewlabels.cli.importing
import fewlabels.cli.label
import fewlabels.cli.tell
import fewlabels.cli.watch
import fewlabels.report
import fewlabels.session
import fewlabels.web.server  # noqa: F401
