// The list of events, the newest first; what matters most is also said to who cannot see it.

import { $, each, make, say } from "./elements.js";
import { clock, short, withoutIds } from "./words.js";

const MOST_SHOWN = 150;
const GROUPS = { endpoint: "endpoints", instance: "instances", model: "models", scaling: "scaling", alarm: "alarms" };
const SAID = ["scaling", "scaling failed", "alarm", "endpoint rolled back"];
const SIGNS = {
  "model evicted": "⏏", "model failed": "✕", "model loaded": "●", "instance healthy": "●",
  "instance unhealthy": "✕", "instance replaced": "↻", "instance ended": "■", scaling: "⇕", alarm: "▲", "endpoint rolled back": "↩",
};

const hidden = new Set();

/** Make the filters; `changed` is called when one was used. */
export function makeFilters(changed) {
  for (const [group, name] of Object.entries(GROUPS)) {
    const box = make("input", { type: "checkbox", checked: true });
    box.addEventListener("change", () => {
      if (box.checked) hidden.delete(group);
      else hidden.add(group);
      changed();
    });
    $("filters").append(make("label", {}, box, name));
  }
}

/** Show the events of an endpoint, and of nothing that has one. */
export function showEvents(events, endpoint) {
  const shown = events
    .filter((it) => (it.endpoint ?? endpoint) === endpoint && !hidden.has(groupOf(it)))
    .filter((it) => !["model unloading", "model downloading"].includes(it.kind))
    .sort((one, other) => other.time - one.time || other.sequence - one.sequence)
    .slice(0, MOST_SHOWN);
  const none = { sequence: "none", kind: "", time: null, message: "No event of these kinds yet." };
  each($("events"), shown.length ? shown : [none], (it) => it.sequence, begin, () => {});
}

/** Say what matters of new events: scaling, alarms, rollbacks. */
export function announce(events) {
  const said = events.filter((it) => SAID.includes(it.kind)).map((it) => withoutIds(it.message).split(". ")[0]);
  if (said.length) say($("said"), said.slice(-2).join(". "));
}

function groupOf(event) {
  return event.kind.split(" ")[0];
}

function begin(event) {
  const item = make("li", { "data-kind": event.kind });
  if (event.time === null) {
    item.append(make("p", {}, event.message));
    return item;
  }
  const where = [event.variant, event.instance && short(event.instance)].filter(Boolean).join(" · ");
  item.append(
    make("time", { dateTime: new Date(event.time * 1000).toISOString() }, clock(event.time)),
    make("span", { class: "kind" }, make("span", { "aria-hidden": "true" }, `${SIGNS[event.kind] ?? "○"} `), event.kind),
    make("p", { title: event.message }, withoutIds(event.message)),
    make("small", {}, where),
  );
  return item;
}
