"""Statistical models: a prior and counts become a posterior.

`posterior` combines them; `calibrated` (built on `logit`) and `smooth` (built on `additive`) are priors that learn from
all labels; `membership` is for uncertain attributes, `annotators` for votes.
"""
