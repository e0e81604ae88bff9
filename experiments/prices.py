"""The two cost matrices of the paper on CIFAR-100: mistakes about people, and mistakes across superclasses, cost more."""

from collections.abc import Callable, Mapping

import fewlabels as fl
from experiments.pools import PEOPLE
from fewlabels.metrics.metric import Cost

Superclasses = Mapping[str, str]
Price = Callable[[Superclasses, float], Cost]


def price_people(superclass: Superclasses, factor: float) -> Cost:
    """To take a person for something else costs `factor`, every other mistake 1."""
    return _fill(superclass, lambda true, said: factor if true == PEOPLE != said else 1.0)


def price_superclasses(superclass: Superclasses, factor: float) -> Cost:
    """To take a thing for one of another superclass costs `factor`, every other mistake 1."""
    return _fill(superclass, lambda true, said: factor if true != said else 1.0)


def _fill(superclass: Superclasses, price: Callable[[str, str], float]) -> Cost:
    return fl.cost(
        {
            true: {said: 0.0 if said == true else price(superclass[true], superclass[said]) for said in superclass}
            for true in superclass
        }
    )


MATRICES: dict[str, Price] = {"human": price_people, "superclass": price_superclasses}
