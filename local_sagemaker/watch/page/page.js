// The page: shows the latest state, and stores what the user has selected.

import { showAlarms } from "./alarms.js";
import { axis } from "./axis.js";
import { poll } from "./client.js";
import { followPointer, showSelectedTime } from "./cursor.js";
import { $, setText } from "./elements.js";
import { isAlarming, showEndpoints } from "./endpoints.js";
import { announce, makeFilters, showEvents } from "./events.js";
import { handleKeys } from "./keys.js";
import { Past } from "./past.js";
import { onTheme } from "./theme.js";
import { showVariants } from "./variants.js";
import { clock } from "./words.js";

let state = null;
let past = new Past();
let chosenName = null;
let isFirst = true;

poll({ onRun, onState, onConnection });
handleKeys({ choose: (index) => choose(state?.endpoints[index]?.name), togglePause, onTime: showTime });
followPointer(showTime);
makeFilters(show);
onTheme(show);
addEventListener("resize", show);

function onRun() {
  past = new Past();
  chosenName = null;
  isFirst = true;
  axis.pausedAt = axis.selected = null;
}

function onState(newState) {
  state = newState;
  axis.now = state.now;
  past.add(state);
  if (!isFirst) announce(state.events);
  isFirst = false;
  show();
}

function onConnection(lostSince) {
  const banner = $("lost");
  banner.hidden = lostSince === null;
  setText(banner, lostSince === null ? "" : `The local SageMaker has not answered since ${lostSince.toLocaleTimeString("en-GB")}. ` +
    "The page tries again each second; start it with local-sagemaker up.");
}

function choose(name) {
  if (!name) return;
  chosenName = name;
  show();
}

function togglePause() {
  axis.pausedAt = axis.pausedAt === null ? axis.now : null;
  $("pause").setAttribute("aria-pressed", String(axis.pausedAt !== null));
  setText($("pause"), axis.pausedAt === null ? "Pause" : "Resume");
  show();
}

function show() {
  if (!state) return;
  const { endpoints, alarms } = state;
  const endpoint = endpoints.find(({ name }) => name === chosenName) ?? endpoints[0];
  chosenName = endpoint?.name ?? null;
  setText($("run"), `since ${clock(state.started)} · AWS's waits ${state.speed} times as fast`);
  $("none").hidden = Boolean(endpoint);
  $("endpoint").hidden = !endpoint;
  showEndpoints($("endpoints"), state, past, chosenName, choose);
  document.title = endpoint ? `${alarms.some(isAlarming) ? "▲ " : ""}${chosenName} · Local SageMaker` : "Local SageMaker";
  if (!endpoint) return;
  const failure = endpoint.failure ? ` · ${endpoint.failure}` : "";
  setText($("about"), `${endpoint.name} is ${endpoint.status} · configuration ${endpoint.configuration}${failure}`);
  showVariants($("variants"), endpoint, past);
  showAlarms(alarms, chosenName);
  showEvents(past.events, chosenName);
  showSelectedTime(endpoint, past);
}

function showTime() {
  const endpoint = state?.endpoints.find(({ name }) => name === chosenName);
  if (endpoint) showSelectedTime(endpoint, past);
}
