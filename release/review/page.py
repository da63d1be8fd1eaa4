"""The review as one HTML page that fetches nothing: templates/review.html.j2."""

from jinja2 import Environment, PackageLoader, StrictUndefined

from release.review import picture
from release.review.escaping import REORDERING, bold
from release.review.report import Report
from release.review.shown import Shown

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""Nothing runs or is fetched, whatever the texts of a review were made to say."""


def render(report: Report) -> str:
    """Return the page."""
    environment = Environment(
        loader=PackageLoader("release.review"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
    )
    environment.filters["bold"] = bold
    template = environment.get_template("review.html.j2")
    page = template.render(shown=Shown(report), report=report, policy=POLICY, picture=picture)
    return page.translate(REORDERING)
