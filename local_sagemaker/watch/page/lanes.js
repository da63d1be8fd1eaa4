// The lanes of instances: the names of models at the left, and their phases drawn over time.

import { axis } from "./axis.js";
import { renderList, make, setText } from "./elements.js";
import { theme } from "./theme.js";
import { bytes, plural, shortId, usedOf } from "./words.js";

const MARKED_ENDS = ["evicted", "failed"];
const STATE_BOX = { top: 1, height: 3 }; // of the line that shows an instance's state

/** Show the instances of a variant, each with its models. */
export function showLanes(parent, instances) {
  renderList(parent, instances, ({ id }) => id, create, update);
}

function create(instance) {
  const state = make("span", { class: "state" });
  const title = make("h4", {}, make("span", { class: "id", title: instance.id }, shortId(instance.id)), state);
  const numbers = make("p", { class: "numbers" });
  const names = make("ul", { class: "names", "aria-label": `Models of ${instance.id}` });
  const canvas = make("canvas", { "aria-hidden": "true" });
  const lane = make("div", { class: "lane" }, names, canvas);
  return make("li", { class: "instance" }, make("div", { class: "head" }, title, numbers), lane);
}

function update(element, instance) {
  const [head, lane] = element.children;
  const [title, numbers] = head.children;
  const { latest } = instance;
  const state = instance.ended ? (instance.replaced ? "replaced" : "ended") : (latest?.state ?? "starting");
  element.dataset.state = state;
  setText(title.lastChild, state);
  renderList(numbers, latest && !instance.ended ? numbersOf(latest) : [], ({ name }) => name, createNumber, updateNumber);
  const models = [...instance.models.values()].filter(({ spans }) => spans.some((span) => !(span.to < axis.start)));
  const [names, canvas] = lane.children;
  renderList(names, models, ({ target }) => target, createName, updateName);
  draw(canvas, instance, models, names);
}

function numbersOf({ calls, cpu, memory, memory_limit: memoryLimit, disk, disk_limit: diskLimit }) {
  return [
    { name: "calls", text: `${plural(calls, "call")} in progress` },
    ...(cpu === null ? [] : [{ name: "cpu", text: `CPU ${Math.round(cpu)} %` }]),
    ...(memory === null ? [] : [{ name: "memory", text: `memory ${usedOf(memory, memoryLimit)}`, share: memory / memoryLimit }]),
    { name: "volume", text: `volume ${usedOf(disk, diskLimit)}`, share: disk / diskLimit },
  ];
}

function createNumber({ share }) {
  const meter = share === undefined ? [] : [make("meter", { high: 0.9, "aria-hidden": "true" })];
  return make("span", { class: "number" }, make("span"), ...meter);
}

function updateNumber(element, { text, share }) {
  setText(element.firstChild, text);
  if (share !== undefined) element.lastChild.value = share;
}

function createName(model) {
  return make("li", { title: model.target }, make("span", { class: "name" }), make("span", { class: "detail" }));
}

function updateName(element, model) {
  const span = model.spans.at(-1);
  const latest = span.to ? null : model.latest;
  const state = span.to ? span.end : (latest?.state ?? "loading");
  const size = latest?.disk ? bytes(latest.disk) : "";
  element.dataset.state = state;
  setText(element.children[0], model.name);
  setText(element.children[1], state === "loaded" ? size : state);
  element.setAttribute("aria-label",
    `${model.name}: ${state}${size && `, ${size} on the volume`}` +
    (latest ? `, ${plural(latest.calls, "call")} in progress, ${latest.answered} answered` : ""));
}

function draw(canvas, instance, models, names) {
  const height = names.offsetHeight;
  const width = Math.max(0, canvas.parentElement.clientWidth - (axis.narrow ? 0 : axis.gutter));
  const left = axis.narrow ? axis.gutter : 0;
  const context = resize(canvas, width, height);
  const colours = theme();
  const plot = { left, width: width - left, x: (time) => left + Math.max(0, Math.min(1, axis.position(time))) * (width - left) };
  context.clearRect(0, 0, width, height);
  drawMinutes(context, plot, height, colours);
  drawInstancePhases(context, plot, instance, colours);
  const maxRate = Math.max(1, ...models.flatMap(({ callRates }) => callRates.map(([, rate]) => rate)));
  models.forEach((model, index) => {
    const label = names.children[index];
    const top = label.offsetTop + (axis.narrow ? label.offsetHeight - 14 : 2);
    const box = { top, height: axis.narrow ? 12 : label.offsetHeight - 4 };
    for (const span of model.spans) drawSpan(context, plot, span, model, box, maxRate, colours);
  });
}

function resize(canvas, width, height) {
  const scale = devicePixelRatio;
  const [pixelWidth, pixelHeight] = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== pixelWidth || canvas.height !== pixelHeight) {
    canvas.width = pixelWidth;
    canvas.height = pixelHeight;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  return context;
}

function drawMinutes(context, plot, height, colours) {
  context.strokeStyle = colours.grid;
  context.lineWidth = 1;
  context.beginPath();
  for (let time = Math.ceil(axis.start / 60) * 60; time < axis.end; time += 60) {
    const x = Math.round(plot.x(time)) + 0.5;
    context.moveTo(x, 0);
    context.lineTo(x, height);
  }
  context.stroke();
}

function drawInstancePhases(context, plot, instance, colours) {
  const to = instance.ended ?? axis.end;
  const servesFrom = instance.healthy ?? (instance.latest?.state === "serving" ? instance.since : to);
  const leavesAt = instance.leaving ?? to;
  drawHatched(context, plot.x(instance.since), plot.x(servesFrom), STATE_BOX, colours.waiting);
  context.fillStyle = colours.served;
  context.fillRect(plot.x(servesFrom), STATE_BOX.top, plot.x(leavesAt) - plot.x(servesFrom), STATE_BOX.height);
  drawHatched(context, plot.x(leavesAt), plot.x(to), STATE_BOX, colours.gone);
}

function drawSpan(context, plot, span, model, box, maxRate, colours) {
  const to = span.to ?? axis.end;
  if (to < axis.start) return;
  const loaded = span.loaded ?? to;
  drawHatched(context, plot.x(span.from), plot.x(Math.min(loaded, to)), box, colours.waiting);
  const [from, until] = [plot.x(loaded), plot.x(to)];
  if (until > from) {
    context.fillStyle = colours["loaded-tint"];
    context.fillRect(from, box.top, until - from, box.height);
    context.fillStyle = colours.loaded;
    context.fillRect(from, box.top + box.height - 2, until - from, 2);
    drawCallRates(context, plot, model, { from: loaded, to }, box, maxRate, colours);
  }
  if (span.to && span.to >= axis.start) {
    const next = model.spans[model.spans.indexOf(span) + 1];
    drawEnd(context, until, span.end, plot.x(next?.from ?? axis.end) - until, box, colours);
  }
}

function drawCallRates(context, plot, model, { from, to }, { top, height }, maxRate, colours) {
  const width = Math.max(1.5, plot.width / 300);
  context.fillStyle = colours.served;
  for (const [time, rate] of model.callRates) {
    if (time < from || time - 1 > to || time < axis.start || time > axis.end) continue;
    const barHeight = Math.max(2, (height - 2) * Math.sqrt(rate / maxRate));
    context.fillRect(plot.x(time) - width, top + height - barHeight, width, barHeight);
  }
}

function drawEnd(context, x, kind, availableWidth, { top, height }, colours) {
  context.fillStyle = kind === "unloaded" ? colours.quiet : colours.danger;
  context.fillRect(x - 1, top - 1, 2, height + 2);
  if (MARKED_ENDS.includes(kind)) {
    context.beginPath();
    context.moveTo(x - 5, top - 1);
    context.lineTo(x + 5, top - 1);
    context.lineTo(x, top + 5);
    context.fill();
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    if (context.measureText(kind).width + 9 < availableWidth) context.fillText(kind, x + 7, top + height / 2 + 0.5);
  }
}

function drawHatched(context, from, to, { top, height }, colour) {
  if (to <= from) return;
  context.save();
  context.beginPath();
  context.rect(from, top, to - from, height);
  context.clip();
  context.strokeStyle = colour;
  context.lineWidth = 1.5;
  context.beginPath();
  for (let x = Math.floor((from - height) / 5) * 5; x < to; x += 5) {
    context.moveTo(x, top + height);
    context.lineTo(x + height, top);
  }
  context.stroke();
  context.lineWidth = 1;
  context.strokeRect(from + 0.5, top + 0.5, Math.max(0, to - from - 1), height - 1);
  context.restore();
}
