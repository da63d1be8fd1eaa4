// The alarms of an endpoint: first those in state ALARM, last the alarms of scaling policies.

import { $, renderList, make, setText } from "./elements.js";
import { clock, isScalingAlarm, number, shortenAlarmNames } from "./words.js";

const SIGNS = { ALARM: "▲", OK: "✓", INSUFFICIENT_DATA: "?" };
const ORDER = ["ALARM", "OK", "INSUFFICIENT_DATA"];

/** Show the alarms of an endpoint, and the alarms without an endpoint. */
export function showAlarms(alarms, endpoint) {
  const shown = alarms
    .filter((alarm) => (alarm.endpoint ?? endpoint) === endpoint)
    .sort((first, second) => rank(first) - rank(second));
  renderList($("alarms"), shown, ({ name }) => name, create, update);
  if (!shown.length) renderList($("alarms"), [0], () => "none", () => make("li", { class: "none" }, "No alarm watches this endpoint."), () => {});
}

function rank({ name, state }) {
  return ORDER.indexOf(state) + (isScalingAlarm(name) ? ORDER.length : 0);
}

function create(alarm) {
  return make("li", { title: alarm.name }, make("span", { class: "state" }), make("b"), make("span"), make("small"));
}

function update(element, alarm) {
  const [state, name, value, condition] = element.children;
  element.dataset.state = isScalingAlarm(alarm.name) ? "scaling" : alarm.state;
  setText(state, `${SIGNS[alarm.state] ?? ""} ${alarm.state.replace("_", " ")}`);
  setText(name, isScalingAlarm(alarm.name) ? `${shortenAlarmNames(alarm.name)} of scaling` : alarm.name.replace(` of ${alarm.endpoint}`, ""));
  setText(value, `${alarm.watches}: ${number(alarm.value)}, since ${clock(alarm.since)}`);
  setText(condition, alarm.condition);
}
