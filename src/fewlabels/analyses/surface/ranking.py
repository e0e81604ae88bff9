"""Rank attributes by the scale of their main effects."""

from fewlabels.analyses.surface.result import Surface


def rank_attributes(surface: Surface) -> tuple[str, ...]:
    """Return attributes by decreasing scale of their main effects; in the given order where the model has no scales."""
    scale = {one.attributes[0]: one.scale for one in surface.scales[:-1] if len(one.attributes) == 1}
    return tuple(sorted(surface.attributes, key=lambda name: -scale.get(name, 0.0)))
