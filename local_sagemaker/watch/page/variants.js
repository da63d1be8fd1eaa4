// The variants of an endpoint: what each is, its instances, its charts.

import { axis } from "./axis.js";
import { Charts } from "./charts.js";
import { each, make, say } from "./elements.js";
import { showLanes } from "./lanes.js";
import { onTheme } from "./theme.js";
import { many, number } from "./words.js";

const charts = new WeakMap(); // by the element of their variant
const MOST_SQUARES = 24;
const MODES = { MultiModel: "multi-model", SingleModel: "single model" };

/** Show the variants of an endpoint. */
export function showVariants(parent, endpoint, past) {
  const keyed = endpoint.variants.map((it) => ({ ...it, endpoint: endpoint.name }));
  for (const element of parent.children) {
    if (!keyed.some((it) => keyOf(it) === element.dataset.key)) charts.get(element)?.end();
  }
  each(parent, keyed, keyOf, begin, (element, variant) => update(element, variant, past));
}

function keyOf(variant) {
  return `${variant.endpoint}\n${variant.name}`;
}

function begin() {
  const head = make("header", {}, make("h3"), make("p", { class: "facts" }), make("p", { class: "squares" }));
  const lanes = make("ol", { class: "lanes", "aria-label": "Instances" });
  const none = make("p", { class: "none" });
  const rate = make("figure", { class: "chart" },
    make("figcaption", {}, make("b", {}, "calls a second"), make("span", { class: "key calls" }, "all"),
      make("span", { class: "key errors" }, "errors")), make("div"));
  const latency = make("figure", { class: "chart" },
    make("figcaption", {}, make("b", {}, "latency"), make("span", { class: "key p50" }, "p50"),
      make("span", { class: "key p95" }, "p95")), make("div"));
  return make("section", { class: "variant" }, head, lanes, none, rate, latency);
}

function update(element, variant, past) {
  const [head, lanes, none, rate, latency] = element.children;
  const [title, facts, squares] = head.children;
  say(title, variant.name);
  say(facts, told(variant));
  drawSquares(squares, variant);
  showLanes(lanes, past.instancesOf(variant.endpoint, variant.name, axis.begin));
  const rates = past.ratesOf(variant.endpoint, variant.name);
  const called = rates.some((it) => it[1]);
  none.hidden = called;
  say(none, called ? "" : "No calls yet: ./tritonsm invoke local ENDPOINT MODEL --input NAME=VALUE --local");
  if (!charts.has(element)) {
    const made = new Charts(rate.lastChild, latency.lastChild);
    charts.set(element, made);
    onTheme(() => element.isConnected && made.remake());
  }
  charts.get(element).fit();
  charts.get(element).show(rates);
}

function told(variant) {
  const parts = [variant.instance_type, MODES[variant.container_mode] ?? "inference components"];
  if (variant.weight !== 1) parts.push(`weight ${variant.weight}`);
  const counts = variant.current_count === variant.desired_count
    ? many(variant.current_count, "instance")
    : `${variant.current_count} of ${many(variant.desired_count, "instance")}`;
  parts.push(counts);
  if (variant.processes_at_most !== null) parts.push(`${variant.processes_at_most} processes stand for them`);
  parts.push(...scaled(variant));
  for (const component of variant.components) {
    const counts = `${component.current_count} of ${component.desired_count} copies`;
    parts.push(`${component.name}: ${component.status}, ${[counts, ...scaled(component)].join(", ")}`);
  }
  return parts.join(" · ");
}

function scaled({ scaling }) {
  if (!scaling) return [];
  const policies = scaling.policies.map((policy) => {
    const metric = policy.metric.replace(/^SageMaker(Variant|InferenceComponent)/, "");
    return `${metric} ${number(policy.value)}, target ${number(policy.target)}`;
  });
  return [`scales from ${scaling.min} to ${scaling.max}`, ...policies];
}

/** As in a review: a filled square is an instance that is there, an empty one may be added. */
function drawSquares(parent, { current_count: now, desired_count: wanted, scaling }) {
  const all = Math.min(MOST_SQUARES, Math.max(now, wanted, scaling?.max ?? 0));
  parent.setAttribute("aria-hidden", "true");
  const kinds = Array.from({ length: all }, (_, it) => (it < now ? "there" : it < wanted ? "coming" : "may"));
  each(parent, kinds.map((kind, it) => ({ kind, it })), ({ it }) => it, () => make("i"),
    (square, { kind }) => (square.className = kind));
}
