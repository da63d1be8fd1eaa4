// What the keyboard does.

import { axis } from "./axis.js";
import { $ } from "./elements.js";

/** Listen; `choose(index)` takes an endpoint, `pause()` pauses or goes on, `changed()` shows anew. */
export function listen({ choose, pause, changed }) {
  const moves = {
    ArrowLeft: (shown, step) => shown - step,
    ArrowRight: (shown, step) => shown + step,
    Home: () => Math.ceil(axis.begin),
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
      pause();
    } else if (event.key === "Escape") {
      axis.moment = null;
      changed();
    } else if (event.key in moves && !(onControl && event.target.type === "checkbox")) {
      const moved = moves[event.key](axis.shown, event.shiftKey ? 10 : 1);
      axis.moment = moved !== null && moved >= Math.floor(axis.end) - 1 ? null : moved;
      if (axis.moment !== null) axis.moment = Math.max(axis.moment, Math.ceil(axis.begin));
      changed();
    } else {
      return;
    }
    event.preventDefault();
  });
  $("help").addEventListener("click", () => $("keys").showModal());
  $("pause").addEventListener("click", pause);
}
