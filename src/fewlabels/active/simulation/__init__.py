"""Simulation of active labelling: replays on fully labelled pools, and planning on simulated labels."""
