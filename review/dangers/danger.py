"""Dangers, and the grouping of dangers with the same cause."""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from review.acknowledged import RULES, Acknowledgement

REPOSITORY = "repository"
"""Replaces the stage in the key of a danger in a file of the repository."""

MAX_SUBJECTS = 3
"""Maximum number of subjects in a message; of more subjects, the message names only the first."""
MAX_CHANGES = 6
"""Maximum number of changes of one subject in a message."""
MISMATCH = "template and plan differ: "
"""The start of messages that follow from others in most reports."""
MORE = re.compile(r"\band \d+ more[:)]")


@dataclass(frozen=True)
class Danger:
    """A change that needs an acknowledgement in `review/acknowledged.yaml`, by its `key`.

    subject: last part of the key: the affected resource, usually with a digest of the change.
    details: the messages of dangers that were merged into this one.
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
    """Yield the dangers that no other danger explains, with the explained ones as details."""
    root_causes = [_root_cause(danger, dangers) for danger in dangers]
    for danger, root_cause in zip(dangers, root_causes, strict=True):
        if root_cause is danger:
            explained_messages = (
                other.message
                for other, other_cause in zip(dangers, root_causes, strict=True)
                if other_cause is danger and other is not danger
            )
            yield replace(danger, details=(*danger.details, *explained_messages))


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
        heading = _heading([member.message for member in members])
        has_all = len(members) <= MAX_CHANGES and MORE.search(heading) is None
        yield replace(
            members[0],
            subject=f"{group}.{digest(identity)}",
            message=heading,
            details=tuple(
                text
                for member in members
                for text in (*(() if has_all else (member.message,)), *member.details)
            ),
        )


def _heading(messages: list[str]) -> str:
    """Return `TYPE A, B: CHANGE` if the messages differ only in A and B, `A: CHANGES` of one A.

    Of other messages, return the first, and the number of others. Messages are `TYPE A: CHANGE`.
    """
    subjects = [message.partition(": ")[0] for message in messages]
    changes = list(dict.fromkeys(message.partition(": ")[2] for message in messages))
    if all(changes) and len({*subjects}) == 1 and len(changes) <= MAX_CHANGES:
        return f"{subjects[0]}: {'; '.join(changes)}"
    if len(changes) > 1 or not all(changes):
        return f"{messages[0]} (and {len(messages) - 1} more)"
    resource_type = f"{subjects[0].partition(' ')[0]} "
    names = [subjects[0], *(subject.removeprefix(resource_type) for subject in subjects[1:])]
    if len(names) > MAX_SUBJECTS:
        names = [f"{names[0]} and {len(names) - 1} more"]
    return f"{', '.join(dict.fromkeys(names))}: {changes[0]}"


def named(names: Sequence[str]) -> str:
    """Return the first names of a list, and the number of others."""
    more = f" and {len(names) - MAX_SUBJECTS} more" if len(names) > MAX_SUBJECTS else ""
    return f"{', '.join(names[:MAX_SUBJECTS])}{more}"


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
        """The message, the other endpoints, and who acknowledged it."""
        names = dict.fromkeys(danger.endpoint or danger.stage for danger in self.dangers)
        others = f" (also {named([*names][1:])})" if len(names) > 1 else ""
        text = f"{self.first.message}{others}"
        if accepted := self.first.acknowledgement:
            return f"(acknowledged by {accepted.who} until {accepted.until}: {accepted.why}) {text}"
        return f"(advisory) {text}" if self.first.advisory else text

    @property
    def details(self) -> list[str]:
        """The details of all dangers, without those whose change the sentence has.

        A difference from the plan follows from the other changes: the JSON has it.
        """
        details = dict.fromkeys(detail for danger in self.dangers for detail in danger.details)
        return [
            detail
            for detail in details
            if not detail.startswith(MISMATCH)
            and (detail.partition(": ")[2] or detail) not in self.first.message
        ]


def group_across_endpoints(dangers: Iterable[Danger]) -> list[EndpointDangers]:
    """Return dangers grouped across endpoints: the worst first, advice and acknowledged last."""
    groups: dict[tuple[str, str, Acknowledgement | None], list[Danger]] = {}
    for danger in dangers:
        name, sentence = danger.endpoint, danger.message
        if name:
            sentence = sentence.replace(name, "ENDPOINT")
        if danger.stage:
            sentence = re.sub(rf"\b{re.escape(danger.stage)}\b", "STAGE", sentence)
        groups.setdefault((danger.rule, sentence, danger.acknowledgement), []).append(danger)

    def order(group: EndpointDangers) -> tuple[bool, bool, int]:
        first = group.first
        return first.acknowledgement is not None, first.advisory, first.rank

    return sorted(map(EndpointDangers, groups.values()), key=order)
