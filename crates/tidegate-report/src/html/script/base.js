// The page's data, colours, numbers as people read them, and what all charts share. All files of this folder are one
// script in the page, in the order base, outcome, cost, flows, time, page.
const data = JSON.parse(document.getElementById('data').textContent);
const { runs, groups } = data;
const charts = new Map();
const chosen = { order: 'sorted', scale: 'near' };

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
const percent = (x) => digits(x * 100) + ' %';
const decimals = (x) => (digits(x).split('.')[1] || '').length;
/** A figure with its interval in the same unit and with as many decimals; `scale` is [size of the unit, its name]. */
const plusMinus = (figure, scale) => {
  const [factor, unit] = scale(figure.mean);
  const mean = figure.mean / factor;
  const half = figure.ci95 === null ? '' : ' ± ' + (figure.ci95 / factor).toFixed(decimals(mean));
  return digits(mean) + (unit ? ' ' + unit : '') + half;
};
const RATE = (bps) => unitFor(bps), PERCENT = () => [0.01, '%'], MS = () => [1, 'ms'], NUMBER = () => [1, ''];
const greatest = (values, atLeast) => values.reduce((most, x) => x > most ? x : most, atLeast);
const escape = (text) => String(text).replace(/[&<>"']/g, (c) => '&#' + c.charCodeAt(0) + ';');
const narrow = (box) => box.clientWidth < 420;
/** Whether this card stands beside another of its row, and not below it. */
const beside = (box) => box.closest('.cards').clientWidth > box.clientWidth * 1.5;
const shorten = (text, most) => text.length > most ? text.slice(0, most - 1) + '…' : text;

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

/** Figures in words, each to the right of its dot and of its whisker; `ends` are [x, y, text, position if another]. */
const words = (name, c, ends) => ({
  name, type: 'scatter', silent: true, symbolSize: 0.01, itemStyle: { color: 'transparent', opacity: 1 }, tooltip: { show: false }, z: 4,
  data: ends.map(([x, y, text, position]) => ({ value: [x, y], label: { formatter: text, position: position || 'right' } })),
  label: { show: true, position: 'right', distance: 8, padding: [1, 2], backgroundColor: c.card, color: c.ink, fontSize: 12 },
});

/** Thin lines between the rows of a row axis. */
const between = (c) => runs.slice(1).map((_, i) => ({ yAxis: i + 0.5, lineStyle: { color: c.grid, type: 'solid', width: 1 } }));

const room = (box) => narrow(box) ? 12 : 18;
const left = (box, titles) => {
  const longest = Math.max(...titles.map((t) => shorten(t, room(box)).length));
  return Math.min(150, 16 + longest * 7.4);
};
const titles = runs.map((run) => run.title);
const of = (run, name) => run.groups.find((group) => group.name === name);
