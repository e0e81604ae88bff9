"""Active labelling: goals, policies, acquisition (the value of one more label) and simulation of the loop."""
