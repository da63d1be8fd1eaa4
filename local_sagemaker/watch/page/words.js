// Numbers, sizes and times in words.

const KIB = 2 ** 10;
const MIB = 2 ** 20;
const GIB = 2 ** 30;

export function bytes(size) {
  if (size >= GIB) return `${(size / GIB).toFixed(1)} GiB`;
  if (size < MIB) return `${Math.ceil(size / KIB)} KiB`;
  return `${size >= 10 * MIB ? Math.round(size / MIB) : (size / MIB).toFixed(1)} MiB`;
}

export function usedOf(used, limit) {
  return `${bytes(used)} of ${bytes(limit)}`;
}

export function milliseconds(value) {
  if (value === null || value === undefined) return "";
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

export function plural(count, noun) {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** Return the beginning of an instance id, which is unique enough for the page. */
export function shortId(id) {
  return id.slice(0, 8);
}

const SCALING_ALARM = /TargetTracking-(?:endpoint\/[^/\s]+\/variant|inference-component)\/\S+?-(Alarm(?:High|Low))-[0-9a-f-]{36}/g;

/** Shorten the names of scaling policies' alarms, which contain UUIDs, to AlarmHigh or AlarmLow. */
export function shortenAlarmNames(text) {
  return text.replace(SCALING_ALARM, "$1");
}

/** Return whether an alarm belongs to a scaling policy: then the state ALARM is no problem. */
export function isScalingAlarm(name) {
  return name.startsWith("TargetTracking-");
}
