"""Which attributes matter most."""

from fewlabels.analyses.surface.result import Surface


def rank_attributes(surface: Surface) -> tuple[str, ...]:
    """Return attributes, those that move accuracy furthest first; as they were given where the model does not say."""
    scale = {one.attributes[0]: one.scale for one in surface.scales[:-1] if len(one.attributes) == 1}
    return tuple(sorted(surface.attributes, key=lambda name: -scale.get(name, 0.0)))
