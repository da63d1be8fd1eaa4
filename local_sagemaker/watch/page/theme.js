// The colours of the style sheet, for canvases and charts.

const NAMES = [
  "text", "quiet", "line", "grid", "calls", "calls-tint", "danger", "danger-tint", "p95", "loaded",
  "loaded-tint", "served", "waiting", "gone",
];

let colours = null;

export function theme() {
  if (!colours) {
    const style = getComputedStyle(document.documentElement);
    colours = Object.fromEntries(NAMES.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
  }
  return colours;
}

/** Call `onChange` when the browser's colour scheme changes. */
export function onTheme(onChange) {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    colours = null;
    onChange();
  });
}
