"""The picture of a stage: its endpoints, their variants and models, and what becomes of each.

HTML that a style sheet arranges, so that it wraps on a phone, is read aloud in its order, and each
endpoint is a link. What changes is told by a sign and a word, and by colour only beside them.
"""

import html
from collections.abc import Iterable
from urllib.parse import quote

from release.review.dangers import Danger
from release.review.endpoint_changes import EndpointChange
from release.review.endpoints import DeclaredEndpoint, DeclaredVariant
from release.review.model_changes import ModelChange
from release.review.report import StageReview

SIGNS = {
    "new": "+",
    "removed": "\N{MINUS SIGN}",
    "renamed": "→",
    "changed": "~",
    "rebuilt": "~",
    "compiled again": "~",
    "unchanged": "=",
    "not compared": "?",
}
"""State of an endpoint, variant or model -> its sign."""

COLOURS = {
    "new": "new",
    "removed": "removed",
    "unchanged": "same",
    "not compared": "same",
}
"""State -> class of the style sheet; every other state is `changed`."""

MOST_SQUARES = 20
"""Instances that are drawn one by one, so that a phone has room for them; the number is beside."""

SIDE, STEP = 10, 13
"""Pixels of an instance's square, and from one to the next."""

STYLE = """
.picture { margin: 1rem 0; }
.picture ul { list-style: none; margin: 0; padding: 0; }
.picture li { overflow-wrap: anywhere; }
.endpoints { display: grid; gap: 1rem; align-items: start;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 22rem), 1fr)); }
.endpoint { border: 1px solid var(--line); border-left: .4rem solid var(--ink);
  border-radius: .5rem; background: var(--card); padding: .8rem 1rem; color: var(--text); }
.new { --ink: var(--new); --tint: var(--new-tint); }
.removed { --ink: var(--removed); --tint: var(--removed-tint); }
.changed { --ink: var(--changed); --tint: var(--changed-tint); }
.same { --ink: var(--same); --tint: var(--same-tint); }
.name { display: flex; flex-wrap: wrap; gap: .3rem .6rem; justify-content: space-between;
  font-size: 1.1rem; font-weight: 600; }
.badge { display: inline-block; background: var(--tint); color: var(--ink);
  border-radius: 1rem; padding: 0 .6rem; font-size: .85rem; font-weight: 600; line-height: 1.6rem; }
.facts, .part, .key { color: var(--quiet); font-size: .9rem; margin: .2rem 0; }
.part { margin: .7rem 0 .3rem; padding-top: .5rem; border-top: 1px solid var(--line);
  font-size: .8rem; letter-spacing: .04em; }
.danger { margin: .2rem 0; font-weight: 600; }
.danger a { color: var(--danger); }
.variant + .variant { margin-top: .6rem; }
.variant del { color: var(--quiet); }
.variant ins { text-decoration: none; font-weight: 600; }
.instances { display: block; max-width: 100%; margin: .3rem 0; }
.instances rect { fill: var(--tint); stroke: var(--ink); }
.instances .held { fill: var(--ink); }
.instances .before { opacity: .45; }
.instances text { fill: var(--text); font-size: 12px; }
.picture .models { display: flex; flex-wrap: wrap; gap: .4rem; }
.model { background: var(--tint); color: var(--ink); border-radius: .4rem; padding: .1rem .5rem;
  font-size: .9rem; }
.key { margin-top: .8rem; }
"""


def render(stage: StageReview) -> str:
    """Return the picture, empty where the stage has no endpoint."""
    if not stage.endpoints:
        return ""
    changed_first = sorted(stage.endpoints, key=lambda it: it.state == "unchanged")
    boxes = "\n".join(_endpoint(stage, it) for it in changed_first)
    label = f"The endpoints of {html.escape(stage.stage)}"
    return (
        f'<figure class="picture" aria-label="{label}">\n<ul class="endpoints">\n{boxes}\n</ul>\n'
        '<figcaption class="key">A filled square is an instance that is always there, an empty one '
        "what scaling may add; a pale row is how it was.</figcaption>\n</figure>\n"
    )


def badge(state: str, text: str = "") -> str:
    """Return a state as its sign and its word, behind `text` where there is one."""
    shown = f"{SIGNS[state]} {f'{text} ' if text else ''}{state}"
    return f'<span class="badge {colour(state)}">{html.escape(shown)}</span>'


def colour(state: str) -> str:
    """Return the class that a state has in the style sheet."""
    return COLOURS.get(state, "changed")


def box(stage: StageReview, endpoint: EndpointChange) -> str:
    """Return the id of an endpoint's box."""
    return html.escape(f"{stage.stage}/{endpoint.name}")


def sentence(stage: StageReview, endpoint: EndpointChange) -> str:
    """Return the id of an endpoint's sentence."""
    return f"{box(stage, endpoint)}/sentence"


def danger_id(danger: Danger) -> str:
    """Return the id of a danger: its key, without what a link may not have in it."""
    return f"danger/{quote(danger.key)}"


def _endpoint(stage: StageReview, endpoint: EndpointChange) -> str:
    name = html.escape(endpoint.name)
    models = [it for it in stage.models if it.endpoint == endpoint.name]
    return "\n".join(
        [
            f'<li class="endpoint {colour(endpoint.state)}" id="{box(stage, endpoint)}">',
            f'<div class="name"><a href="#{sentence(stage, endpoint)}">{name}</a>'
            f"{badge(endpoint.state)}</div>",
            f'<p class="facts">{_facts(endpoint)}</p>',
            *_dangers(stage, endpoint),
            '<p class="part">Variants</p>',
            f"<ul>{''.join(_variants(endpoint))}</ul>",
            '<p class="part">Models</p>',
            f'<ul class="models">{"".join(_models(endpoint, models))}</ul>',
            "</li>",
        ]
    )


def _dangers(stage: StageReview, endpoint: EndpointChange) -> Iterable[str]:
    """Yield a link to each danger of an endpoint that nobody has acknowledged, by its rule."""
    for danger, by in stage.dangers:
        if by is None and f"{danger.subject}.".startswith(f"{endpoint.name}."):
            rule = html.escape(danger.rule.replace("_", " "))
            yield f'<p class="danger"><a href="#{danger_id(danger)}">danger: {rule}</a></p>'


def _facts(endpoint: EndpointChange) -> str:
    before, after = endpoint.pair.before, endpoint.pair.after
    said = [_arrow(*(f"Triton {it.release}" if it else None for it in (before, after)))]
    if endpoint.state == "renamed" and before:
        said.append(f"was {html.escape(before.name)}")
    if endpoint.state == "removed":
        said.append("runs on until its stack is deleted")
    return ", ".join(said)


def _variants(endpoint: EndpointChange) -> Iterable[str]:
    before, after = (
        it.variants if it else {} for it in (endpoint.pair.before, endpoint.pair.after)
    )
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        kinds = (it.instance_type if it else None for it in (old, new))
        counts = (_range(it) if it else None for it in (old, new))
        most = max(it.maximum for it in (old, new) if it)
        yield "\n".join(
            [
                f'<li class="variant {_of_variant(endpoint, old, new)}">',
                f"<div>{html.escape(name)}{_share(name, endpoint)}</div>",
                f"<div>{_arrow(*kinds)}</div>",
                _instances(old, new),
                f"<div>{_arrow(*counts)} instance{'' if most == 1 else 's'}</div>",
                "</li>",
            ]
        )


def _of_variant(
    endpoint: EndpointChange, old: DeclaredVariant | None, new: DeclaredVariant | None
) -> str:
    """Return a variant's colour: the endpoint's own where it comes or goes with it."""
    if endpoint.state in COLOURS:
        return colour(endpoint.state)
    if old is None or new is None:
        return colour("new" if old is None else "removed")
    return colour("unchanged" if old == new else "changed")


def _share(name: str, endpoint: EndpointChange) -> str:
    """Return which part of the requests a variant gets, where there is more than one."""
    shares = [_percent(name, it) for it in (endpoint.pair.before, endpoint.pair.after)]
    return f": {_arrow(*shares)} of requests" if any(it and it != "100 %" for it in shares) else ""


def _percent(name: str, endpoint: DeclaredEndpoint | None) -> str | None:
    if endpoint is None or name not in endpoint.variants:
        return None
    total = sum(it.weight for it in endpoint.variants.values())
    return f"{100 * endpoint.variants[name].weight / total:.3g} %" if total else "0 %"


def _instances(old: DeclaredVariant | None, new: DeclaredVariant | None) -> str:
    """Return the squares of a variant: after, and before where that differs."""
    rows = [("after", new or old)]
    if old and new and (old.minimum, old.maximum) != (new.minimum, new.maximum):
        rows.insert(0, ("before", old))
    drawn = [
        _row(number * STEP, kind, variant)
        for number, (kind, variant) in enumerate(rows)
        if variant is not None
    ]
    most = max(variant.maximum for _, variant in rows if variant is not None)
    width = STEP * (min(most, MOST_SQUARES) + (most > MOST_SQUARES)) + 1
    height = STEP * len(rows)
    return (
        f'<svg class="instances" width="{width}" height="{height}" '
        f'viewBox="-1 -1 {width} {height}" aria-hidden="true">{"".join(drawn)}</svg>'
    )


def _row(y: int, kind: str, variant: DeclaredVariant) -> str:
    squares = [
        f'<rect x="{number * STEP}" y="{y}" width="{SIDE}" height="{SIDE}" rx="2" '
        f'class="{kind}{" held" if number < variant.minimum else ""}"/>'
        for number in range(min(variant.maximum, MOST_SQUARES))
    ]
    if variant.maximum > MOST_SQUARES:
        squares.append(f'<text x="{MOST_SQUARES * STEP}" y="{y + SIDE}">…</text>')
    return "".join(squares)


def _models(endpoint: EndpointChange, models: list[ModelChange]) -> Iterable[str]:
    for it in models:
        state = "not compared" if endpoint.state == "not compared" else str(it.state)
        breaking = ", breaking for clients" if it.breaking else ""
        shown = f"{SIGNS[state]} {it.model}{'' if state == 'unchanged' else f' {state}'}{breaking}"
        yield f'<li class="model {colour(state)}">{html.escape(shown)}</li>'


def _range(variant: DeclaredVariant) -> str:
    if variant.minimum == variant.maximum:
        return str(variant.minimum)
    return f"{variant.minimum} to {variant.maximum}"


def _arrow(before: str | None, after: str | None) -> str:
    """Return what there was and what there will be, once where that is the same."""
    texts = [html.escape(it) for it in (before, after) if it is not None]
    if len({*texts}) == 1:
        return texts[0]
    return f"<del>{texts[0]}</del> → <ins>{texts[1]}</ins>"
