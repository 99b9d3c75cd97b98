"use strict";

/*
 * Small charts as SVG: bars and lines. Colours come from the style sheet and follow its theme.
 * A running gate's own page loads this file, too.
 */

const SVG = "http://www.w3.org/2000/svg";

const byId = (id) => document.getElementById(id);

function element(name, attributes = {}, ...children) {
  const made = name.includes(":")
    ? document.createElementNS(SVG, name.slice(4))
    : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const svg = (name, attributes, ...children) => element(`svg:${name}`, attributes, ...children);

/* A picture as wide as `host`, `height` high; `label` describes it to those who do not see it. */
function picture(host, height, label) {
  const width = Math.max(240, Math.round(host.clientWidth));
  const frame = { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label };
  return [svg("svg", frame), width];
}

/* A part of 1 in per cent: below ten with one digit more. */
function percent(part) {
  const value = part * 100;
  return `${Number(value.toFixed(value < 9.95 ? 1 : 0))}\u00a0%`;
}

/* `part` of 1 as a bar. */
function bar(part, kind) {
  const frame = { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" };
  const width = 100 * Math.min(1, Math.max(0, part));
  return svg("svg", frame, svg("rect", { width: 100, height: 10, class: "fill-idle" }),
    svg("rect", { width, height: 10, class: `fill-${kind}` }));
}

/* A box in `host` for each of `count` charts, the same ones as before. */
function boxes(host, count) {
  while (host.children.length > count) host.lastChild.remove();
  while (host.children.length < count) host.append(element("figure", { class: "chart" }));
  return [...host.children];
}

/* Steps of 1, 2 or 5 times a power of ten, up to about `count` of them below `most`. */
function ticks(most, count) {
  const rough = most / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((n) => n * power >= rough * 0.999);
  const all = [];
  for (let i = 0; i * step <= most * 1.0001; i += 1) all.push(i * step);
  return all;
}

/* Three digits at most, with a thin space between thousands. */
function brief(value) {
  const size = Math.abs(value);
  if (size >= 1e6) return `${brief(value / 1e6)} M`;
  if (size >= 1e5) return `${brief(value / 1e3)} k`;
  if (size !== 0 && size < 0.001) return value.toExponential(0);
  return String(Number(value.toPrecision(3)));
}

/* Who has the line: a strip of parts that add up to it, each { part, kind, name, slices }. */
function strip(host, parts) {
  const said = parts.map(({ name, part }) => `${name} ${percent(part)}`);
  const [drawn, width] = picture(host, 36, `Of the line: ${said.join(", ")}`);
  let at = 0;
  for (const { part, kind, slices } of parts) {
    const each = (part * width) / slices;
    const gap = Math.min(1.5, each / 4);
    for (let i = 0; i < slices && part * width > 0.2; i += 1) {
      const shape = { x: at + i * each, y: 0, width: each - gap, height: 36 };
      drawn.append(svg("rect", { ...shape, rx: Math.min(3, each / 3), class: `fill-${kind}` }));
    }
    at += part * width;
  }
  const key = ({ name, kind, part }) => element("span", { class: "key" },
    element("i", { class: `swatch-${kind}` }), `${name} `, element("b", {}, percent(part)));
  host.replaceChildren(element("p", { class: "legend" }, ...parts.map(key)), drawn);
}

/* The highest share that a bar shows; what is above it says its figure. */
const MOST_SHARE = 2;

/* A bar for every share: { share, kind, name }. */
function bars(host, shares, label) {
  const [height, top, left, bottom] = [180, 18, 48, 10];
  const [drawn, width] = picture(host, height, label);
  const scale = (share) => top + (height - top - bottom) * (1 - share / MOST_SHARE);
  const across = (share, kind) => {
    return svg("line", { x1: left, x2: width, y1: scale(share), y2: scale(share), class: kind });
  };
  for (const share of [0, 0.5, 1, 1.5, 2]) {
    const name = { x: left - 6, y: scale(share) + 4, class: "tick end" };
    drawn.append(across(share, "rule"), svg("text", name, percent(share)));
  }
  const each = (width - left) / shares.length;
  const gap = Math.min(6, each * 0.22);
  shares.forEach(({ share, kind, name }, i) => {
    const y = scale(Math.min(share, MOST_SHARE));
    const x = left + i * each + gap / 2;
    const bar = svg("rect", {
      x, y, width: each - gap, height: Math.max(2, scale(0) - y), rx: Math.min(3, each / 4),
      class: `fill-${kind}`,
    }, svg("title", {}, `${name}: ${percent(share)} of a fair share`));
    drawn.append(bar);
    const few = shares.filter((other) => other.share > MOST_SHARE).length < 3;
    if (share > MOST_SHARE && few) {
      const text = `▲ ${brief(share)} ×`;
      drawn.append(svg("text", { x: x + each - gap, y: 12, class: `label end ink-${kind}` }, text));
    }
  });
  drawn.append(across(1, "fair"));
  host.replaceChildren(drawn);
}

/* All charts over time show the same moment under the pointer. */
const moments = new Set();
let pointed = null;

/* Shows the moment `time`, or none. */
function pointAt(time) {
  pointed = time;
  for (const show of moments) show(time);
}

/*
 * Lines over time. `chart`: { title, unit, time, lines: [{ name, kind, values }], most, area }.
 * Where the axis begins, with its marks and their names: `from`, `marks`, `nameMark`. What does
 * not count at the beginning: `warmup`. A dashed line across: `level`. What is said of a line
 * while nothing is pointed at, and how that is called: `usual`, `usually`.
 */
function lines(host, chart) {
  const [height, top, left, bottom] = [150, 10, 46, 20];
  const { time } = chart;
  const most = chart.most ?? greatest(chart.lines);
  const [drawn, width] = picture(host, height, summary(chart));
  const [from, end] = [chart.from ?? 0, time[time.length - 1]];
  const x = (t) => left + ((width - left - 6) * (t - from)) / (end - from);
  const y = (value) => top + (height - top - bottom) * (1 - value / most);
  if (chart.warmup !== undefined) {
    const size = { width: x(chart.warmup) - left, height: height - top - bottom };
    drawn.append(svg("rect", { x: left, y: top, ...size, class: "warmup" }));
  }
  for (const value of ticks(most, 3)) {
    drawn.append(
      svg("line", { x1: left, x2: width - 6, y1: y(value), y2: y(value), class: "rule" }),
      svg("text", { x: left - 6, y: y(value) + 4, class: "tick end" }, brief(value)),
    );
  }
  for (const t of chart.marks ?? ticks(end, 4)) {
    const place = t === from ? "tick" : t === end ? "tick end" : "tick middle";
    drawn.append(svg("text", { x: x(t), y: height - 4, class: place }, nameMoment(chart, t)));
  }
  for (const { kind, values } of chart.lines) {
    const draw = (shape, name) => {
      drawn.append(svg("path", { d: shape(values, time, x, y), class: name }));
    };
    if (chart.area) draw(area, `area-${kind}`);
    draw(path, `line line-${kind}`);
  }
  if (chart.level !== undefined) {
    const [y1, y2] = [y(chart.level), y(chart.level)];
    drawn.append(svg("line", { x1: left, x2: width - 6, y1, y2, class: "fair" }));
  }
  const head = legend(chart);
  host.replaceChildren(head.node, drawn);
  follow(drawn, chart, { x, from, end, top, low: height - bottom, left, width }, head);
}

const nameMoment = (chart, t) => chart.nameMark?.(t) ?? `${brief(t)} s`;

/* What a chart says over its picture: title, and of each line its name and a value. */
function legend(chart) {
  const values = chart.lines.map(() => element("b"));
  const several = chart.lines.length > 1;
  const key = ({ name, kind }) => [element("i", { class: `swatch-${kind}` }), `${name} `];
  const names = chart.lines.map((line, i) => {
    return element("span", { class: "key" }, ...(several ? key(line) : []), values[i]);
  });
  const show = (index) => chart.lines.forEach((line, i) => {
    const value = index === null ? usual(line, chart) : line.values[index];
    values[i].textContent = value === null ? "–" : `${brief(value)} ${chart.unit}`.trim();
  });
  show(null);
  const when = element("small");
  const title = element("strong", {}, chart.title);
  return { node: element("p", { class: "legend" }, title, ...names, when), show, when };
}

/* Shows the values of the moment under the pointer, in all charts over time. */
function follow(drawn, chart, { x, from, end, top, low, left, width }, head) {
  const mark = svg("line", { y1: top, y2: low, class: "mark", visibility: "hidden" });
  drawn.append(mark);
  const show = (time) => {
    if (!drawn.isConnected) return moments.delete(show);
    const known = time !== null;
    const index = known ? nearest(chart.time, time) : null;
    mark.setAttribute("visibility", known ? "visible" : "hidden");
    if (known) {
      mark.setAttribute("x1", x(chart.time[index]));
      mark.setAttribute("x2", x(chart.time[index]));
    }
    head.show(index);
    head.when.textContent = known ? ` at ${nameMoment(chart, chart.time[index])}` : "";
  };
  moments.add(show);
  drawn.addEventListener("pointermove", (event) => {
    const box = drawn.getBoundingClientRect();
    const along = ((event.clientX - box.left) / box.width) * width - left;
    const part = Math.min(1, Math.max(0, along / (width - left - 6)));
    pointAt(from + part * (end - from));
  });
  drawn.addEventListener("pointerleave", () => pointAt(null));
}

/* Which of `times` is nearest to `time`. */
function nearest(times, time) {
  let best = 0;
  times.forEach((t, i) => {
    if (Math.abs(t - time) < Math.abs(times[best] - time)) best = i;
  });
  return best;
}

function greatest(lines) {
  const all = lines.flatMap((line) => line.values.filter((value) => value !== null));
  const most = Math.max(0, ...all);
  return most === 0 ? 1 : most * 1.05;
}

/* The mean after the warm-up. */
function mean(values, { time, warmup }) {
  const counted = values.filter((value, i) => value !== null && !(time[i] <= warmup));
  return counted.length === 0 ? null : counted.reduce((sum, v) => sum + v, 0) / counted.length;
}

const usual = (line, chart) => (chart.usual ?? mean)(line.values, chart);

function summary(chart) {
  const said = chart.lines.map((line) => {
    const value = usual(line, chart);
    const how = chart.usually ?? "on average";
    return `${line.name} ${value === null ? "unknown" : `${how} ${brief(value)} ${chart.unit}`}`;
  });
  const span = chart.time.at(-1) - (chart.from ?? 0);
  return `${chart.title} over ${brief(span)} seconds: ${said.join(", ")}`;
}

/* A line with gaps where nothing was seen. */
function path(values, time, x, y) {
  let [d, pen] = ["", "M"];
  values.forEach((value, i) => {
    if (value === null) {
      pen = "M";
      return;
    }
    d += `${pen}${x(time[i]).toFixed(1)} ${y(value).toFixed(1)}`;
    pen = "L";
  });
  return d;
}

function area(values, time, x, y) {
  const known = values.map((value) => value ?? 0);
  const [first, last] = [x(time[0]).toFixed(1), x(time.at(-1)).toFixed(1)];
  return `${path(known, time, x, y)}L${last} ${y(0)}L${first} ${y(0)}Z`;
}
