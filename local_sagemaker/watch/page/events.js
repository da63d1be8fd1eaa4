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
    .filter(({ kind }) => !["model unloading", "model downloading", "model downloaded", "model loading"].includes(kind))
    .sort((first, second) => second.time - first.time || second.sequence - first.sequence);
  const placeholder = { sequence: "none", kind: "", time: null, message: "No event of these kinds yet." };
  const folded = fold(shown).slice(0, MAX_EVENTS);
  renderList($("events"), folded.length ? folded : [placeholder], ({ sequence }) => sequence, create, () => {});
}

/** Announce new events about scaling, alarms and rollbacks. */
export function announce(events) {
  const sentences = events
    .filter(({ kind }) => ANNOUNCED_KINDS.includes(kind))
    .map(({ message }) => shortenAlarmNames(message).split(". ")[0]);
  if (sentences.length) setText($("announcement"), sentences.slice(-2).join(". "));
}

/** Return the events with consecutive loads of an instance as one. */
function fold(events) {
  const folded = [];
  for (const event of events) {
    const later = folded.at(-1);
    if (event.kind === "model loaded" && later?.kind === event.kind && later.instance === event.instance) {
      const names = [...(later.names ?? [later.name]), event.name];
      const message = `${names.length} models were loaded: ${names.join(", ")}.`;
      folded[folded.length - 1] = { ...later, names, message, sequence: `${event.sequence} ${names.length}` };
    } else {
      folded.push(event);
    }
  }
  return folded;
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
