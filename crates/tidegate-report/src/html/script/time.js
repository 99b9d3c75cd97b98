// What happened over time: per queue one chart of what all have in common, panels above a common axis, and one of its
// inner state, panels side by side.
const finite = (values) => values.filter((v) => v !== null);
const mostOf = (what) => greatest(runs.flatMap((run) => run.series
  ? run.series.lines.filter((l) => l.what === what).flatMap((l) => finite(l.values)) : []), 0);

/** The panels of one queue that every queue has: each an axis of its own above a common time. */
function commonPanels(run) {
  const lines = run.series.lines;
  const list = [];
  const add = (what, title, unit, factor, same) => {
    const own = lines.filter((l) => l.what === what);
    if (own.length) list.push({ what, title: title + (unit ? ', ' + unit : ''), unit, factor, lines: own, most: same ? mostOf(what) / factor : undefined });
  };
  const [factor, unit] = unitFor(mostOf('throughput'));
  add('throughput', 'throughput', unit, factor, true);
  const queue = lines.find((l) => l.what === 'queue');
  add('queue', 'queue', queue ? queue.unit : '', 1, true);
  add('delay', 'delay', 'ms', 1, true);
  return list;
}

/** The panels of a queue's inner state. */
function gaugePanels(run) {
  const list = [];
  const gauges = run.series.lines.filter((l) => l.what === 'gauge');
  for (const unit of [...new Set(gauges.map((l) => l.unit))]) {
    const own = gauges.filter((l) => l.unit === unit);
    // Gauges without a unit may differ in size a thousandfold: each has its own panel.
    const parts = unit === '' ? own.map((l) => [l]) : [own];
    for (const part of parts) {
      list.push({ what: 'gauge', title: part.map((l) => l.name).join(', ') + (unit ? ', ' + unit : ''), unit, factor: 1, lines: part });
    }
  }
  return list;
}

const GAUGES = ['bar', 'c2', 'c3', 'o1'];

/** Where each panel stands: below each other, or, of the inner state, in rows as full as can be. */
function places(list, box, inner) {
  const GAP = 38, TOP = 24, LEFT = 52, RIGHT = 14, wide = box.clientWidth;
  const tall = inner ? 76 : 84;
  const most = inner ? Math.max(1, Math.min(3, Math.floor(wide / 300))) : 1;
  const rows = Math.ceil(list.length / most), columns = Math.ceil(list.length / rows);
  return list.map((_, k) => {
    const row = Math.floor(k / columns), mates = Math.min(columns, list.length - row * columns);
    const cell = wide / mates, x = (k - row * columns) * cell;
    const last = inner || k === list.length - 1;
    return { left: x + LEFT, width: cell - LEFT - RIGHT, top: TOP + row * (tall + GAP + (inner ? 16 : 0)), height: tall, last };
  });
}

const time = (run, box, c) => overTime(run, box, c, commonPanels(run), false);
const state = (run, box, c) => overTime(run, box, c, gaugePanels(run), true);

function overTime(run, box, c, list, inner) {
  const place = places(list, box, inner);
  const bottom = place.length ? place[place.length - 1].top + place[place.length - 1].height : 0;
  const grid = (g) => Array.isArray(g) ? g : Array.from({ length: g.count }, (_, i) => +(g.from + i * g.step).toPrecision(9));
  const time = grid(run.series.time), grids = { throughput: grid(run.series.coarse), gauge: grid(run.series.inner) };
  // Samples that stand for the interval they begin end where the last interval ends: at 100 s, not at 99.8.
  const last = time[time.length - 1] || 0, after = last + (time.length > 1 ? last - time[time.length - 2] : 0);
  const whole = (t) => Math.abs(t - Math.round(t)) < 1e-6;
  const end = !whole(last) && whole(after) ? Math.round(after) : last;
  const start = time.length > 2 && time[0] <= 2 * (time[1] - time[0]) ? 0 : time[0] || 0;
  const round = (v) => v === 0 ? '0' : Math.abs(v) >= 1e4 || Math.abs(v) < 1e-3 ? v.toExponential(0) : String(+v.toPrecision(3));
  const series = [];
  const colour = (panel, line, n) => panel.what === 'throughput' ? c.of[line.name] || c.bar
    : panel.what === 'gauge' && n > 0 ? css(GAUGES[n % GAUGES.length]) : c.bar;
  // Where a panel has several gauges, each name in its line's colour is the legend.
  const heading = (panel) => panel.what !== 'gauge' || panel.lines.length < 2 ? { text: panel.title, rich: {} } : {
    text: panel.lines.map((l, n) => '{l' + n + '|' + l.name.replace(/[{}|]/g, ' ') + '}').join(', ') + (panel.unit ? ', ' + panel.unit : ''),
    rich: Object.fromEntries(panel.lines.map((l, n) => ['l' + n, { color: colour(panel, l, n), fontSize: 12, fontWeight: 600 }])),
  };
  list.forEach((panel, k) => {
    panel.lines.forEach((line, n) => {
      const color = colour(panel, line, n);
      const own = panel.what === 'throughput' ? of(run, line.name) : undefined;
      series.push({
        name: line.name, type: 'line', xAxisIndex: k, yAxisIndex: k, showSymbol: false, connectNulls: false,
        lineStyle: { color, width: 1.4 }, itemStyle: { color },
        areaStyle: panel.what === 'queue' || panel.what === 'delay' ? { color, opacity: 0.14 } : undefined,
        data: (grids[panel.what] || time).map((t, i) => [t, line.values[i] === null || line.values[i] === undefined ? null : line.values[i] / panel.factor]),
        markLine: own && own.fair !== null ? {
          silent: true, symbol: 'none', label: { show: false }, data: [{ yAxis: own.fair / panel.factor }],
          lineStyle: { color, type: [4, 4], width: 1.2 } } : undefined,
      });
    });
  });
  return Object.assign(base(c), {
    height: bottom + 30,
    title: list.map((panel, k) => ({
      text: heading(panel).text, left: place[k].left - 48, top: place[k].top - 22,
      textStyle: { fontSize: 12, fontWeight: 600, color: c.soft, fontFamily: FONT, rich: heading(panel).rich },
    })),
    grid: place.map(({ left, width, top, height }) => ({ left, width, top, height, outerBoundsMode: 'none' })),
    axisPointer: { link: [{ xAxisIndex: 'all' }] },
    xAxis: list.map((_, k) => ({
      type: 'value', gridIndex: k, min: start, max: end,
      axisLabel: { show: place[k].last, color: c.soft, fontSize: 12, formatter: (t) => round(t) + ' s', hideOverlap: true, alignMaxLabel: 'right', alignMinLabel: 'left' },
      axisTick: { show: false }, axisLine: { lineStyle: { color: c.quiet } }, splitLine: { show: false },
    })),
    yAxis: list.map((panel, k) => valueAxis(c, undefined, {
      gridIndex: k, min: 0, max: panel.most ? panel.most * 1.04 : undefined, splitNumber: panel.what === 'gauge' ? 2 : 3,
      axisLabel: { color: c.soft, fontSize: 12, verticalAlignMaxLabel: 'top', showMaxLabel: panel.most ? false : undefined, formatter: round, hideOverlap: true },
    })),
    tooltip: Object.assign(base(c).tooltip, {
      trigger: 'axis',
      formatter: (items) => digits(items[0].value[0]) + ' s<br>' + items.map((p) => {
        const panel = list[p.axisIndex !== undefined ? p.axisIndex : 0];
        const value = p.value[1];
        return p.marker + escape(p.seriesName) + ': <b>' + (value === null || value === undefined ? '–' : digits(value)) + '</b> ' + escape(panel.unit);
      }).join('<br>'),
    }),
    series,
  });
}
