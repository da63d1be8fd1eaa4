// The endpoints to choose from, each with what one wants to know of all of them.

import { each, make, say } from "./elements.js";
import { isOfScaling, milliseconds, rate } from "./words.js";

const LATEST_S = 5;

/** Whether an alarm is in ALARM, and means harm. */
export function alarming(alarm) {
  return alarm.state === "ALARM" && !isOfScaling(alarm.name);
}

/** Show the endpoints; `choose(name)` is called for the one that is wanted. */
export function showEndpoints(parent, { endpoints, alarms, now }, past, chosen, choose) {
  const told = endpoints.map((endpoint, index) => ({
    endpoint,
    index,
    ...latest(endpoint, past, now),
    alarming: alarms.filter((it) => it.endpoint === endpoint.name && alarming(it)).length,
  }));
  each(parent, told, (it) => it.endpoint.name, (it) => begin(it, choose), (element, it) => {
    update(element, it, it.endpoint.name === chosen);
  });
}

/** Return calls a second and the worst p95 of the last seconds, and how many instances serve. */
function latest(endpoint, past, now) {
  let calls = 0;
  let p95 = null;
  let errors = 0;
  let serving = 0;
  let wanted = 0;
  for (const variant of endpoint.variants) {
    for (const rates of past.ratesOf(endpoint.name, variant.name).slice(-LATEST_S)) {
      if (rates[0] < now - LATEST_S - 2) continue;
      calls += rates[1] / LATEST_S;
      errors += rates[2] / LATEST_S;
      if (rates[4] !== null) p95 = Math.max(p95 ?? 0, rates[4]);
    }
    serving += variant.current_count;
    wanted += variant.desired_count;
  }
  return { calls, errors, p95, serving, wanted };
}

function begin({ endpoint }, choose) {
  const button = make("button", { type: "button", class: "endpoint" },
    make("span", { class: "number" }), make("strong"), make("span", { class: "status" }),
    make("span", { class: "figures" }), make("span", { class: "alarming" }));
  button.addEventListener("click", () => choose(endpoint.name));
  return button;
}

function update(button, { endpoint, index, calls, errors, p95, serving, wanted, alarming }, chosen) {
  const [key, name, status, figures, alarm] = button.children;
  if (chosen) button.setAttribute("aria-current", "true");
  else button.removeAttribute("aria-current");
  button.dataset.status = endpoint.status;
  say(key, index < 9 ? String(index + 1) : "");
  say(name, endpoint.name);
  say(status, endpoint.status);
  const failing = errors ? `, ${rate(errors)} errors` : "";
  say(figures, `${rate(calls)}${failing} · p95 ${milliseconds(p95)} · ${serving} of ${wanted}`);
  alarm.hidden = !alarming;
  say(alarm, alarming ? `▲ ${alarming} in ALARM` : "");
}
