"""Active labelling: goals, policies, what one more label is worth, and simulations of the whole loop."""
