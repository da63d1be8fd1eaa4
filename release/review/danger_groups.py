"""Dangers of one cause, in whatever endpoints and stages it has them."""

from collections.abc import Iterable
from dataclasses import dataclass

from release.review.acknowledged import Acknowledgement
from release.review.dangers import Danger
from release.review.report import Judged

ENDPOINT = "ENDPOINT"


@dataclass(frozen=True)
class DangerGroup:
    """Dangers that differ in the endpoint alone; `by` is who acknowledged them, None for nobody."""

    dangers: tuple[Danger, ...]
    by: Acknowledgement | None

    @property
    def message(self) -> str:
        """The sentence of the first."""
        return self.dangers[0].message

    @property
    def others(self) -> list[str]:
        """The endpoints of the others."""
        names = dict.fromkeys(_endpoint(danger) or danger.stage for danger in self.dangers)
        return list(names)[1:]

    @property
    def details(self) -> list[str]:
        """The parts of all."""
        return list(dict.fromkeys(part for danger in self.dangers for part in danger.details))


def grouped(judged: Iterable[Judged]) -> list[DangerGroup]:
    """Return each cause once, those that nobody acknowledged first."""
    groups: dict[tuple[str, str, Acknowledgement | None], list[Danger]] = {}
    for danger, by in judged:
        endpoint = _endpoint(danger)
        sentence = danger.message.replace(endpoint, ENDPOINT) if endpoint else danger.message
        groups.setdefault((danger.rule, sentence, by), []).append(danger)
    every = [DangerGroup(tuple(dangers), by) for (_, _, by), dangers in groups.items()]
    return sorted(every, key=lambda group: group.by is not None)


def _endpoint(danger: Danger) -> str:
    """Return the endpoint or stack by which a danger's subject begins, empty for none."""
    name = danger.subject.partition(".")[0]
    return name if name.startswith(f"{danger.stage}-") else ""
