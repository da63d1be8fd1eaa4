"""Dangers, and the grouping of dangers with the same cause."""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from review.acknowledged import RULES, Acknowledgement
from review.values import first_names

REPOSITORY = "repository"
"""Replaces the stage in the key of a danger in a file of the repository."""

MAX_CHANGES = 8
"""Maximum number of changes in a message, and of its consequences."""
MAX_PLACES = 20
"""Maximum number of other endpoints and stages with the same danger."""
_ENVIRONMENT = re.compile(
    r"\$\{AWS::(AccountId|Region|Partition)\}|\b\d{12}\b|\b[a-z]{2}(-[a-z]+)+-\d\b"
)
"""Account, region and partition, which stages write in different ways."""
_NUMBER = re.compile(r"\d[\d,.]*")
MISMATCH = "template and plan differ: "
"""The start of messages that follow from others in most reports."""


@dataclass(frozen=True)
class Danger:
    """A change that needs an acknowledgement in `review/acknowledged.yaml`, by its `key`.

    subject: last part of the key: the affected resource, usually with a digest of the change.
    details: the messages of the dangers of its group.
    consequences: the messages of dangers of which this one is the cause, and other changes of a
        file.
    group: dangers with the same rule and group are merged.
    place: the changed property; of several dangers in one place, the worst explains the others.
    resource: the beginning of the subjects of other dangers, one of which explains this one.
    advisory: whether it needs no acknowledgement.
    explains: function that returns whether this danger is the cause of another danger, which is
        then merged into this one.
    """

    subject: str
    message: str
    rule: str = ""
    stage: str = ""
    details: tuple[str, ...] = ()
    consequences: tuple[str, ...] = ()
    group: str = ""
    place: str = ""
    resource: str = ""
    advisory: bool = False
    explains: "Callable[[Danger], bool] | None" = None
    acknowledgement: Acknowledgement | None = None

    @property
    def key(self) -> str:
        """STAGE/RULE/SUBJECT, for acknowledgements."""
        return f"{self.stage}/{self.rule}/{self.subject}"

    @property
    def rank(self) -> int:
        """The position of the rule, from the worst."""
        return RULES.index(self.rule)

    @property
    def endpoint(self) -> str:
        """The endpoint or stack at the start of the subject, empty for another subject."""
        name = self.subject.partition(".")[0]
        return name if name.startswith(f"{self.stage}-") else ""


def digest(text: str | bytes) -> str:
    """Return a digest of a text for a key, so that an acknowledgement covers only this text.

    128 bits: nobody finds two texts of one digest, of which one is harmless.
    """
    content = text.encode(errors="replace") if isinstance(text, str) else text
    return hashlib.sha256(content).hexdigest()[:32]


def merge_explained(dangers: list[Danger]) -> Iterator[Danger]:
    """Yield the dangers that no other danger explains, with the explained ones as consequences."""
    root_causes = [_root_cause(danger, dangers) for danger in dangers]
    for danger, root_cause in zip(dangers, root_causes, strict=True):
        if root_cause is danger:
            explained_messages = (
                other.message
                for other, other_cause in zip(dangers, root_causes, strict=True)
                if other_cause is danger and other is not danger
            )
            yield replace(danger, consequences=(*danger.consequences, *explained_messages))


def _root_cause(danger: Danger, dangers: list[Danger]) -> Danger:
    """Return the end of the chain of `explains`, which can be the danger itself."""
    causes = (
        other
        for other in dangers
        if (other.explains and other.explains(danger))
        or (danger.place and other.place == danger.place and other.rank < danger.rank)
        or (danger.resource and f"{other.subject}.".startswith(f"{danger.resource}."))
    )
    cause = next((other for other in causes if other is not danger), None)
    return _root_cause(cause, dangers) if cause else danger


def merge_groups(dangers: Iterable[Danger]) -> Iterator[Danger]:
    """Yield one danger for each group; its key depends on all members."""
    groups: dict[tuple[str, str], list[Danger]] = {}
    for danger in dangers:
        groups.setdefault((danger.rule, danger.group or danger.subject), []).append(danger)
    for (_, group), members in groups.items():
        if len(members) == 1:
            yield members[0]
            continue
        identity = "\n".join(f"{member.subject} {member.message}" for member in members)
        yield replace(
            members[0],
            subject=f"{group}.{digest(identity)}",
            message=_heading([member.message for member in members]),
            details=tuple(member.message for member in members),
            consequences=tuple(text for member in members for text in member.consequences),
        )


def _heading(messages: list[str]) -> str:
    """Return `TYPE A, B: CHANGE; C: OTHER CHANGE` of messages `TYPE A: CHANGE`."""
    subjects_by_change: dict[str, list[str]] = {}
    for message in messages:
        subject, is_named, change = message.partition(": ")
        subjects_by_change.setdefault(f"{is_named}{change}", []).append(subject)
    texts: list[str] = []
    for change, subjects in subjects_by_change.items():
        if not change:  # each message is a sentence
            texts += dict.fromkeys(subjects)
            continue
        resource_type = f"{subjects[0].partition(' ')[0]} "
        names = [subjects[0], *(name.removeprefix(resource_type) for name in subjects[1:])]
        names = [*dict.fromkeys(names)]
        shown = ", ".join(names) if len(names) <= MAX_CHANGES else first_names(names)
        texts.append(f"{shown}{change}")
    more = f"; {len(texts) - MAX_CHANGES} more" if len(texts) > MAX_CHANGES else ""
    return f"{joined(texts[:MAX_CHANGES])}{more}"


def joined(texts: Sequence[str]) -> str:
    """Return texts after semicolons; the words with which all of them begin are there once."""
    rows = [text.split(" ") for text in texts]
    common = takewhile(lambda words: len({*words}) == 1, zip(*rows, strict=False))
    count = sum(1 for _ in common)
    return "; ".join((texts[0], *(" ".join(row[count:]) for row in rows[1:])))


@dataclass(frozen=True)
class EndpointDangers:
    """Dangers that differ only in endpoint or stage, and have the same acknowledgement."""

    dangers: list[Danger]

    @property
    def first(self) -> Danger:
        """The danger whose message represents all."""
        return self.dangers[0]

    @property
    def is_open(self) -> bool:
        """Whether it needs an acknowledgement, and has none."""
        return not self.first.advisory and self.first.acknowledgement is None

    @property
    def is_advice(self) -> bool:
        """Whether it needs no acknowledgement, and has none."""
        return self.first.advisory and self.first.acknowledgement is None

    @property
    def sentence(self) -> str:
        """The message with its consequences, the other endpoints, and who acknowledged it.

        A difference from the plan follows from the other changes: the JSON has it.
        """
        first = self.first
        others = (danger for danger in self.dangers[1:] if self._has_own_words(danger))
        messages = [first.message, *dict.fromkeys(danger.message for danger in others)]
        if consequences := self._consequences:
            messages.append(_heading(consequences))
        names = self._other_places
        places = f" (also {first_names(names, MAX_PLACES)})" if names else ""
        text = f"{joined(messages)}{places}"
        if accepted := first.acknowledgement:
            return f"(acknowledged by {accepted.who} until {accepted.until}: {accepted.why}) {text}"
        return f"(advisory) {text}" if first.advisory else text

    @property
    def _consequences(self) -> list[str]:
        """The consequences, without what the message tells; each kind only of one danger."""
        message = self.first.message
        texts: dict[str, None] = {}
        dangers_by_kind: dict[str, Danger] = {}
        for danger in self.dangers:
            for text in danger.consequences:
                is_told = " -> " in text and text.partition(": ")[2] in message
                if text.startswith(MISMATCH) or is_told:
                    continue
                if dangers_by_kind.setdefault(_kind(text, danger), danger) is danger:
                    texts[_without_change(text, message)] = None
        return [*texts]

    @property
    def _other_places(self) -> list[str]:
        """The other endpoints and stages of which the message is true."""
        first, *others = self.dangers
        names = dict.fromkeys(
            danger.endpoint or danger.stage for danger in others if not self._has_own_words(danger)
        )
        return [name for name in names if name != (first.endpoint or first.stage)]

    def _has_own_words(self, danger: Danger) -> bool:
        """Return whether a message differs by more than the names in it."""
        return _kind(danger.message, danger) != _kind(self.first.message, self.first)


def group_across_endpoints(dangers: Iterable[Danger]) -> list[EndpointDangers]:
    """Return dangers grouped across endpoints: the worst first, advice and acknowledged last."""
    groups: dict[tuple[str, str, Acknowledgement | None], list[Danger]] = {}
    for danger in dangers:
        kind = _NUMBER.sub("0", _kind(danger.message, danger))
        key = danger.rule, kind, danger.acknowledgement
        groups.setdefault(key, []).append(danger)

    def order(group: EndpointDangers) -> tuple[bool, bool, int]:
        first = group.first
        return first.acknowledgement is not None, first.advisory, first.rank

    return sorted(map(EndpointDangers, groups.values()), key=order)


def _without_change(text: str, message: str) -> str:
    """Return a consequence without the change at its end, PATH: BEFORE -> AFTER, if it is told."""
    parts = text.split(": ")
    for count in range(2, len(parts)):
        change = ": ".join(parts[count:])
        if " -> " in change and change in message:
            return ": ".join(parts[:count])
    return text


def _kind(message: str, danger: Danger) -> str:
    """Return a message without the names of endpoint and stage, and of resources of a type."""
    if danger.endpoint:
        message = message.replace(danger.endpoint, "ENDPOINT")
    if danger.stage:
        message = re.sub(rf"\b{re.escape(danger.stage)}\b", "STAGE", message)
    message = _ENVIRONMENT.sub("HERE", message)
    subject, _, change = message.partition(": ")
    if change.startswith("the condition "):
        return f"{subject.partition(' on ')[0]}: {change}"
    kind = subject.partition(" ")[0]
    return f"{kind}: {change}" if change and "::" in kind else message
