// The time axis: five minutes that end now, or at the time of the pause.

export const SPAN_S = 300;

const NARROW = matchMedia("(max-width: 700px)");

export const axis = {
  now: 0, // time of the latest state, in Unix seconds
  pausedAt: null,
  selected: null, // time of the cursor; null is the present

  get end() {
    return this.pausedAt ?? this.now;
  },
  get start() {
    return this.end - SPAN_S;
  },
  /** Width of the column of names at the left, in pixels. */
  get gutter() {
    return NARROW.matches ? 46 : 150;
  },
  get narrow() {
    return NARROW.matches;
  },
  /** Return the position of a time, from 0 (start) to 1 (end). */
  position(time) {
    return (time - this.start) / SPAN_S;
  },
  /** The selected second, or the last completed one. */
  get shownSecond() {
    const last = Math.floor(this.end) - 1;
    if (this.selected === null) return last;
    return Math.min(last, Math.max(Math.ceil(this.start), this.selected));
  },
};
