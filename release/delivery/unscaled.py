"""A stack on its way from a scaled variant to one of other instances, or to none."""

from dataclasses import dataclass

from release.delivery.assembly import StackEndpoint
from release.delivery.declared import scaled_variants_that_change, without_scaling
from release.tree import Template


@dataclass(frozen=True)
class Unscaled:
    """Variants that are not scaled while their stack changes from `live`: it is `without` first."""

    endpoint: StackEndpoint
    names: tuple[str, ...]
    live: Template
    without: Template

    @property
    def variants(self) -> str:
        """The variants, as a line says them."""
        return f"variant {', '.join(self.names)}"

    @property
    def left(self) -> str:
        """What to say where scaling may not have been brought back."""
        return (
            f"{self.endpoint.name}: {self.variants} may run without scaling, with the instances "
            "that it has, until the stage is delivered again"
        )


def unscaled(endpoint: StackEndpoint, live: Template, new: Template) -> Unscaled | None:
    """Return how a stack is in between, None where no scaled variant changes."""
    names = scaled_variants_that_change(live, new)
    if not names:
        return None
    return Unscaled(endpoint, tuple(names), live, without_scaling(live, names))
