// A variant's rate and latency over time, drawn by uPlot.

import uPlot from "./uplot.js";

import { axis } from "./axis.js";
import { theme } from "./theme.js";
import { clock, milliseconds } from "./words.js";

const RATE_PX = 130;
const LATENCY_PX = 156;
const FONT = "11px system-ui, sans-serif";

/** The two charts of a variant, in an element each. */
export class Charts {
  constructor(rate, latency) {
    this.#hosts = [rate, latency];
    this.#make();
  }

  #hosts;
  #charts = [];

  #make() {
    const colours = theme();
    const [rate, latency] = this.#hosts;
    const width = Math.max(120, rate.clientWidth);
    this.#charts = [
      chart(rate, colours, { width, height: RATE_PX, times: false, least: 1, label: (it) => `${it}` }, [
        { stroke: colours.calls, fill: colours["calls-tint"], width: 1.5 },
        { stroke: colours.danger, fill: colours["danger-tint"], width: 1.5 },
      ]),
      chart(latency, colours, { width, height: LATENCY_PX, times: true, least: 1, label: milliseconds }, [
        { stroke: colours.calls, width: 1.5, spanGaps: true },
        { stroke: colours.p95, width: 1.5, dash: [5, 3], spanGaps: true },
      ]),
    ];
  }

  /** Draw [second, calls, errors, p50, p95] of each second, the oldest first. */
  show(rates) {
    const [rate, latency] = this.#charts;
    const shown = rates.filter(([second]) => second >= axis.begin - 1 && second <= axis.end);
    const columns = [0, 1, 2, 3, 4].map((column) => shown.map((it) => it[column]));
    rate.setData([columns[0], columns[1], columns[2]]);
    latency.setData([columns[0], columns[3], columns[4]]);
  }

  /** Take the width that there is. */
  fit() {
    const width = Math.max(120, this.#hosts[0].clientWidth);
    if (this.#charts[0].width !== width) {
      this.#charts.forEach((it) => it.setSize({ width, height: it.height }));
    }
  }

  /** Be made anew, of other colours. */
  remake() {
    this.end();
    this.#make();
  }

  end() {
    this.#charts.forEach((it) => it.destroy());
  }
}

function chart(host, colours, { width, height, times, least, label }, series) {
  const line = { stroke: colours.quiet, font: FONT, grid: { stroke: colours.grid, width: 1 }, ticks: { show: false } };
  const options = {
    width,
    height,
    padding: [6, 0, times ? 0 : 6, 0],
    cursor: { show: false },
    legend: { show: false },
    select: { show: false },
    scales: {
      x: { range: () => [axis.begin, axis.end] },
      y: { range: (_, __, most) => [0, Math.max(least, (most ?? 0) * 1.08)] },
    },
    axes: [
      { ...line, show: times, size: 24, space: 70, incrs: [15, 30, 60, 120], values: (_, ticks) => ticks.map(clock) },
      { ...line, size: () => axis.gutter, space: 26, values: (_, ticks) => ticks.map(label) },
    ],
    series: [{}, ...series.map((it) => ({ points: { show: false }, ...it }))],
  };
  if (!times) options.axes[0] = { ...line, size: 0, space: 70, incrs: [15, 30, 60, 120], values: () => [] };
  return new uPlot(options, [[], [], []], host);
}
