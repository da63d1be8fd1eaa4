// The alarms of an endpoint, those in ALARM first.

import { $, each, make, say } from "./elements.js";
import { alarmName, clock, number } from "./words.js";

const SIGNS = { ALARM: "▲", OK: "✓", INSUFFICIENT_DATA: "?" };
const ORDER = ["ALARM", "OK", "INSUFFICIENT_DATA"];

/** Show the alarms of an endpoint, and those that watch none. */
export function showAlarms(alarms, endpoint) {
  const shown = alarms
    .filter((it) => it.endpoint === endpoint)
    .sort((one, other) => ORDER.indexOf(one.state) - ORDER.indexOf(other.state));
  each($("alarms"), shown, (it) => it.name, begin, update);
  if (!shown.length) each($("alarms"), [0], () => "none", () => make("li", { class: "none" }, "No alarm watches it."), () => {});
}

function begin(alarm) {
  return make("li", { title: alarm.name }, make("span", { class: "state" }), make("b"), make("span"), make("small"));
}

function update(element, alarm) {
  const [state, name, value, condition] = element.children;
  element.dataset.state = alarm.state;
  say(state, `${SIGNS[alarm.state] ?? ""} ${alarm.state.replace("_", " ")}`);
  say(name, alarmName(alarm.name));
  say(value, `${alarm.watches}: ${number(alarm.value)}, since ${clock(alarm.since)}`);
  say(condition, alarm.condition);
}
