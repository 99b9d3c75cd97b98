// At what price: fairness, delay, loss and utilization, queue by queue.

const PLAIN = 60 + runs.length * 30;
const lossHeight = 60 + runs.length * Math.max(30, groups.length * 18 + 6);

/** One bar with its interval per queue, from 0 to 1. */
function bars(box, c, pick, axis, write, scale, unit, height) {
  const figures = runs.map(pick);
  const spans = figures.flatMap((f, i) => f && f.ci95 !== null
    ? [[Math.max(0, f.mean - f.ci95) * scale, Math.min(1, f.mean + f.ci95) * scale, i]] : []);
  const ends = figures.flatMap((f, i) => f ? [[Math.min(1, f.mean + (f.ci95 || 0)) * scale, i, write(f.mean)]] : []);
  return Object.assign(base(c), {
    height,
    grid: { left: left(box, titles), right: 60, top: 4, bottom: 44 },
    xAxis: valueAxis(c, axis, { min: 0, max: scale, interval: scale / 4 }),
    yAxis: [
      { type: 'category', data: titles, inverse: true, axisTick: { show: false }, axisLine: { show: false },
        axisLabel: { color: c.ink, fontSize: 13, formatter: (t) => shorten(t, room(box)) } },
      Object.assign(rowAxis(c, titles, 0), { show: false }),
    ],
    tooltip: Object.assign(base(c).tooltip, {
      formatter: (p) => escape(titles[p.dataIndex]) + '<br><b>' + (figures[p.dataIndex] ? plusMinus(figures[p.dataIndex], unit) : '–') + '</b>',
    }),
    series: [
      { type: 'bar', barWidth: '52%', barMaxWidth: 30, itemStyle: { color: c.bar, borderRadius: [0, 3, 3, 0] },
        data: figures.map((f) => f ? f.mean * scale : null) },
      Object.assign(whisker('interval', c.ink, spans), { yAxisIndex: 1, z: 3 }),
      Object.assign(words('figure', c, ends), { yAxisIndex: 1 }),
    ],
  });
}

const jain = (box, c) => bars(box, c, (run) => run.jain, 'Jain’s index', (x) => x.toFixed(3), 1, NUMBER, PLAIN);
const utilization = (box, c) => bars(box, c, (run) => run.utilization, 'utilization, %', percent, 100, PERCENT, beside(box) ? lossHeight : PLAIN);

function delay(box, c) {
  const dots = (key, symbol) => runs.flatMap((run, i) => run[key]
    ? [{ value: [run[key].mean, i], figure: run[key], what: key === 'p50' ? 'median' : '99th percentile', queue: run.title, symbol }] : []);
  const both = runs.flatMap((run, i) => run.p50 && run.p99 ? [[run.p50.mean, run.p99.mean, i]] : []);
  const ms = (x) => digits(x) + ' ms';
  return Object.assign(base(c), {
    height: PLAIN,
    grid: { left: left(box, titles), right: 60, top: 4, bottom: 44 },
    xAxis: valueAxis(c, 'delay, ms', { min: 0 }),
    yAxis: rowAxis(c, titles, room(box)),
    tooltip: Object.assign(base(c).tooltip, {
      formatter: (p) => escape(p.data.queue) + ', ' + p.data.what + '<br><b>' + plusMinus(p.data.figure, MS) + '</b>',
    }),
    series: [
      Object.assign(whisker('span', c.quiet, both), { lineStyle: { color: c.quiet, width: 5, cap: 'round' } }),
      { type: 'scatter', symbolSize: 11, itemStyle: { color: c.bar, opacity: 1 }, data: dots('p50', 'circle') },
      { type: 'scatter', symbolSize: 11, itemStyle: { color: c.card, borderColor: c.bar, borderWidth: 2.5, opacity: 1 }, data: dots('p99', 'circle'),
        label: { show: true, position: 'right', distance: 7, color: c.ink, fontSize: 12, formatter: (p) => ms(p.data.figure.mean) } },
    ],
  });
}

function loss(box, c) {
  const step = 0.68 / Math.max(1, groups.length);
  const series = groups.flatMap((group, k) => {
    const dots = [], spans = [], ends = [];
    runs.forEach((run, i) => {
      const own = of(run, group.name);
      if (!own || !own.loss) return;
      const y = i + (k - (groups.length - 1) / 2) * step, f = own.loss;
      dots.push({ value: [f.mean * 100, y], figure: f, queue: run.title });
      if (f.ci95 !== null) spans.push([Math.max(0, f.mean - f.ci95) * 100, Math.min(1, f.mean + f.ci95) * 100, y]);
      if (groups.length < 5) ends.push([Math.min(1, f.mean + (f.ci95 || 0)) * 100, y, percent(f.mean)]);
    });
    return [whisker(group.name, c.of[group.name], spans), words(group.name, c, ends), {
      name: group.name, type: 'scatter', symbolSize: 10, itemStyle: { color: c.of[group.name], opacity: 1 }, data: dots,
      markLine: k > 0 ? undefined : { silent: true, symbol: 'none', label: { show: false }, z: 0, data: between(c) },
    }];
  });
  return Object.assign(base(c), {
    height: lossHeight,
    grid: { left: left(box, titles), right: 60, top: 4, bottom: 44 },
    xAxis: valueAxis(c, 'loss, %', { min: 0, max: 100, interval: 25 }),
    yAxis: rowAxis(c, titles, room(box)),
    tooltip: Object.assign(base(c).tooltip, {
      formatter: (p) => escape(p.data.queue) + ', ' + escape(p.seriesName) + '<br><b>' + plusMinus(p.data.figure, PERCENT) + '</b> lost',
    }),
    series,
  });
}
