"""Names of arms, and values that several arms share."""

from collections.abc import Mapping, Sequence

from fewlabels.analyses.surface.result import Arm


def name_values(values: Mapping[str, str]) -> str:
    """Name an arm by its formatted attribute values.

    >>> name_values({"light": "night", "rain": "wet"})
    'light=night, rain=wet'
    """
    return ", ".join(f"{attribute}={value}" for attribute, value in values.items())


def find_common(arms: Sequence[Arm]) -> dict[str, str]:
    """Return the values that all arms share, and their names can leave out; nothing for a single arm."""
    if len(arms) < 2:
        return {}
    return {name: value for name, value in arms[0].arm.items() if all(arm.arm[name] == value for arm in arms)}
