// Keyboard commands.

import { axis } from "./axis.js";
import { $ } from "./elements.js";

/** Handle keys; `choose(index)` selects an endpoint, `onTime()` is called for a new selected time. */
export function handleKeys({ choose, togglePause, onTime }) {
  const moves = {
    ArrowLeft: (second, step) => second - step,
    ArrowRight: (second, step) => second + step,
    Home: () => Math.ceil(axis.start),
    End: () => null,
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || $("keys").open) return;
    const onControl = event.target.closest("button, input, a, summary");
    if (event.key === "?") {
      $("keys").showModal();
    } else if (/^[1-9]$/.test(event.key)) {
      choose(Number(event.key) - 1);
    } else if (event.key === " " && !onControl) {
      togglePause();
    } else if (event.key === "Escape") {
      axis.selected = null;
      onTime();
    } else if (event.key in moves && !(onControl && event.target.type === "checkbox")) {
      const time = moves[event.key](axis.shownSecond, event.shiftKey ? 10 : 1);
      axis.selected = time !== null && time >= Math.floor(axis.end) - 1 ? null : time;
      if (axis.selected !== null) axis.selected = Math.max(axis.selected, Math.ceil(axis.start));
      onTime();
    } else {
      return;
    }
    event.preventDefault();
  });
  $("help").addEventListener("click", () => $("keys").showModal());
  $("pause").addEventListener("click", togglePause);
}
