"use strict";

/* How a gate is, shown. The words are those of `tidegate top`. */

const NONE = "–";

/* Three digits, in the unit that suits. */
function inUnits(value, units) {
  const [factor, unit] = units.find(([least]) => Math.abs(value) >= least * 0.9995) ?? units.at(-1);
  const part = value / factor;
  return `${part === 0 ? 0 : part < 1000 ? part.toPrecision(3) : Math.round(part)}\u00a0${unit}`;
}

const RATES = [[1e9, "Gbit/s"], [1e6, "Mbit/s"], [1e3, "kbit/s"], [1, "bit/s"]];
const LENGTHS = [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]];
const bits = (bps) => inUnits(bps, RATES);
const bytes = (count) => inUnits(count, LENGTHS);
const millis = (s) => inUnits(s, s !== 0 && s < 1e-4 ? [[1e-6, "µs"]] : [[1e-3, "ms"]]);
const count = (number) => Math.round(number).toLocaleString("en").replaceAll(",", "\u202f");
const share = (part) => (part > 0 && part < 0.0005 ? "<0.1\u00a0%" : percent(part));

function perSecond(frames) {
  return frames > 0 && frames < 1 ? "<1/s" : `${count(frames)}/s`;
}

/* A time that has passed, in its two largest units. */
function since(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  const [day, hour, minute] = [86400, 3600, 60];
  const two = (large, name, small, part) =>
    `${Math.floor(whole / large)} ${name} ${Math.floor((whole % large) / small)} ${part}`;
  if (whole >= day) return two(day, "d", hour, "h");
  if (whole >= hour) return two(hour, "h", minute, "min");
  return whole >= minute ? two(minute, "min", 1, "s") : `${whole} s`;
}

const clock = (seconds) => new Date(seconds * 1e3).toLocaleTimeString("en-GB");

/* The last second of a direction: by differences, or as the gate says it. */
function lately(way, rates) {
  const { recent } = way;
  const known = rates ?? { lost_by: [], marked_by: [], classes: [], marked: 0, missed: 0 };
  return {
    received: rates?.received.bps ?? recent.received_bps,
    sent: rates?.sent.bps ?? recent.sent_bps,
    lost: rates?.lost.bps ?? recent.lost_bps,
    lostBy: known.lost_by, markedBy: known.marked_by, classes: known.classes,
    marked: known.marked, missed: known.missed,
  };
}

/* What offenders send together. */
function offence({ flows }) {
  return flows.offenders.reduce((sum, flow) => sum + flow.rate_bps, 0);
}

const several = (number, name) => `${number} ${name}${number === 1 ? "" : "s"}`;

/* How a managed direction is, in sentences: the first is the most important. */
function sentences(way, last) {
  const { queue } = way;
  const said = [`${percent(last.sent / queue.rate_bps)} busy`];
  said.push(queue.delay === null ? "no frame left the queue"
    : `frames wait ${millis(queue.delay.mean_s)}, 99 of 100 at most ${millis(queue.delay.p99_s)}`);
  const { offenders, fair_bps: fair } = queue.flows;
  const wrong = offenders.length === 0 ? "no offender"
    : `${several(offenders.length, "offender")} ${offenders.length === 1 ? "sends" : "send"} ` +
      bits(offence(queue));
  said.push(fair === null ? `${wrong}, not congested` : `${wrong}, ${bits(fair)} are fair to each`);
  const why = last.lostBy[0] === undefined ? "" : `, most for ${last.lostBy[0][0]}`;
  said.push(last.lost > 0 ? `${bits(last.lost)} dropped${why}` : "nothing dropped");
  return said;
}

/* The figures under the sentence. */
function tiles(way, last) {
  const { queue } = way;
  const { offenders, fair_bps: fair } = queue.flows;
  const tile = (name, value, more, kind = "") => element("div", { class: `tile ${kind}` },
    element("span", {}, name), element("strong", {}, value), element("small", {}, more));
  const part = last.received > 0 ? `${share(last.lost / last.received)} of what comes` : "";
  return [
    tile("Link busy", percent(last.sent / queue.rate_bps),
      `${bits(last.sent)} of ${bits(queue.rate_bps)}`),
    tile("Frames wait", queue.delay === null ? NONE : millis(queue.delay.mean_s),
      queue.delay === null ? "none left" : `99 of 100: ${millis(queue.delay.p99_s)}`),
    tile("Dropped", bits(last.lost), part),
    tile("Offenders", String(offenders.length),
      offenders.length > 0 ? `send ${bits(offence(queue))}`
        : fair === null ? "not congested" : `fair: ${bits(fair)}`,
      offenders.length > 0 ? "bad" : "good"),
  ];
}

/* The axis of charts over the last minutes: it grows with what is known. */
function axis(past) {
  const now = past.at(-1).time_s;
  const time = past.map((point) => point.time_s - now);
  const from = -Math.min(300, Math.max(60, -time[0]));
  const step = from < -150 ? 60 : from < -60 ? 30 : 15;
  const marks = [];
  for (let t = 0; t >= from; t -= step) marks.push(t);
  const nameMark = (t) => (t === 0 ? "now" : t % 60 === 0 ? `−${-t / 60} min` : `−${brief(-t)} s`);
  return { time, from, marks, nameMark, usual: (values) => values.at(-1), usually: "now" };
}

/* Charts of the last minutes of a direction, the first ones first. */
function timeCharts(way, ways, time) {
  const most = Math.max(way.queue?.rate_bps ?? 0,
    ...ways.map((point) => Math.max(point?.received_bps ?? 0, point?.sent_bps ?? 0)));
  const [scale, unit] = RATES.find(([least]) => most >= least) ?? RATES.at(-1);
  const line = (name, kind, key, factor) => {
    const of = (point) => point?.[key] ?? null;
    const scaled = (value) => (value === null ? null : value * factor);
    return { name, kind, values: ways.map((point) => scaled(of(point))) };
  };
  const rates = [line("in", "received", "received_bps", 1 / scale)];
  const queue = way.queue !== null;
  if (queue) rates.push(line("offenders", "flood", "offenders_bps", 1 / scale));
  rates.push(line("out", "sent", "sent_bps", 1 / scale));
  const rate = { ...time, title: "Rate", unit, lines: rates, most: (most / scale) * 1.1 || 1 };
  if (!queue) return [rate];
  rate.level = way.queue.rate_bps / scale;
  const waits = [line("99 of 100", "received", "p99_s", 1e3), line("mean", "sent", "mean_s", 1e3)];
  const [waiting, lost] = [line("", "queue", "waiting", 1), line("", "lost", "lost_bps", 1 / scale)];
  return [
    rate,
    { ...time, title: "Wait", unit: "ms", lines: waits },
    { ...time, title: "Dropped", unit, lines: [lost], area: true },
    { ...time, title: "Frames waiting", unit: "", lines: [waiting], area: true },
  ];
}

/* The queue's inner state over the last minutes. */
function gaugeCharts(queue, ways, time) {
  return queue.gauges.map(({ name, unit }) => {
    const known = ways.map((point) => point?.gauges[name] ?? null);
    const most = Math.max(0, ...known);
    const [scale, shown] = unit === "s" ? [1e-3, "ms"]
      : unit !== "bit/s" ? [1, unit] : RATES.find(([least]) => most >= least) ?? RATES.at(-1);
    const values = known.map((value) => (value === null ? null : value / scale));
    const lines = [{ name, kind: "gauge", values }];
    return { ...time, title: name, unit: shown, lines, area: true };
  });
}

/* Who sends most: offenders and others, the largest first. */
function senders({ flows }) {
  const known = new Set(flows.offenders.map((flow) => flow.flow));
  const others = flows.top.filter((flow) => !known.has(flow.flow));
  return [...flows.offenders, ...others].sort((a, b) => b.rate_bps - a.rate_bps);
}

/* No table of the page grows beyond this. */
const ROWS = 50;

function flowRows(queue, now) {
  const all = senders(queue);
  const most = all[0]?.rate_bps ?? 1;
  return all.slice(0, ROWS).map((flow) => {
    const offends = flow.offender_since_s !== null;
    return {
      kind: offends ? "offender" : "",
      cells: [flow.flow, bar(flow.rate_bps / most, offends ? "flood" : "users"),
        bits(flow.rate_bps), share(flow.share),
        flow.fair_shares === null ? NONE : `${flow.fair_shares.toPrecision(3)}\u00a0×`,
        offends ? since(now - flow.offender_since_s) : "", count(flow.lost_frames)],
    };
  });
}

/* Why frames are lost or marked, now and since the start. */
function reasonRows(way, last) {
  const rate = (list, why) => list.find(([name]) => name === why)?.[1] ?? 0;
  const rows = Object.entries(way.lost).map(([why, { frames }]) =>
    ({ why, now: rate(last.lostBy, why), all: frames, kind: "lost" }));
  for (const [why, frames] of Object.entries(way.marked)) {
    rows.push({ why: `marked: ${why}`, now: rate(last.markedBy, why), all: frames, kind: "users" });
  }
  rows.push({ why: "missed by the kernel", now: last.missed, all: way.missed, kind: "bad" });
  const seen = rows.filter(({ all }) => all > 0).sort((a, b) => b.now - a.now || b.all - a.all);
  const most = Math.max(1, ...seen.map(({ now }) => now));
  return seen.map(({ why, now, all, kind }) =>
    ({ kind: "", cells: [why, bar(now / most, kind), perSecond(now), count(all)] }));
}

function classRows(queue, last) {
  return queue.classes.map((of, i) => {
    const rates = last.classes[i];
    const [left, lost] = rates ? rates.map(({ bps }) => bits(bps)) : [NONE, NONE];
    const name = of.name === "" ? "(rest)" : of.name;
    return { kind: "", cells: [name, left, lost, count(of.waiting.frames)] };
  });
}

/* Fills a table in place, so that what is chosen in it stays chosen. */
function fillTable(table, rows) {
  const body = table.tBodies[0];
  while (body.rows.length > rows.length) body.lastChild.remove();
  rows.forEach(({ kind, cells }, i) => {
    const row = body.rows[i] ?? body.appendChild(element("tr", {},
      element("th", { scope: "row" }), ...cells.slice(1).map(() => element("td"))));
    row.className = kind;
    cells.forEach((value, at) => {
      const cell = row.cells[at];
      if (typeof value !== "string") cell.replaceChildren(value);
      else if (cell.textContent !== value) cell.textContent = value;
    });
  });
  table.closest(".card").querySelector(".empty").hidden = rows.length > 0;
  table.hidden = rows.length === 0;
}

/* What waits and how the gate treats flows; what the queue is set to. */
function settings(queue) {
  const may = "bytes" in queue.limit ? bytes(queue.limit.bytes)
    : `${count(queue.limit.packets)} frames`;
  const set = Object.entries(queue.parameters).map(([name, value]) => `${name}=${value}`);
  const of = `Flows by ${queue.flow_key}, rehash ${queue.rehash}, overhead ${queue.overhead}.`;
  return [
    `${bytes(queue.backlog.bytes)} of ${may} wait. ${of}`,
    [queue.name, ...set].join(", "),
  ];
}
