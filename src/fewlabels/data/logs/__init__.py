"""Convert evaluation logs of language models to columns with roles.

Two formats are recognised by content: samples of lm-evaluation-harness (`--log_samples`) and logs of Inspect. The
answers to multiple-choice questions become classes: predicted, label and, if logged, probabilities. Other outputs are
graded: the grade of the harness becomes the agreement.
"""
