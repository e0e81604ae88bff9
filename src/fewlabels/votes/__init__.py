"""Several people say what an item is, and none is always right: what they agree on, how good each is, what is true.

Pure functions of a Poll. The session floors above turn ballots into one, and what it teaches into counts.
"""

from fewlabels.votes.agreement import Agreement, measure_agreement
from fewlabels.votes.chain import Schedule, weigh
from fewlabels.votes.poll import NONE, Poll
from fewlabels.votes.verdict import Annotator, Truth, Verdict

__all__ = ["NONE", "Agreement", "Annotator", "Poll", "Schedule", "Truth", "Verdict", "measure_agreement", "weigh"]
