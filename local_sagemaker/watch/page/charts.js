// The charts of a variant's rate of calls and latency, drawn by uPlot.

import uPlot from "./uplot.js";

import { axis } from "./axis.js";
import { theme } from "./theme.js";
import { clock, milliseconds } from "./words.js";

const RATE_PX = 130;
const LATENCY_PX = 156;
const LABEL_PX = 54;
const FONT = "11px system-ui, sans-serif";

/** The two charts of a variant; `rate` and `latency` are their parent elements. */
export class Charts {
  constructor(rate, latency) {
    this.#parents = [rate, latency];
    this.#create();
  }

  #parents;
  #charts = [];

  #create() {
    const colours = theme();
    const [rate, latency] = this.#parents;
    const width = Math.max(120, rate.clientWidth);
    this.#charts = [
      createChart(rate, colours, { width, height: RATE_PX, showTimes: false, label: (value) => `${value}` }, [
        { stroke: colours.calls, fill: colours["calls-tint"], width: 1.5 },
        { stroke: colours.danger, fill: colours["danger-tint"], width: 1.5 },
      ]),
      createChart(latency, colours, { width, height: LATENCY_PX, showTimes: true, label: milliseconds }, [
        { stroke: colours.calls, width: 1.5, points: alonePoints },
        { stroke: colours.p95, width: 1.5, dash: [5, 3], points: alonePoints },
      ]),
    ];
  }

  /** Draw the rates, which are [second, calls, errors, p50, p95], the oldest first. */
  show(rates) {
    const [rate, latency] = this.#charts;
    const shown = withGaps(rates.filter(([second]) => second >= axis.start - 1 && second <= axis.end));
    const columns = [0, 1, 2, 3, 4].map((column) => shown.map((values) => values[column]));
    rate.setData([columns[0], columns[1], columns[2]]);
    latency.setData([columns[0], columns[3], columns[4]]);
  }

  /** Adapt the width to the page. */
  fit() {
    const width = Math.max(120, this.#parents[0].clientWidth);
    if (this.#charts[0].width !== width) {
      this.#charts.forEach((chart) => chart.setSize({ width, height: chart.height }));
    }
  }

  /** Create the charts again, with the current colours. */
  recreate() {
    this.destroy();
    this.#create();
  }

  /** Remove the charts. */
  destroy() {
    this.#charts.forEach((chart) => chart.destroy());
  }
}

/** Return the labels of times, without those that the ends of the axis would cut off. */
function times(chart, ticks) {
  const isWhole = (time) => Math.min(axis.position(time), 1 - axis.position(time)) * (chart.width - axis.gutter) > LABEL_PX / 2;
  return ticks.map((time) => (isWhole(time) ? clock(time) : ""));
}

/** Return the rates with a row of nulls where seconds are missing: no line crosses it. */
function withGaps(rates) {
  return rates.flatMap((values, index) => {
    const before = index && rates[index - 1][0] + 1;
    return before && before < values[0] ? [[before, null, null, null, null], values] : [values];
  });
}

/** Points only for seconds whose neighbours have no value, which have no line. */
const alonePoints = {
  size: 3,
  filter: (chart, series) => {
    const values = chart.data[series];
    const isAlone = (index) => values[index] !== null && (values[index - 1] ?? null) === null && (values[index + 1] ?? null) === null;
    return [...values.keys()].filter(isAlone);
  },
};

function createChart(parent, colours, { width, height, showTimes, label }, series) {
  const axisStyle = { stroke: colours.quiet, font: FONT, grid: { stroke: colours.grid, width: 1 }, ticks: { show: false } };
  const options = {
    width,
    height,
    padding: [6, 0, showTimes ? 0 : 6, 0],
    cursor: { show: false },
    legend: { show: false },
    select: { show: false },
    scales: {
      x: { range: () => [axis.start, axis.end] },
      y: { range: (_, __, maximum) => [0, Math.max(1, (maximum ?? 0) * 1.08)] },
    },
    axes: [
      { ...axisStyle, show: showTimes, size: 24, space: 70, incrs: [15, 30, 60, 120], values: times },
      { ...axisStyle, size: () => axis.gutter, space: 26, values: (_, ticks) => ticks.map(label) },
    ],
    series: [{}, ...series.map((options) => ({ points: { show: false }, ...options }))],
  };
  if (!showTimes) options.axes[0] = { ...axisStyle, size: 0, space: 70, incrs: [15, 30, 60, 120], values: () => [] };
  return new uPlot(options, [[], [], []], parent);
}
