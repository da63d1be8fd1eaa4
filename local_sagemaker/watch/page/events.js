// The list of events, the newest first. Important events are also announced to screen readers.

import { $, renderList, make, setText } from "./elements.js";
import { clock, shortId, shortenAlarmNames } from "./words.js";

const MAX_EVENTS = 150;
const GROUPS = { endpoint: "endpoints", instance: "instances", model: "models", scaling: "scaling", alarm: "alarms" };
const ANNOUNCED_KINDS = ["scaling", "scaling failed", "alarm", "endpoint rolled back"];
const SIGNS = {
  "model evicted": "⏏", "model failed": "✕", "model loaded": "●", "instance healthy": "●",
  "instance unhealthy": "✕", "instance replaced": "↻", "instance ended": "■", scaling: "⇕", alarm: "▲", "endpoint rolled back": "↩",
};

const hiddenGroups = new Set();

/** Create the filters; `onChange` is called when the user changes one. */
export function makeFilters(onChange) {
  for (const [group, name] of Object.entries(GROUPS)) {
    const box = make("input", { type: "checkbox", checked: true });
    box.addEventListener("change", () => {
      if (box.checked) hiddenGroups.delete(group);
      else hiddenGroups.add(group);
      onChange();
    });
    $("filters").append(make("label", {}, box, name));
  }
}

/** Show the events of an endpoint, and the events without an endpoint. */
export function showEvents(events, endpoint) {
  const shown = events
    .filter((event) => (event.endpoint ?? endpoint) === endpoint && !hiddenGroups.has(groupOf(event)))
    .filter(({ kind }) => !["model unloading", "model downloading"].includes(kind))
    .sort((first, second) => second.time - first.time || second.sequence - first.sequence)
    .slice(0, MAX_EVENTS);
  const placeholder = { sequence: "none", kind: "", time: null, message: "No event of these kinds yet." };
  renderList($("events"), shown.length ? shown : [placeholder], ({ sequence }) => sequence, create, () => {});
}

/** Announce new events about scaling, alarms and rollbacks. */
export function announce(events) {
  const sentences = events
    .filter(({ kind }) => ANNOUNCED_KINDS.includes(kind))
    .map(({ message }) => shortenAlarmNames(message).split(". ")[0]);
  if (sentences.length) setText($("announcement"), sentences.slice(-2).join(". "));
}

function groupOf(event) {
  return event.kind.split(" ")[0];
}

function create(event) {
  const item = make("li", { "data-kind": event.kind });
  if (event.time === null) {
    item.append(make("p", {}, event.message));
    return item;
  }
  const location = [event.variant, event.instance && shortId(event.instance)].filter(Boolean).join(" · ");
  item.append(
    make("time", { dateTime: new Date(event.time * 1000).toISOString() }, clock(event.time)),
    make("span", { class: "kind" }, make("span", { "aria-hidden": "true" }, `${SIGNS[event.kind] ?? "○"} `), event.kind),
    make("p", { title: event.message }, shortenAlarmNames(event.message)),
    make("small", {}, location),
  );
  return item;
}
