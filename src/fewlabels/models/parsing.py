"""Parse words for priors, as written on the command line and in Python; objects are returned unchanged."""

from collections.abc import Callable, Sequence

from fewlabels.data.parsing import split_names
from fewlabels.errors import InputError, format_option, require_instance
from fewlabels.models.calibrated.prior import calibrated
from fewlabels.models.earlier import from_earlier
from fewlabels.models.priors import Prior, flat, from_scores
from fewlabels.models.smooth import smooth

DEFAULT_PRIOR = "calibrated"


def resolve_prior(prior: Prior | str | None) -> Prior:
    """Parse a prior given as a word or as the path of an earlier assessment; None is the default.

    >>> resolve_prior("flat").name, resolve_prior(None).name
    ('flat', 'calibrated')
    """
    if prior is None or isinstance(prior, str):
        return parse_prior(DEFAULT_PRIOR if prior is None else prior)
    return require_instance("prior", prior, "before", "fl.flat()")


def resolve_priors(priors: Prior | str | Sequence[Prior | str]) -> tuple[Prior, ...]:
    """Parse one or several priors; words may be separated by commas.

    >>> [prior.name for prior in resolve_priors("flat,scores")]
    ['flat', 'scores']
    """
    several = split_names(priors) if isinstance(priors, str) else priors
    return tuple(map(resolve_prior, several if isinstance(several, Sequence) else (several,)))


def parse_prior(text: str, strength: float | None = None, discount: float | None = None) -> Prior:
    """Parse the name of a prior, or the JSON file of an earlier assessment, discounted."""
    learned: dict[str, Callable[[], Prior]] = {"calibrated": calibrated, "smooth": smooth}
    if discount is not None and text in (*learned, "flat", "scores"):
        raise InputError(
            f"{format_option('discount')} needs {format_option('prior', 'EARLIER.json')}: it says what a label of an earlier assessment counts for"
        )
    if text == "flat":
        return flat(strength)
    if text == "scores":
        return from_scores(strength)
    if strength is not None:
        raise InputError(
            f"{format_option('strength')} needs {format_option('prior')} flat or scores; other priors set their own strength"
        )
    if text in learned:
        return learned[text]()
    return from_earlier(text) if discount is None else from_earlier(text, discount)
