// The moment that is looked at: a line over all lanes and charts, and its values in words.

import { axis, SPAN_S } from "./axis.js";
import { $, each, make, say } from "./elements.js";
import { clock, isOfScaling, many, milliseconds } from "./words.js";

const MARKED = { scaling: "⇕", alarm: "▲", "endpoint rolled back": "↩" };

/** Let the pointer choose a moment; `changed` is called when it has. */
export function followPointer(changed) {
  const timeline = $("timeline");
  timeline.addEventListener("pointermove", (event) => {
    const box = timeline.getBoundingClientRect();
    const place = (event.clientX - box.left - axis.gutter) / (box.width - axis.gutter);
    const moment = place >= 0 && place <= 1 ? Math.floor(axis.begin + place * SPAN_S) : null;
    if (moment !== axis.moment) {
      axis.moment = moment;
      changed();
    }
  });
  timeline.addEventListener("pointerleave", () => {
    axis.moment = null;
    changed();
  });
}

/** Show the moment, and the marks of what happened to the endpoint. */
export function showMoment(endpoint, past) {
  const said = words(endpoint, past);
  say($("readout"), said);
  const timeline = $("timeline");
  timeline.setAttribute("aria-valuetext", said);
  timeline.setAttribute("aria-valuenow", String(SPAN_S - Math.round(axis.end - axis.shown)));
  const cursor = $("cursor");
  cursor.hidden = axis.moment === null;
  cursor.style.left = left(axis.shown + 0.5);
  const marked = past.events.filter(
    (it) => it.kind in MARKED && !isOfScaling(it.message) && it.endpoint === endpoint.name &&
      it.time >= axis.begin && it.time <= axis.end,
  );
  each($("marks"), marked, (it) => it.sequence,
    (it) => make("i", { "data-kind": it.kind, title: it.message }, MARKED[it.kind]),
    (mark, it) => (mark.style.left = left(it.time)));
}

function left(time) {
  const place = Math.max(0, Math.min(1, axis.place(time)));
  return `calc(${axis.gutter}px + ${place} * (100% - ${axis.gutter}px))`;
}

function words(endpoint, past) {
  const second = axis.shown;
  const parts = endpoint.variants.map((variant) => {
    const found = past.ratesOf(endpoint.name, variant.name).find(([at]) => at === second);
    const [, calls, errors, p50, p95] = found ?? [second, 0, 0, null, null];
    const there = past.instancesOf(endpoint.name, variant.name, second)
      .filter((it) => it.since <= second && (it.healthy ?? 0) <= second);
    const models = there.flatMap((it) => [...it.models.values()])
      .filter((it) => it.spans.some((span) => span.loaded <= second && !(span.to < second)));
    const name = endpoint.variants.length > 1 ? `${variant.name}: ` : "";
    const times = calls ? `, p50 ${milliseconds(p50)}, p95 ${milliseconds(p95)}` : "";
    return `${name}${many(calls, "call")}, ${many(errors, "error")}${times}, ` +
      `${many(there.length, "instance")}, ${many(models.length, "model")} loaded`;
  });
  const when = axis.moment === null ? (axis.paused ? "Paused at" : "Now,") : "At";
  return `${when} ${clock(second)} — ${parts.join("; ")}`;
}
