// The cursor at the selected time: a line over all lanes and charts, and the values in words.

import { axis, SPAN_S } from "./axis.js";
import { $, renderList, make, setText } from "./elements.js";
import { clock, isScalingAlarm, plural, milliseconds } from "./words.js";

const EVENT_SIGNS = { scaling: "⇕", alarm: "▲", "endpoint rolled back": "↩" };

/** Select the time at the mouse pointer; `onTime` is called for a new time. */
export function followPointer(onTime) {
  const timeline = $("timeline");
  timeline.addEventListener("pointermove", (event) => {
    const box = timeline.getBoundingClientRect();
    const position = (event.clientX - box.left - axis.gutter) / (box.width - axis.gutter);
    const time = position >= 0 && position <= 1 ? Math.floor(axis.start + position * SPAN_S) : null;
    if (time !== axis.selected) {
      axis.selected = time;
      onTime();
    }
  });
  timeline.addEventListener("pointerleave", () => {
    axis.selected = null;
    onTime();
  });
}

/** Show the values at the selected time, and marks of the endpoint's events. */
export function showSelectedTime(endpoint, past) {
  const text = describe(endpoint, past);
  setText($("readout"), text);
  const timeline = $("timeline");
  timeline.setAttribute("aria-valuetext", text);
  timeline.setAttribute("aria-valuenow", String(SPAN_S - Math.round(axis.end - axis.shownSecond)));
  const cursor = $("cursor");
  cursor.hidden = axis.selected === null;
  cursor.style.left = offset(axis.shownSecond + 0.5);
  const markedEvents = past.events.filter(
    (event) => event.kind in EVENT_SIGNS && !isScalingAlarm(event.message) &&
      event.endpoint === endpoint.name && event.time >= axis.start && event.time <= axis.end,
  );
  renderList($("marks"), markedEvents, (event) => event.sequence,
    (event) => make("i", { "data-kind": event.kind, title: event.message }, EVENT_SIGNS[event.kind]),
    (mark, event) => (mark.style.left = offset(event.time)));
}

function offset(time) {
  const position = Math.max(0, Math.min(1, axis.position(time)));
  return `calc(${axis.gutter}px + ${position} * (100% - ${axis.gutter}px))`;
}

function describe(endpoint, past) {
  const second = axis.shownSecond;
  const descriptions = endpoint.variants.map((variant) => {
    const rates = past.ratesOf(endpoint.name, variant.name).find(([time]) => time === second);
    const [, calls, errors, p50, p95] = rates ?? [second, 0, 0, null, null];
    const instances = past.instancesOf(endpoint.name, variant.name, second)
      .filter(({ since, healthy }) => since <= second && (healthy ?? 0) <= second);
    const models = instances.flatMap((instance) => [...instance.models.values()])
      .filter((model) => model.spans.some((span) => span.loaded <= second && !(span.to < second)));
    const name = endpoint.variants.length > 1 ? `${variant.name}: ` : "";
    const latencies = calls && p50 !== null ? `, p50 ${milliseconds(p50)}, p95 ${milliseconds(p95)}` : "";
    return `${name}${plural(calls, "call")}, ${plural(errors, "error")}${latencies}, ` +
      `${plural(instances.length, "instance")}, ${plural(models.length, "model")} loaded`;
  });
  const when = axis.selected === null ? (axis.pausedAt ? "Paused at" : "Now,") : "At";
  return `${when} ${clock(second)} — ${descriptions.join("; ")}`;
}
