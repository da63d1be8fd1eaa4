// The alarms of an endpoint, those in ALARM first, and those of scaling policies last.

import { $, each, make, say } from "./elements.js";
import { clock, isOfScaling, number, withoutIds } from "./words.js";

const SIGNS = { ALARM: "▲", OK: "✓", INSUFFICIENT_DATA: "?" };
const ORDER = ["ALARM", "OK", "INSUFFICIENT_DATA"];

/** Show the alarms of an endpoint, and those that watch none. */
export function showAlarms(alarms, endpoint) {
  const shown = alarms
    .filter((it) => (it.endpoint ?? endpoint) === endpoint)
    .sort((one, other) => rank(one) - rank(other));
  each($("alarms"), shown, (it) => it.name, begin, update);
  if (!shown.length) each($("alarms"), [0], () => "none", () => make("li", { class: "none" }, "No alarm watches it."), () => {});
}

function rank({ name, state }) {
  return ORDER.indexOf(state) + (isOfScaling(name) ? ORDER.length : 0);
}

function begin(alarm) {
  return make("li", { title: alarm.name }, make("span", { class: "state" }), make("b"), make("span"), make("small"));
}

function update(element, alarm) {
  const [state, name, value, condition] = element.children;
  element.dataset.state = isOfScaling(alarm.name) ? "scaling" : alarm.state;
  say(state, `${SIGNS[alarm.state] ?? ""} ${alarm.state.replace("_", " ")}`);
  say(name, isOfScaling(alarm.name) ? `${withoutIds(alarm.name)} of scaling` : alarm.name);
  say(value, `${alarm.watches}: ${number(alarm.value)}, since ${clock(alarm.since)}`);
  say(condition, alarm.condition);
}
