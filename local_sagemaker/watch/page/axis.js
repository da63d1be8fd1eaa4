// The one axis of time: five minutes that end now, or where they were paused.

export const SPAN_S = 300;

const NARROW = matchMedia("(max-width: 700px)");

export const axis = {
  now: 0, // the latest state's
  paused: null,
  moment: null, // that is looked at; null is the present

  get end() {
    return this.paused ?? this.now;
  },
  get begin() {
    return this.end - SPAN_S;
  },
  /** Pixels at the left, where names and numbers stand. */
  get gutter() {
    return NARROW.matches ? 46 : 150;
  },
  get narrow() {
    return NARROW.matches;
  },
  /** Where a time is, from 0 to 1. */
  place(time) {
    return (time - this.begin) / SPAN_S;
  },
  /** The moment that is shown: a second that has ended. */
  get shown() {
    const last = Math.floor(this.end) - 1;
    if (this.moment === null) return last;
    return Math.min(last, Math.max(Math.ceil(this.begin), this.moment));
  },
};
