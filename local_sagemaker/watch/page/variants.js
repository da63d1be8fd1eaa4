// The variants of an endpoint, each with its properties, instances and charts.

import { axis } from "./axis.js";
import { Charts } from "./charts.js";
import { renderList, make, setText } from "./elements.js";
import { showLanes } from "./lanes.js";
import { onTheme } from "./theme.js";
import { plural, number } from "./words.js";

const charts = new WeakMap(); // element of a variant -> Charts
const MAX_SQUARES = 24;
const MODES = { MultiModel: "multi-model", SingleModel: "single model" };

/** Show the variants of an endpoint. */
export function showVariants(parent, endpoint, past) {
  const variants = endpoint.variants.map((variant) => ({ ...variant, endpoint: endpoint.name }));
  for (const element of parent.children) {
    if (!variants.some((variant) => keyOf(variant) === element.dataset.key)) charts.get(element)?.destroy();
  }
  renderList(parent, variants, keyOf, create, (element, variant) => update(element, variant, past));
}

function keyOf(variant) {
  return `${variant.endpoint}\n${variant.name}`;
}

function create() {
  const head = make("header", {}, make("h3"), make("p", { class: "facts" }), make("p", { class: "squares" }));
  const lanes = make("ol", { class: "lanes", "aria-label": "Instances" });
  const none = make("p", { class: "none" });
  const rate = make("figure", { class: "chart" },
    make("figcaption", {}, make("b", {}, "calls per second"), make("span", { class: "key calls" }, "all"),
      make("span", { class: "key errors" }, "errors")), make("div"));
  const latency = make("figure", { class: "chart" },
    make("figcaption", {}, make("b", {}, "latency"), make("span", { class: "key p50" }, "p50"),
      make("span", { class: "key p95" }, "p95")), make("div"));
  return make("section", { class: "variant" }, head, lanes, none, rate, latency);
}

function update(element, variant, past) {
  const [head, lanes, none, rate, latency] = element.children;
  const [title, facts, squares] = head.children;
  setText(title, variant.name);
  setText(facts, describe(variant));
  drawSquares(squares, variant);
  showLanes(lanes, past.instancesOf(variant.endpoint, variant.name, axis.start));
  const rates = past.ratesOf(variant.endpoint, variant.name);
  const hasCalls = rates.some(([, calls]) => calls);
  none.hidden = hasCalls;
  setText(none, hasCalls ? "" : "No calls yet.");
  if (!charts.has(element)) {
    const newCharts = new Charts(rate.lastChild, latency.lastChild);
    charts.set(element, newCharts);
    onTheme(() => element.isConnected && newCharts.recreate());
  }
  charts.get(element).fit();
  charts.get(element).show(rates);
}

function describe(variant) {
  const parts = [variant.instance_type, MODES[variant.container_mode] ?? "inference components"];
  if (variant.weight !== 1) parts.push(`weight ${variant.weight}`);
  const counts = variant.current_count === variant.desired_count
    ? plural(variant.current_count, "instance")
    : `${variant.current_count} of ${plural(variant.desired_count, "instance")}`;
  parts.push(counts);
  if (variant.processes_at_most !== null) parts.push(`${variant.processes_at_most} processes represent them`);
  parts.push(...describeScaling(variant));
  for (const component of variant.components) {
    const counts = `${component.current_count} of ${component.desired_count} copies`;
    parts.push(`${component.name}: ${component.status}, ${[counts, ...describeScaling(component)].join(", ")}`);
  }
  return parts.join(" · ");
}

function describeScaling({ scaling }) {
  if (!scaling) return [];
  const policies = scaling.policies.map((policy) => {
    const metric = policy.metric.replace(/^SageMaker(Variant|InferenceComponent)/, "");
    return `${metric} ${number(policy.value)}, target ${number(policy.target)}`;
  });
  return [`scales from ${scaling.min} to ${scaling.max}`, ...policies];
}

/** Draw a filled square per instance, a hatched one per instance that starts, and an empty one per
 * instance that scaling may add. */
function drawSquares(parent, { current_count: current, desired_count: desired, scaling }) {
  const count = Math.min(MAX_SQUARES, Math.max(current, desired, scaling?.max ?? 0));
  parent.setAttribute("aria-hidden", "true");
  const squares = Array.from({ length: count }, (_, index) => (
    { index, kind: index < current ? "current" : index < desired ? "starting" : "possible" }));
  renderList(parent, squares, ({ index }) => index, () => make("i"),
    (square, { kind }) => (square.className = kind));
}
