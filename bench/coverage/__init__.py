"""Coverage of 95 % intervals of group accuracy: pools, trials, reasons of figures that differ, and truths from the prior."""
