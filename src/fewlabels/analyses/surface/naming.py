"""What arms are called, and what several of them have in common."""

from collections.abc import Mapping, Sequence

from fewlabels.analyses.surface.result import Arm


def name_values(values: Mapping[str, str]) -> str:
    """Say which values attributes have.

    >>> name_values({"light": "night", "rain": "wet"})
    'light=night, rain=wet'
    """
    return ", ".join(f"{attribute}={value}" for attribute, value in values.items())


def find_common(arms: Sequence[Arm]) -> dict[str, str]:
    """Return the values that all of several arms have; a single arm has nothing in common with others."""
    if len(arms) < 2:
        return {}
    return {name: value for name, value in arms[0].arm.items() if all(arm.arm[name] == value for arm in arms)}
