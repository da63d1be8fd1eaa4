// Instances as lanes: names at the left, and beside them what was when, drawn.

import { axis } from "./axis.js";
import { each, make, say } from "./elements.js";
import { theme } from "./theme.js";
import { bytes, many, short, share } from "./words.js";

const MARKED = ["evicted", "failed"];

/** Show the instances of a variant, each with its models. */
export function showLanes(parent, instances) {
  each(parent, instances, (it) => it.id, begin, update);
}

function begin(instance) {
  const state = make("span", { class: "state" });
  const title = make("h4", {}, make("span", { class: "id", title: instance.id }, short(instance.id)), state);
  const numbers = make("p", { class: "numbers" });
  const names = make("ul", { class: "names", "aria-label": `Models of ${instance.id}` });
  const canvas = make("canvas", { "aria-hidden": "true" });
  const lane = make("div", { class: "lane" }, names, canvas);
  return make("li", { class: "instance" }, make("div", { class: "head" }, title, numbers), lane);
}

function update(element, instance) {
  const [head, lane] = element.children;
  const [title, numbers] = head.children;
  const told = instance.latest;
  const state = instance.ended ? (instance.replaced ? "replaced" : "ended") : (told?.state ?? "starting");
  element.dataset.state = state;
  say(title.lastChild, state);
  each(numbers, told && !instance.ended ? numbersOf(told) : [], (it) => it.name, beginNumber, updateNumber);
  const rows = [...instance.models.values()].filter((it) => it.spans.some((span) => !(span.to < axis.begin)));
  const [names, canvas] = lane.children;
  each(names, rows, (it) => it.target, beginName, updateName);
  draw(canvas, instance, rows, names);
}

function numbersOf({ calls, cpu, memory, memory_limit: most, disk, disk_limit: room }) {
  return [
    { name: "calls", text: `${many(calls, "call")} under way` },
    { name: "cpu", text: `CPU ${cpu === null ? "–" : `${Math.round(cpu)} %`}` },
    { name: "memory", text: `memory ${share(memory, most)}`, full: (memory ?? 0) / most },
    { name: "volume", text: `volume ${share(disk, room)}`, full: disk / room },
  ];
}

function beginNumber({ full }) {
  const meter = full === undefined ? [] : [make("meter", { high: 0.9, "aria-hidden": "true" })];
  return make("span", { class: "number" }, make("span"), ...meter);
}

function updateNumber(element, { text, full }) {
  say(element.firstChild, text);
  if (full !== undefined) element.lastChild.value = full;
}

function beginName(model) {
  return make("li", { title: model.target }, make("span", { class: "name" }), make("span", { class: "detail" }));
}

function updateName(element, model) {
  const span = model.spans.at(-1);
  const told = span.to ? null : model.latest;
  const state = span.to ? span.end : (told?.state ?? "loading");
  const size = told?.disk ? bytes(told.disk) : "";
  element.dataset.state = state;
  say(element.children[0], model.name);
  say(element.children[1], state === "loaded" ? size : state);
  element.setAttribute("aria-label",
    `${model.name}: ${state}${size && `, ${size} on the volume`}` +
    (told ? `, ${many(told.calls, "call")} under way, ${told.answered} answered` : ""));
}

function draw(canvas, instance, rows, names) {
  const height = names.offsetHeight;
  const width = Math.max(0, canvas.parentElement.clientWidth - (axis.narrow ? 0 : axis.gutter));
  const left = axis.narrow ? axis.gutter : 0;
  const context = sized(canvas, width, height);
  const colours = theme();
  const plot = { left, width: width - left, x: (time) => left + Math.max(0, Math.min(1, axis.place(time))) * (width - left) };
  context.clearRect(0, 0, width, height);
  minutes(context, plot, height, colours);
  life(context, plot, instance, colours);
  rows.forEach((model, index) => {
    const label = names.children[index];
    const top = label.offsetTop + (axis.narrow ? label.offsetHeight - 14 : 2);
    const tall = axis.narrow ? 12 : label.offsetHeight - 4;
    const most = Math.max(1, ...rows.flatMap((it) => it.served.map(([, rate]) => rate)));
    for (const span of model.spans) bar(context, plot, span, model, top, tall, most, colours);
  });
}

function sized(canvas, width, height) {
  const scale = devicePixelRatio;
  const [wide, tall] = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== wide || canvas.height !== tall) {
    canvas.width = wide;
    canvas.height = tall;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  return context;
}

function minutes(context, plot, height, colours) {
  context.strokeStyle = colours.grid;
  context.lineWidth = 1;
  context.beginPath();
  for (let at = Math.ceil(axis.begin / 60) * 60; at < axis.end; at += 60) {
    const x = Math.round(plot.x(at)) + 0.5;
    context.moveTo(x, 0);
    context.lineTo(x, height);
  }
  context.stroke();
}

function life(context, plot, instance, colours) {
  const to = instance.ended ?? axis.end;
  const serves = instance.healthy ?? (instance.latest?.state === "serving" ? instance.since : to);
  const leaves = instance.leaving ?? to;
  hatched(context, plot.x(instance.since), plot.x(serves), 1, 3, colours.waiting);
  context.fillStyle = colours.served;
  context.fillRect(plot.x(serves), 1, plot.x(leaves) - plot.x(serves), 3);
  hatched(context, plot.x(leaves), plot.x(to), 1, 3, colours.gone);
}

function bar(context, plot, span, model, top, tall, most, colours) {
  const to = span.to ?? axis.end;
  if (to < axis.begin) return;
  const loaded = span.loaded ?? to;
  hatched(context, plot.x(span.from), plot.x(Math.min(loaded, to)), top, tall, colours.waiting);
  const [from, until] = [plot.x(loaded), plot.x(to)];
  if (until > from) {
    context.fillStyle = colours["loaded-tint"];
    context.fillRect(from, top, until - from, tall);
    context.fillStyle = colours.loaded;
    context.fillRect(from, top + tall - 2, until - from, 2);
    served(context, plot, model, loaded, to, top, tall, most, colours);
  }
  if (span.to && span.to >= axis.begin) {
    const next = model.spans[model.spans.indexOf(span) + 1];
    end(context, until, span.end, plot.x(next?.from ?? axis.end) - until, top, tall, colours);
  }
}

function served(context, plot, model, from, to, top, tall, most, colours) {
  const wide = Math.max(1.5, plot.width / 300);
  context.fillStyle = colours.served;
  for (const [time, rate] of model.served) {
    if (time < from || time - 1 > to || time < axis.begin || time > axis.end) continue;
    const high = Math.max(2, (tall - 2) * Math.sqrt(rate / most));
    context.fillRect(plot.x(time) - wide, top + tall - high, wide, high);
  }
}

function end(context, x, kind, room, top, tall, colours) {
  context.fillStyle = kind === "unloaded" ? colours.quiet : colours.danger;
  context.fillRect(x - 1, top - 1, 2, tall + 2);
  if (MARKED.includes(kind)) {
    context.beginPath();
    context.moveTo(x - 5, top - 1);
    context.lineTo(x + 5, top - 1);
    context.lineTo(x, top + 5);
    context.fill();
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    if (context.measureText(kind).width + 9 < room) context.fillText(kind, x + 7, top + tall / 2 + 0.5);
  }
}

function hatched(context, from, to, top, tall, colour) {
  if (to <= from) return;
  context.save();
  context.beginPath();
  context.rect(from, top, to - from, tall);
  context.clip();
  context.strokeStyle = colour;
  context.lineWidth = 1.5;
  context.beginPath();
  for (let x = Math.floor((from - tall) / 5) * 5; x < to; x += 5) {
    context.moveTo(x, top + tall);
    context.lineTo(x + tall, top);
  }
  context.stroke();
  context.lineWidth = 1;
  context.strokeRect(from + 0.5, top + 0.5, Math.max(0, to - from - 1), tall - 1);
  context.restore();
}
