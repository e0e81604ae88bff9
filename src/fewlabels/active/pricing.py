"""How prices of labels enter the choice of the next label; whether they do is for each goal to state."""

from typing import Literal, cast

from fewlabels.errors import InputError

Pricing = Literal["divide", "resample"]  # gains are divided by prices; or draws are kept in inverse proportion to them


def get_pricing(goal: object) -> Pricing | None:
    """Return how prices enter the choice of the next label for a goal; None for goals that do not know them."""
    return cast("Pricing | None", getattr(goal, "pricing", None))


def require_pricing(name: str, pricing: Pricing | None, price: str | None) -> None:
    """Refuse prices for a goal whose gains cannot be compared with them."""
    if price is not None and pricing is None:
        raise InputError(
            f"price: goal {name} does not weigh prices: its gain is not a reduction of uncertainty; leave price out"
        )
