// The page: one state after the other, and what is chosen of it.

import { showAlarms } from "./alarms.js";
import { axis } from "./axis.js";
import { follow } from "./client.js";
import { followPointer, showMoment } from "./cursor.js";
import { $, say } from "./elements.js";
import { alarming, showEndpoints } from "./endpoints.js";
import { announce, makeFilters, showEvents } from "./events.js";
import { listen } from "./keys.js";
import { Past } from "./past.js";
import { onTheme } from "./theme.js";
import { showVariants } from "./variants.js";
import { clock } from "./words.js";

let state = null;
let past = new Past();
let chosen = null;
let isFirst = true;

follow({ began, told, lost });
listen({ choose: (index) => choose(state?.endpoints[index]?.name), pause, changed: showTime });
followPointer(showTime);
makeFilters(show);
onTheme(show);
addEventListener("resize", show);

function began() {
  past = new Past();
  chosen = null;
  isFirst = true;
  axis.paused = axis.moment = null;
}

function told(next) {
  state = next;
  axis.now = next.now;
  past.add(next);
  if (!isFirst) announce(next.events);
  isFirst = false;
  show();
}

function lost(since) {
  const banner = $("lost");
  banner.hidden = since === null;
  say(banner, since === null ? "" : `The local SageMaker has not answered since ${since.toLocaleTimeString("en-GB")}. ` +
    "It is asked again each second; start it with ./tritonsm up.");
}

function choose(name) {
  if (!name) return;
  chosen = name;
  show();
}

function pause() {
  axis.paused = axis.paused === null ? axis.now : null;
  $("pause").setAttribute("aria-pressed", String(axis.paused !== null));
  say($("pause"), axis.paused === null ? "Pause" : "Go on");
  show();
}

function show() {
  if (!state) return;
  const { endpoints, alarms } = state;
  const endpoint = endpoints.find((it) => it.name === chosen) ?? endpoints[0];
  chosen = endpoint?.name ?? null;
  say($("run"), `since ${clock(state.started)} · AWS's time ${state.speed} times as fast`);
  $("none").hidden = Boolean(endpoint);
  $("endpoint").hidden = !endpoint;
  showEndpoints($("endpoints"), state, past, chosen, choose);
  document.title = endpoint ? `${alarms.some(alarming) ? "▲ " : ""}${chosen} · Local SageMaker` : "Local SageMaker";
  if (!endpoint) return;
  const failure = endpoint.failure ? ` · ${endpoint.failure}` : "";
  say($("about"), `${endpoint.name} is ${endpoint.status} · configuration ${endpoint.configuration}${failure}`);
  showVariants($("variants"), endpoint, past);
  showAlarms(alarms, chosen);
  showEvents(past.events, chosen);
  showMoment(endpoint, past);
}

function showTime() {
  const endpoint = state?.endpoints.find((it) => it.name === chosen);
  if (endpoint) showMoment(endpoint, past);
}
