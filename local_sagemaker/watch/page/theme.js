// The colours of the style sheet, for what is drawn.

const NAMES = [
  "text", "quiet", "line", "grid", "calls", "calls-tint", "danger", "danger-tint", "p95", "loaded",
  "loaded-tint", "served", "waiting", "gone",
];

let colours = null;

export function theme() {
  if (!colours) {
    const style = getComputedStyle(document.documentElement);
    colours = Object.fromEntries(NAMES.map((it) => [it, style.getPropertyValue(`--${it}`).trim()]));
  }
  return colours;
}

/** Call `changed` when the reader's scheme changes. */
export function onTheme(changed) {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    colours = null;
    changed();
  });
}
