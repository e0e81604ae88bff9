"""Parse words for priors, as written on the command line and in Python; objects are returned unchanged."""

from collections.abc import Callable, Sequence

from fewlabels.data.parsing import split_names
from fewlabels.errors import InputError, format_option, require_instance
from fewlabels.models.calibrated.prior import calibrated
from fewlabels.models.priors import Prior, flat, from_earlier, from_scores
from fewlabels.models.smooth import smooth

DEFAULT_PRIOR = "calibrated"


def resolve_prior(prior: Prior | str | None) -> Prior:
    """Return a prior given as a word, as the path of an earlier assessment, or as an object; None is the default.

    >>> resolve_prior("flat").name, resolve_prior(None).name
    ('flat', 'calibrated')
    """
    if prior is None or isinstance(prior, str):
        return parse_prior(DEFAULT_PRIOR if prior is None else prior)
    return require_instance("prior", prior, "before", "fl.flat()")


def resolve_priors(priors: Prior | str | Sequence[Prior | str]) -> tuple[Prior, ...]:
    """Return one or several priors; words may be separated by commas.

    >>> [prior.name for prior in resolve_priors("flat,scores")]
    ['flat', 'scores']
    """
    several = split_names(priors) if isinstance(priors, str) else priors
    return tuple(map(resolve_prior, several if isinstance(several, Sequence) else (several,)))


def parse_prior(text: str, strength: float | None = None) -> Prior:
    """Return the prior with this name, or the one in the JSON file of an earlier assessment."""
    if text == "flat":
        return flat(strength)
    if text == "scores":
        return from_scores(strength)
    if strength is not None:
        raise InputError(
            f"{format_option('strength')} needs {format_option('prior')} flat or scores; other priors set their own strength"
        )
    learned: dict[str, Callable[[], Prior]] = {"calibrated": calibrated, "smooth": smooth}
    return learned[text]() if text in learned else from_earlier(text)
