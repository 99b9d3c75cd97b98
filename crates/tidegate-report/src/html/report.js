// Draws the charts of the report from the page's data. Everything shown here also stands in the page's tables.
'use strict';
(function () {
  const data = JSON.parse(document.getElementById('data').textContent);
  const { runs, groups } = data;
  const charts = new Map();
  const chosen = { order: 'sorted', scale: 'near' };

  // ---- Colours and numbers -------------------------------------------------------------------------------------

  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
  const palette = () => {
    const own = {};
    for (const name of ['ink', 'soft', 'line', 'grid', 'quiet', 'bar', 'card']) own[name] = css(name);
    let heeding = 0, heedless = 0;
    own.of = {};
    for (const group of groups) {
      const offends = group.conduct === 'unresponsive';
      own.of[group.name] = offends ? css('o' + heedless++ % 3) : css('c' + heeding++ % 4);
    }
    return own;
  };

  const UNITS = [[1e9, 'Gbit/s'], [1e6, 'Mbit/s'], [1e3, 'kbit/s'], [1, 'bit/s']];
  const unitFor = (most) => UNITS.find(([factor]) => most >= factor) || UNITS[3];
  const digits = (x) => {
    const size = Math.abs(x);
    if (size === 0) return '0';
    return x.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3);
  };
  const rate = (bps) => { const [factor, unit] = unitFor(bps); return digits(bps / factor) + ' ' + unit; };
  const times = (x) => x >= 1.995 ? (x >= 9.95 ? x.toFixed(0) : x.toFixed(1)) + ' ×' : (x * 100).toFixed(x < 0.0995 ? 1 : 0) + ' %';
  const plusMinus = (figure, write) =>
    write(figure.mean) + (figure.ci95 === null ? '' : ' ± ' + write(figure.ci95));
  const escape = (text) => String(text).replace(/[&<>"']/g, (c) => '&#' + c.charCodeAt(0) + ';');
  const narrow = (box) => box.clientWidth < 420;
  const shorten = (text, most) => text.length > most ? text.slice(0, most - 1) + '…' : text;

  // ---- What all charts share -----------------------------------------------------------------------------------

  const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", Arial, sans-serif';

  const base = (c) => ({
    animation: false,
    textStyle: { fontFamily: FONT, color: c.ink },
    aria: { enabled: true },
    tooltip: {
      confine: true, backgroundColor: c.card, borderColor: c.line,
      textStyle: { color: c.ink, fontSize: 12.5, fontFamily: FONT },
    },
  });

  const valueAxis = (c, name, more) => Object.assign({
    type: 'value', name, nameLocation: 'middle', nameGap: 26, nameTextStyle: { color: c.soft, fontSize: 12 },
    axisLabel: { color: c.soft, fontSize: 12, hideOverlap: true }, axisLine: { show: false }, axisTick: { show: false },
    splitLine: { lineStyle: { color: c.grid } },
  }, more);

  // Rows are positions on a value axis, so that the groups of one queue can stand above each other.
  const rowAxis = (c, titles, room) => ({
    type: 'value', min: -0.5, max: titles.length - 0.5, inverse: true,
    axisLabel: {
      customValues: titles.map((_, i) => i), formatter: (i) => shorten(titles[i] || '', room), color: c.ink, fontSize: 13,
    },
    axisTick: { show: false }, axisLine: { show: false }, splitLine: { show: false },
  });

  const whisker = (name, color, spans) => ({
    name, type: 'line', silent: true, showSymbol: false, connectNulls: false, clip: true, z: 1,
    lineStyle: { color, width: 2, opacity: 0.75 }, itemStyle: { color }, tooltip: { show: false },
    data: spans.flatMap(([x1, x2, y]) => [[x1, y], [x2, y], [null, null]]),
  });

  /** Thin lines between the rows of a row axis. */
  const between = (c) => runs.slice(1).map((_, i) => ({ yAxis: i + 0.5, lineStyle: { color: c.grid, type: 'solid', width: 1 } }));

  const room = (box) => narrow(box) ? 10 : 18;
  const left = (box, titles) => {
    const longest = Math.max(...titles.map((t) => shorten(t, room(box)).length));
    return Math.min(150, 16 + longest * 7.4);
  };
  const titles = runs.map((run) => run.title);
  const of = (run, name) => run.groups.find((group) => group.name === name);

  // ---- Who got what --------------------------------------------------------------------------------------------

  function division(box, c) {
    const fair = runs.map((run) => run.groups.every((g) => g.fair !== null)).every(Boolean);
    const rows = (fair ? ['fair shares'] : []).concat(titles);
    const total = (run) => run.groups.reduce((sum, g) => sum + (g.throughput ? g.throughput.mean : 0), 0);
    const most = Math.max(...runs.map((run) => Math.max(run.rate || 0, total(run))), 1);
    const [factor, unit] = unitFor(most);
    const series = groups.map((group) => ({
      name: group.name, type: 'bar', stack: 'all', barWidth: '62%',
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
      height: 64 + rows.length * 36,
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
            const text = !own ? '–' : i < 0 ? rate(own.fair) : own.throughput ? plusMinus(own.throughput, rate) : '–';
            return escape(group.name) + ': <b>' + text + '</b>';
          });
          return escape(rows[items[0].dataIndex]) + '<br>' + lines.join('<br>');
        },
      }),
      series,
    });
  }

  const LADDER = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000, 3000, 1e4];

  function share(box, c) {
    const all = runs.flatMap((run) => run.groups.map((g) => g.share)).filter(Boolean);
    const above = all.map((f) => f.mean).filter((x) => x > 0);
    const low = Math.max(0.001, Math.min(0.5, ...above) / 1.6);
    const high = Math.max(2, ...above) * (narrow(box) ? 4 : 2.2);
    const inside = (x) => Math.min(high, Math.max(low, x));
    const step = 0.68 / Math.max(1, groups.length);
    const series = [];
    groups.forEach((group, k) => {
      const dots = [], spans = [];
      runs.forEach((run, i) => {
        const own = of(run, group.name);
        if (!own || !own.share) return;
        const y = i + (k - (groups.length - 1) / 2) * step, f = own.share;
        dots.push({ value: [inside(f.mean), y], figure: f, queue: run.title });
        if (f.ci95 !== null) spans.push([inside(f.mean - f.ci95), inside(f.mean + f.ci95), y]);
      });
      series.push(whisker(group.name, c.of[group.name], spans));
      series.push({
        name: group.name, type: 'scatter', symbolSize: 11, itemStyle: { color: c.of[group.name], opacity: 1 }, data: dots,
        label: { show: true, position: 'right', distance: 8, color: c.ink, fontSize: 12, formatter: (p) => times(p.data.figure.mean) },
        markLine: k > 0 ? undefined : {
          silent: true, symbol: 'none', label: { show: false }, z: 0,
          data: [{ xAxis: 1, lineStyle: { color: c.ink, type: 'dashed', width: 1.5 } }].concat(between(c)),
        },
      });
    });
    const ladder = LADDER.filter((x) => x >= low && x <= high).filter((x, i, all) => !narrow(box) || all.length < 6 || /^1/.test(x.toExponential()));
    return Object.assign(base(c), {
      height: 64 + runs.length * Math.max(36, groups.length * 18 + 10),
      grid: { left: left(box, titles), right: 26, top: 6, bottom: 44 },
      xAxis: valueAxis(c, 'times the fair share (dashed)', {
        type: 'log', min: low, max: high,
        axisLabel: { customValues: ladder, formatter: (x) => x === 1 ? 'fair' : x + '×', color: c.soft, fontSize: 12 },
        axisTick: { show: false }, splitLine: { show: false },
      }),
      yAxis: rowAxis(c, titles, room(box)),
      tooltip: Object.assign(base(c).tooltip, {
        formatter: (p) => escape(p.data.queue) + ', ' + escape(p.seriesName) + '<br><b>' + plusMinus(p.data.figure, times) + '</b> of its fair share',
      }),
      series,
    });
  }

  // ---- What it cost --------------------------------------------------------------------------------------------

  const percent = (x) => digits(x * 100) + ' %';

  /** One bar with its interval per queue, from 0 to 1. */
  function bars(box, c, pick, axis, write, scale) {
    const figures = runs.map(pick);
    const spans = figures.flatMap((f, i) => f && f.ci95 !== null
      ? [[Math.max(0, f.mean - f.ci95) * scale, Math.min(1, f.mean + f.ci95) * scale, i]] : []);
    return Object.assign(base(c), {
      height: 60 + runs.length * 30,
      grid: { left: left(box, titles), right: 60, top: 4, bottom: 44 },
      xAxis: valueAxis(c, axis, { min: 0, max: scale, interval: scale / 4 }),
      yAxis: [
        { type: 'category', data: titles, inverse: true, axisTick: { show: false }, axisLine: { show: false },
          axisLabel: { color: c.ink, fontSize: 13, formatter: (t) => shorten(t, room(box)) } },
        Object.assign(rowAxis(c, titles, 0), { show: false }),
      ],
      tooltip: Object.assign(base(c).tooltip, {
        formatter: (p) => escape(titles[p.dataIndex]) + '<br><b>' + (figures[p.dataIndex] ? plusMinus(figures[p.dataIndex], write) : '–') + '</b>',
      }),
      series: [
        { type: 'bar', barWidth: '52%', itemStyle: { color: c.bar, borderRadius: [0, 3, 3, 0] },
          label: { show: true, position: 'right', distance: 8, color: c.ink, fontSize: 12, formatter: (p) => figures[p.dataIndex] ? write(figures[p.dataIndex].mean) : '' },
          data: figures.map((f) => f ? f.mean * scale : null) },
        Object.assign(whisker('interval', c.ink, spans), { yAxisIndex: 1, z: 3 }),
      ],
    });
  }

  const jain = (box, c) => bars(box, c, (run) => run.jain, 'Jain’s index', (x) => x.toFixed(3), 1);
  const utilization = (box, c) => bars(box, c, (run) => run.utilization, 'utilization, %', percent, 100);

  function delay(box, c) {
    const dots = (key, symbol) => runs.flatMap((run, i) => run[key]
      ? [{ value: [run[key].mean, i], figure: run[key], what: key === 'p50' ? 'median' : '99th percentile', queue: run.title, symbol }] : []);
    const both = runs.flatMap((run, i) => run.p50 && run.p99 ? [[run.p50.mean, run.p99.mean, i]] : []);
    const ms = (x) => digits(x) + ' ms';
    return Object.assign(base(c), {
      height: 60 + runs.length * 30,
      grid: { left: left(box, titles), right: 60, top: 4, bottom: 44 },
      xAxis: valueAxis(c, 'delay, ms', { min: 0 }),
      yAxis: rowAxis(c, titles, room(box)),
      tooltip: Object.assign(base(c).tooltip, {
        formatter: (p) => escape(p.data.queue) + ', ' + p.data.what + '<br><b>' + plusMinus(p.data.figure, ms) + '</b>',
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
      const dots = [], spans = [];
      runs.forEach((run, i) => {
        const own = of(run, group.name);
        if (!own || !own.loss) return;
        const y = i + (k - (groups.length - 1) / 2) * step, f = own.loss;
        dots.push({ value: [f.mean * 100, y], figure: f, queue: run.title });
        if (f.ci95 !== null) spans.push([Math.max(0, f.mean - f.ci95) * 100, Math.min(1, f.mean + f.ci95) * 100, y]);
      });
      return [whisker(group.name, c.of[group.name], spans), {
        name: group.name, type: 'scatter', symbolSize: 10, itemStyle: { color: c.of[group.name], opacity: 1 }, data: dots,
        markLine: k > 0 ? undefined : { silent: true, symbol: 'none', label: { show: false }, z: 0, data: between(c) },
        label: { show: groups.length < 4, position: 'right', distance: 7, color: c.ink, fontSize: 12, formatter: (p) => percent(p.data.figure.mean) },
      }];
    });
    return Object.assign(base(c), {
      height: 60 + runs.length * Math.max(30, groups.length * 18 + 6),
      grid: { left: left(box, titles), right: 60, top: 4, bottom: 44 },
      xAxis: valueAxis(c, 'loss, %', { min: 0, max: 100, interval: 25 }),
      yAxis: rowAxis(c, titles, room(box)),
      tooltip: Object.assign(base(c).tooltip, {
        formatter: (p) => escape(p.data.queue) + ', ' + escape(p.seriesName) + '<br><b>' + plusMinus(p.data.figure, percent) + '</b> lost',
      }),
      series,
    });
  }

  // ---- Every flow ----------------------------------------------------------------------------------------------

  /** The top of the axis: near the fair share all charts reach three times the greatest share, so they compare. */
  function flowScale() {
    const flows = runs.flatMap((run) => run.flows);
    const got = flows.map((f) => f.throughput ? f.throughput.mean : 0);
    const most = Math.max(...got, 1);
    const fair = Math.max(...flows.map((f) => f.fair || 0));
    return chosen.scale === 'full' || fair === 0 ? most * 1.05 : Math.min(most * 1.05, fair * 3);
  }

  function flows(run, box, c) {
    const got = (f) => f.throughput ? f.throughput.mean : 0;
    const list = run.flows.slice();
    if (chosen.order === 'sorted') list.sort((a, b) => got(b) - got(a) || a.index - b.index);
    const top = flowScale();
    const [factor, unit] = unitFor(top);
    const beyond = list.map((f, i) => [f, i]).filter(([f]) => got(f) > top);
    const marks = beyond.length > 3
      ? [{ name: beyond.length + ' flows above', coord: [beyond[0][1], top / factor] }]
      : beyond.map(([f, i]) => ({ name: '▲ ' + rate(got(f)), coord: [i, top / factor], group: f.group }));
    const many = list.length > 120;
    // Among hundreds, a bar is a hair: the few that do not heed congestion are drawn again, broad enough to be seen.
    const offends = new Set(groups.filter((g) => g.conduct === 'unresponsive').map((g) => g.name));
    const few = many && list.filter((f) => offends.has(f.group)).length <= 20 ? list.map((f) => offends.has(f.group) ? got(f) / factor : null) : [];
    const last = list.length - 1;
    box.classList.toggle('crisp', many);
    const position = (i) => i > last * 0.7 ? 'left' : i < last * 0.3 ? 'right' : 'bottom';
    return Object.assign(base(c), {
      height: 212,
      grid: { left: 58, right: 16, top: 14, bottom: 26 },
      xAxis: {
        type: 'category', data: list.map((f) => f.label), axisTick: { show: false }, axisLine: { lineStyle: { color: c.quiet } },
        axisLabel: { show: false }, name: list.length + ' flows, ' + (chosen.order === 'sorted' ? 'the greatest first' : 'in order'),
        nameLocation: 'middle', nameGap: 12, nameTextStyle: { color: c.soft, fontSize: 12 },
      },
      yAxis: valueAxis(c, unit, { max: top / factor, min: 0, nameGap: 40, axisLabel: { color: c.soft, fontSize: 12, showMaxLabel: false, formatter: (v) => String(+v.toPrecision(3)) } }),
      tooltip: Object.assign(base(c).tooltip, {
        trigger: 'axis', axisPointer: { type: 'shadow' },
        formatter: (items) => {
          const f = list[items[0].dataIndex];
          return escape(f.label) + (f.group ? ' (' + escape(f.group) + ')' : '') +
            '<br><b>' + (f.throughput ? plusMinus(f.throughput, rate) : '–') + '</b>' +
            (f.fair ? '<br>fair share ' + rate(f.fair) + ', got ' + times(got(f) / f.fair) : '') +
            (f.loss ? '<br>loss ' + percent(f.loss.mean) : '');
        },
      }),
      series: [
        { type: 'bar', barGap: '-100%', barWidth: many ? '100%' : '78%', barMaxWidth: 46,
          data: list.map((f) => ({ value: got(f) / factor, itemStyle: { color: c.of[f.group] || c.bar } })),
          markPoint: {
            silent: true, symbol: 'circle', symbolSize: 0.01,
            data: marks.map((m) => ({ name: m.name, coord: m.coord, label: {
              show: true, formatter: m.name, position: position(m.coord[0]), distance: 12, color: c.ink, fontSize: 12, fontWeight: 600,
              backgroundColor: c.card, padding: [2, 4], offset: [0, 8], borderRadius: 3 } })),
          } },
        ...(few.length === 0 ? [] : [{ type: 'bar', silent: true, barWidth: 4, z: 3, data: few.map((v, i) => ({ value: v, itemStyle: { color: c.of[list[i].group] } })) }]),
        { type: 'line', step: 'middle', silent: true, showSymbol: false, symbol: 'none', z: 4,
          data: list.map((f) => f.fair === null ? null : f.fair / factor),
          lineStyle: { color: c.ink, width: 1.6, type: [5, 4] } },
      ],
    });
  }

  // ---- Over time -----------------------------------------------------------------------------------------------

  const finite = (values) => values.filter((v) => v !== null);
  const mostOf = (what) => Math.max(...runs.flatMap((run) => run.series
    ? run.series.lines.filter((l) => l.what === what).flatMap((l) => finite(l.values)) : []), 0);

  /** The panels of one queue: each an axis of its own above a common time. */
  function panels(run) {
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
    const gauges = lines.filter((l) => l.what === 'gauge');
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

  function time(run, box, c) {
    const list = panels(run);
    const TALL = 84, GAP = 38, TOP = 24;
    const place = (k) => TOP + k * (TALL + GAP);
    const time = run.series.time;
    // Samples that stand for the interval they begin end where the last interval ends: at 100 s, not at 99.8.
    const last = time[time.length - 1] || 0, after = last + (time.length > 1 ? last - time[time.length - 2] : 0);
    const whole = (t) => Math.abs(t - Math.round(t)) < 1e-6;
    const end = !whole(last) && whole(after) ? Math.round(after) : last;
    const round = (v) => v === 0 ? '0' : Math.abs(v) >= 1e4 || Math.abs(v) < 1e-3 ? v.toExponential(0) : String(+v.toPrecision(3));
    const series = [];
    list.forEach((panel, k) => {
      panel.lines.forEach((line, n) => {
        const color = panel.what === 'throughput' ? c.of[line.name] || c.bar
          : panel.what === 'gauge' ? (n === 0 ? c.bar : css(GAUGES[n % GAUGES.length])) : c.bar;
        const own = panel.what === 'throughput' ? of(run, line.name) : undefined;
        series.push({
          name: line.name, type: 'line', xAxisIndex: k, yAxisIndex: k, showSymbol: false, connectNulls: false,
          lineStyle: { color, width: 1.4 }, itemStyle: { color },
          areaStyle: panel.what === 'queue' || panel.what === 'delay' ? { color, opacity: 0.14 } : undefined,
          data: time.map((t, i) => [t, line.values[i] === null || line.values[i] === undefined ? null : line.values[i] / panel.factor]),
          markLine: own && own.fair !== null ? {
            silent: true, symbol: 'none', label: { show: false }, data: [{ yAxis: own.fair / panel.factor }],
            lineStyle: { color, type: [4, 4], width: 1.2 } } : undefined,
        });
      });
    });
    return Object.assign(base(c), {
      height: place(list.length) + 8,
      title: list.map((panel, k) => ({
        text: panel.title, left: 4, top: place(k) - 22, textStyle: { fontSize: 12, fontWeight: 600, color: c.soft, fontFamily: FONT },
      })),
      grid: list.map((_, k) => ({ left: 52, right: 14, top: place(k), height: TALL, outerBoundsMode: 'none' })),
      axisPointer: { link: [{ xAxisIndex: 'all' }] },
      xAxis: list.map((_, k) => ({
        type: 'value', gridIndex: k, min: time[0] || 0, max: end,
        axisLabel: { show: k === list.length - 1, color: c.soft, fontSize: 12, formatter: (t) => round(t) + ' s', hideOverlap: true, alignMaxLabel: 'right', alignMinLabel: 'left' },
        axisTick: { show: false }, axisLine: { lineStyle: { color: c.quiet } }, splitLine: { show: false },
      })),
      yAxis: list.map((panel, k) => valueAxis(c, undefined, {
        gridIndex: k, min: 0, max: panel.most ? panel.most * 1.04 : undefined, splitNumber: 3,
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

  // ---- Putting them on the page --------------------------------------------------------------------------------

  const single = { division, share, jain, delay, loss, utilization };

  function optionOf(box, c) {
    const [kind, index] = box.dataset.chart.split('-');
    if (kind === 'flows') return flows(runs[+index], box, c);
    if (kind === 'time') return time(runs[+index], box, c);
    return single[kind](box, c);
  }

  function draw(box, c) {
    const option = optionOf(box, c);
    box.style.height = option.height + 'px';
    delete option.height;
    const chart = charts.get(box) || echarts.init(box, null, { renderer: 'svg' });
    charts.set(box, chart);
    chart.resize();
    chart.setOption(option, { notMerge: true });
  }

  const boxes = [...document.querySelectorAll('[data-chart]')];
  function drawAll() {
    const c = palette();
    for (const box of boxes) draw(box, c);
    for (const legend of document.querySelectorAll('[data-legend]')) {
      const bars = legend.closest('section').querySelector('[data-chart^="flows"]');
      const fair = bars && runs.some((run) => run.flows.some((f) => f.fair !== null));
      legend.innerHTML = groups.map((g) => '<span><i style="background:' + c.of[g.name] + '"></i>' + escape(g.name) + '</span>').join('') +
        (fair ? '<span><i class="dash"></i>fair share</span>' : '');
    }
    document.documentElement.dataset.ready = charts.size;
  }

  function choices() {
    for (const choice of document.querySelectorAll('[data-choice]')) {
      choice.addEventListener('click', (event) => {
        const value = event.target.dataset.value;
        if (!value) return;
        chosen[choice.dataset.choice] = value;
        for (const button of choice.children) button.setAttribute('aria-pressed', String(button.dataset.value === value));
        const c = palette();
        for (const box of boxes) if (box.dataset.chart.startsWith('flows')) draw(box, c);
      });
    }
  }

  // Widths decide how labels are cut, so a new width draws anew; a printer wants the light colours.
  let width = document.documentElement.clientWidth;
  let waiting = 0;
  window.addEventListener('resize', () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      if (document.documentElement.clientWidth === width) return;
      width = document.documentElement.clientWidth;
      drawAll();
    }, 120);
  });
  const light = (on) => { document.documentElement.classList.toggle('light', on); drawAll(); };
  window.addEventListener('beforeprint', () => light(true));
  window.addEventListener('afterprint', () => light(false));
  window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll);

  choices();
  drawAll();
})();
