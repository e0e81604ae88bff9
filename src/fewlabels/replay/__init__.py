"""What would labelling have cost? Replays of active assessment on pools whose labels are all known."""

from fewlabels.replay.planning import Plan, plan
from fewlabels.replay.simulation import Simulation, simulate

__all__ = ["Plan", "Simulation", "plan", "simulate"]
