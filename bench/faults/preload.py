"""Everything that the verbs need, so that a process which is forked from here starts at once."""

import pandas  # noqa: F401

import fewlabels.cli.verbs.ask
import fewlabels.cli.verbs.assess
import fewlabels.cli.verbs.importing
import fewlabels.cli.verbs.label
import fewlabels.cli.verbs.tell
import fewlabels.cli.verbs.watch
import fewlabels.reporting.html
import fewlabels.sessions.session
import fewlabels.web.server  # noqa: F401
