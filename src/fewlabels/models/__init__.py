"""Statistical models: from a prior and counts to a posterior.

`posterior` combines them; `calibrated` (built on `logit`) and `smooth` (built on `additive`) are priors that are fitted to
all labels; `membership` models uncertain attributes, `annotators` models votes.
"""
