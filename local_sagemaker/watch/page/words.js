// Numbers and times as people read them.

const MIB = 2 ** 20;
const GIB = 2 ** 30;

export function bytes(size) {
  if (size >= GIB) return `${(size / GIB).toFixed(1)} GiB`;
  return `${size >= 10 * MIB || size === 0 ? Math.round(size / MIB) : (size / MIB).toFixed(1)} MiB`;
}

export function share(used, limit) {
  return used === null ? "not measured yet" : `${bytes(used)} of ${bytes(limit)}`;
}

export function milliseconds(value) {
  if (value === null || value === undefined) return "–";
  if (value >= 1000) return `${Number((value / 1000).toFixed(1))} s`;
  return `${value >= 100 ? Math.round(value) : Number(value.toPrecision(3))} ms`;
}

export function rate(value) {
  return `${value >= 10 || value === 0 ? Math.round(value) : value.toFixed(1)} /s`;
}

export function number(value) {
  return value === null ? "no data" : String(Number(value.toPrecision(4)));
}

export function clock(seconds) {
  return new Date(seconds * 1000).toLocaleTimeString("en-GB");
}

export function many(count, one) {
  return `${count} ${one}${count === 1 ? "" : "s"}`;
}

/** An id of EC2's, as short as it is still one of a kind here. */
export function short(id) {
  return id.slice(0, 8);
}

const OF_SCALING = /TargetTracking-(?:endpoint\/[^/\s]+\/variant|inference-component)\/\S+?-(Alarm(?:High|Low))-[0-9a-f-]{36}/g;

/** A text with the alarms of scaling policies by what they are: their names are made of UUIDs. */
export function withoutIds(text) {
  return text.replace(OF_SCALING, "$1");
}

/** Whether an alarm is a scaling policy's own: that it is in ALARM means no harm. */
export function isOfScaling(name) {
  return name.startsWith("TargetTracking-");
}
