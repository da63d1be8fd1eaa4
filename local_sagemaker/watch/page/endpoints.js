// The buttons for the endpoints, each with a summary of the endpoint.

import { renderList, make, setText } from "./elements.js";
import { isScalingAlarm, milliseconds, rate } from "./words.js";

const SUMMARY_S = 5;

/** Return whether an alarm is in state ALARM and indicates a problem. */
export function isAlarming(alarm) {
  return alarm.state === "ALARM" && !isScalingAlarm(alarm.name);
}

/** Show the endpoints; `choose(name)` is called when the user selects one. */
export function showEndpoints(parent, { endpoints, alarms, now }, past, chosenName, choose) {
  const summaries = endpoints.map((endpoint, index) => ({
    endpoint,
    index,
    ...summarize(endpoint, past, now),
    alarmCount: alarms.filter((alarm) => alarm.endpoint === endpoint.name && isAlarming(alarm)).length,
  }));
  renderList(
    parent,
    summaries,
    ({ endpoint }) => endpoint.name,
    (summary) => create(summary, choose),
    (element, summary) => update(element, summary, summary.endpoint.name === chosenName),
  );
}

/** Return the rates and the highest p95 of the last seconds, and the numbers of instances. */
function summarize(endpoint, past, now) {
  let calls = 0;
  let p95 = null;
  let errors = 0;
  let currentCount = 0;
  let desiredCount = 0;
  for (const variant of endpoint.variants) {
    for (const rates of past.ratesOf(endpoint.name, variant.name).slice(-SUMMARY_S)) {
      const [second, secondCalls, secondErrors, , secondP95] = rates;
      if (second < now - SUMMARY_S - 2) continue;
      calls += secondCalls / SUMMARY_S;
      errors += secondErrors / SUMMARY_S;
      if (secondP95 !== null) p95 = Math.max(p95 ?? 0, secondP95);
    }
    currentCount += variant.current_count;
    desiredCount += variant.desired_count;
  }
  return { calls, errors, p95, currentCount, desiredCount };
}

function create({ endpoint }, choose) {
  const button = make("button", { type: "button", class: "endpoint" },
    make("span", { class: "number" }), make("strong"), make("span", { class: "status" }),
    make("span", { class: "figures" }), make("span", { class: "alarming" }));
  button.addEventListener("click", () => choose(endpoint.name));
  return button;
}

function update(button, { endpoint, index, calls, errors, p95, currentCount, desiredCount, alarmCount }, isChosen) {
  const [key, name, status, figures, alarm] = button.children;
  if (isChosen) button.setAttribute("aria-current", "true");
  else button.removeAttribute("aria-current");
  button.dataset.status = endpoint.status;
  setText(key, index < 9 ? String(index + 1) : "");
  setText(name, endpoint.name);
  setText(status, endpoint.status);
  const errorRate = errors ? `, ${rate(errors)} errors` : "";
  const latency = p95 === null ? "" : ` · p95 ${milliseconds(p95)}`;
  setText(figures, `${rate(calls)}${errorRate}${latency} · ${currentCount} of ${desiredCount}`);
  alarm.hidden = !alarmCount;
  setText(alarm, alarmCount ? `▲ ${alarmCount} in ALARM` : "");
}
