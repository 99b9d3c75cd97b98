// Who got what: how the bottleneck was divided, and every group against its fair share.
/** Both charts of this row are as tall as the taller; below each other, as tall as they need be. `bars`: rows of the first. */
function outcomeHeight(box, bars) {
  const shares = runs.some((run) => run.groups.some((g) => g.share)) ? runs.length * Math.max(36, groups.length * 18 + 10) : 0;
  const rows = beside(box) ? runs.length + 1 : bars;
  return 64 + (bars > 0 && !beside(box) ? rows * 36 : Math.max(rows * 36, shares));
}

function division(box, c) {
  const fair = runs.map((run) => run.groups.every((g) => g.fair !== null)).every(Boolean);
  const rows = (fair ? ['fair shares'] : []).concat(titles);
  const total = (run) => run.groups.reduce((sum, g) => sum + (g.throughput ? g.throughput.mean : 0), 0);
  const most = Math.max(...runs.map((run) => Math.max(run.rate || 0, total(run))), 1);
  const [factor, unit] = unitFor(most);
  const series = groups.map((group) => ({
    name: group.name, type: 'bar', stack: 'all', barWidth: '62%', barMaxWidth: 30,
    itemStyle: { color: c.of[group.name], borderColor: c.card, borderWidth: 1 },
    label: {
      show: true, fontSize: 12, color: '#fff', textBorderColor: 'rgba(0,0,0,.45)', textBorderWidth: 2,
      formatter: (p) => p.value / most * factor > (narrow(box) ? 0.16 : 0.09) ? digits(p.value) : '',
    },
    data: rows.map((_, i) => {
      const run = runs[fair ? Math.max(0, i - 1) : i];
      const own = of(run, group.name);
      const value = !own ? 0 : fair && i === 0 ? own.fair : own.throughput ? own.throughput.mean : 0;
      if (!fair || i > 0) return { value: value / factor };
      return { value: value / factor, itemStyle: { opacity: 0.3 }, label: { color: c.ink, textBorderWidth: 0, opacity: 1 } };
    }),
  }));
  if (runs.some((run) => run.rate)) {
    series.push({
      name: 'unused', type: 'bar', stack: 'all', itemStyle: { color: c.grid },
      data: rows.map((_, i) => {
        const run = runs[fair ? Math.max(0, i - 1) : i];
        const used = fair && i === 0 ? run.groups.reduce((sum, g) => sum + g.fair, 0) : total(run);
        return Math.max(0, (run.rate || 0) - used) / factor;
      }),
    });
  }
  return Object.assign(base(c), {
    height: outcomeHeight(box, rows.length),
    grid: { left: left(box, rows), right: 18, top: 6, bottom: 44 },
    xAxis: valueAxis(c, 'throughput, ' + unit, { max: most / factor }),
    yAxis: {
      type: 'category', data: rows, inverse: true, axisTick: { show: false }, axisLine: { show: false },
      axisLabel: {
        fontSize: 13, formatter: (t) => shorten(t, room(box)),
        color: (_, i) => fair && i === 0 ? c.soft : c.ink,
      },
    },
    tooltip: Object.assign(base(c).tooltip, {
      trigger: 'axis', axisPointer: { type: 'shadow' },
      formatter: (items) => {
        const i = items[0].dataIndex - (fair ? 1 : 0);
        const lines = groups.map((group) => {
          const own = of(runs[Math.max(0, i)], group.name);
          const text = !own ? '–' : i < 0 ? rate(own.fair) : own.throughput ? plusMinus(own.throughput, RATE) : '–';
          return escape(group.name) + ': <b>' + text + '</b>';
        });
        return escape(rows[items[0].dataIndex]) + '<br>' + lines.join('<br>');
      },
    }),
    series,
  });
}

const LADDER = [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000, 3000, 1e4];
/** Shares below this are off the scale: marked at its edge with an arrow and their figure. */
const LEAST_SHARE = 0.0001;

/** The ends of the axis of shares: all figures with their whiskers, and room for words on both sides. */
function shareScale(box) {
  const all = runs.flatMap((run) => run.groups.map((g) => g.share)).filter(Boolean);
  const lows = all.flatMap((f) => [f.mean - (f.ci95 || 0), f.mean]).filter((x) => x >= LEAST_SHARE);
  const worst = runs.flatMap((run) => run.groups.map((g) => g.worst)).filter(Boolean).map((f) => f.mean);
  const low = Math.min(0.5, ...lows, ...worst.filter((x) => x >= LEAST_SHARE)) / 1.2, high = Math.max(2, ...all.map((f) => f.mean + (f.ci95 || 0))) * 1.2;
  const words = Math.min(0.3, 74 / Math.max(200, box.clientWidth - left(box, titles) - 26));
  const margin = Math.pow(high / low, words / (1 - 2 * words));
  return [low / margin, high * margin];
}

/** The labelled shares: as fine as there is room for, the fair share always among them. */
function rungs(low, high, most) {
  const steps = LADDER.filter((x) => x >= low && x <= high);
  const tens = steps.map((x) => Math.log10(x)).filter((e) => Math.abs(e - Math.round(e)) < 1e-9).map(Math.round);
  const every = [1, 2, 3, 4].find((n) => tens.filter((e) => e % n === 0).length <= most) || 8;
  return steps.length <= most ? steps : tens.filter((e) => e % every === 0).map((e) => Math.pow(10, e));
}

/** One group's dots, whiskers and words. Words stand outwards, so that the line at the fair share
 *  crosses none, but where the whisker reaches the left edge, beyond which are the queues' names. */
function shareMarks(group, k, low) {
  const step = 0.68 / Math.max(1, groups.length);
  const dots = [], spans = [], ends = [], rings = [];
  runs.forEach((run, i) => {
    const own = of(run, group.name);
    if (!own || !own.share) return;
    const y = i + (k - (groups.length - 1) / 2) * step, f = own.share, half = f.ci95 || 0;
    const off = f.mean < low, from = Math.max(low, f.mean - half), to = Math.max(low, f.mean + half);
    if (own.worst) rings.push({ value: [Math.max(low, own.worst.mean), y], figure: own.worst, queue: run.title, worst: true });
    dots.push({ value: [Math.max(low, f.mean), y], figure: f, queue: run.title, symbol: off ? 'triangle' : 'circle', symbolRotate: off ? 90 : 0 });
    if (f.ci95 !== null && !off) spans.push([from, to, y]);
    const inward = off || f.mean >= 1 || f.mean - half <= low;
    ends.push([inward ? to : from, y, percent(f.mean) + (off ? ', off the scale' : ''), inward ? 'right' : 'left']);
  });
  return { dots, spans, ends, rings };
}

function share(box, c) {
  const [low, high] = shareScale(box);
  const series = groups.flatMap((group, k) => {
    const { dots, spans, ends, rings } = shareMarks(group, k, low);
    const ring = { color: 'transparent', borderColor: c.of[group.name], borderWidth: 2, opacity: 1 };
    return [whisker(group.name, c.of[group.name], spans), words(group.name, c, ends),
      { name: group.name, type: 'scatter', symbolSize: 9, clip: false, itemStyle: ring, data: rings }, {
      name: group.name, type: 'scatter', symbolSize: 11, clip: false, itemStyle: { color: c.of[group.name], opacity: 1 }, data: dots,
      markLine: k > 0 ? undefined : {
        silent: true, symbol: 'none', label: { show: false }, z: 0,
        data: [{ xAxis: 1, lineStyle: { color: c.ink, type: 'dashed', width: 1.5 } }].concat(between(c)),
      },
    }];
  });
  const ladder = rungs(low, high, Math.floor((box.clientWidth - left(box, titles) - 26) / 62));
  return Object.assign(base(c), {
    height: outcomeHeight(box, 0),
    grid: { left: left(box, titles), right: 26, top: 6, bottom: 44 },
    xAxis: valueAxis(c, '% of the fair share (dashed)', {
      type: 'log', min: low, max: high,
      axisLabel: { customValues: ladder, formatter: (x) => Math.abs(x - 1) < 1e-9 ? 'fair' : +(x * 100).toPrecision(1) + ' %', color: c.soft, fontSize: 12 },
      axisTick: { show: false }, splitLine: { show: false },
    }),
    yAxis: rowAxis(c, titles, room(box)),
    tooltip: Object.assign(base(c).tooltip, {
      formatter: (p) => escape(p.data.queue) + ', ' + escape(p.seriesName) + '<br><b>' + plusMinus(p.data.figure, PERCENT) + '</b> of ' + (p.data.worst ? 'a fair share: its worst user' : 'its fair share'),
    }),
    series,
  });
}
