"use strict";

/* What came of a run, shown. */

const figure = (value) => value?.mean ?? null;

/* What the page needs of a result document. */
function readResult(text) {
  const result = JSON.parse(text);
  const users = result.groups.find((group) => group.name === "users");
  const received = figure(users.goodput_bps);
  return {
    result,
    users,
    title: result.label,
    share: received / figure(users.fair_share_bps),
    worst: figure(users.worst_share) ?? received / figure(users.fair_share_bps),
    starved: figure(users.starved) ?? 0,
    wait: figure(users.delay_ms.mean) ?? figure(result.aggregate.queue_delay_ms.mean),
    loss: figure(users.loss_ratio),
    marks: figure(users.mark_ratio),
    used: figure(result.aggregate.utilization),
  };
}

function milliseconds(value) {
  return value === null ? "unknown" : `${brief(value)}\u00a0ms`;
}

/* Good, middling or bad, as colours say it. */
function grade(share) {
  return share >= 0.8 ? "good" : share >= 0.5 ? "middling" : "bad";
}

/* What the queue did to the users' packets. */
function fate({ marks, loss }) {
  const lost = `${percent(loss ?? 0)} dropped`;
  return marks > 0 ? `${percent(marks)} marked, ${lost}` : lost;
}

/* The answer in a sentence, and the figures under it. */
function showAnswer(played, read) {
  const [title, ...rest] = played.answer.split(": ");
  const wait = milliseconds(read.wait);
  const sentence = `${rest.join(": ")}. Users’ packets wait ${wait} in the queue.`;
  byId("answer").replaceChildren(element("b", {}, title), `: ${sentence}`);
  byId("caveats").replaceChildren(
    ...played.caveats.map((text) => element("p", { class: "caveat" }, text)),
  );
  const tile = (name, value, kind, more) => element("div", { class: `tile ${kind}` },
    element("span", {}, name), element("strong", {}, value), element("small", {}, more));
  byId("tiles").replaceChildren(
    tile("Users get", percent(read.share), grade(read.share), "of a fair share"),
    tile("Worst user", percent(read.worst), grade(read.worst),
      `${read.starved} of ${read.users.count} starved`),
    tile("Packets wait", milliseconds(read.wait), "", fate(read)),
  );
  return `${title}: ${sentence}`;
}

/* Who has the line, and what each user gets. */
function showShares({ result, users, used }) {
  const rate = result.bottleneck.rate_bps;
  const part = (group) => Math.min(1, figure(group.throughput_bps) / rate);
  const flood = result.groups.find((group) => group.name === "flood");
  const parts = [{ part: part(users), kind: "users", name: "Users", slices: users.count }];
  if (flood !== undefined) {
    parts.push({ part: part(flood), kind: "flood", name: "Flood", slices: flood.count });
  }
  parts.push({ part: Math.max(0, 1 - used), kind: "idle", name: "Idle", slices: 1 });
  strip(byId("line-chart"), parts);
  const shares = result.flows.map((flow) => {
    const heeds = flow.group === "users";
    const received = figure(heeds ? flow.goodput_bps : flow.throughput_bps) ?? 0;
    const share = received / figure(flow.fair_share_bps);
    const kind = heeds ? (share < 0.1 ? "starved" : "users") : "flood";
    return { share, kind, name: flow.label };
  });
  const order = ({ kind }) => (kind === "flood" ? 1 : 0);
  shares.sort((a, b) => order(a) - order(b) || b.share - a.share);
  const few = shares.filter(({ kind }) => kind !== "flood").map(({ share }) => share);
  bars(byId("users-chart"), shares,
    `Users from ${percent(few[0])} to ${percent(few.at(-1))} of a fair share`);
}

/* Rates, waiting times, losses and the length of the queue. */
function showTime(series, warmup, rate) {
  const { time_s: time } = series;
  const find = (what) => series.lines.filter((line) => line.what === what);
  const kind = (name) => (name === "flood" ? "flood" : name === "users" ? "users" : "queue");
  const line = (scale) => ({ name, values }) => ({
    name, kind: kind(name), values: values.map((v) => (v === null ? null : v / scale)),
  });
  const rates = find("throughput").map(line(1e6));
  const losses = find("loss").filter(({ unit }) => unit === "bit/s").map(line(1e6));
  const charts = [
    { title: "Throughput", unit: "Mbit/s", lines: rates, most: (rate / 1e6) * 1.1 },
    { title: "Wait in the queue", unit: "ms", lines: find("delay").map(line(1)), area: true },
    { title: "Packets waiting", unit: "", lines: find("queue").map(line(1)), area: true },
    { title: "Dropped", unit: "Mbit/s", lines: losses },
  ];
  boxes(byId("time-charts"), charts.length).forEach((box, i) => {
    lines(box, { ...charts[i], time, warmup });
  });
}

/* The gauges of the queue: what it knows and reckons with. */
function showState(series, warmup, title) {
  const gauges = series.lines.filter((line) => line.what === "gauge");
  byId("state-what").textContent = gauges.length === 0
    ? `${title} has no state besides the packets that wait.`
    : `What ${title} reckons with, by the names of its manual page.`;
  boxes(byId("state-charts"), gauges.length).forEach((box, i) => {
    const { name, unit, values } = gauges[i];
    const probability = unit === "" && values.every((v) => v === null || (v >= 0 && v <= 1));
    lines(box, {
      title: name, unit, time: series.time_s, warmup, area: true,
      most: probability && values.some((v) => v > 0.2) ? 1.02 : undefined,
      lines: [{ name, kind: "gauge", values }],
    });
  });
}

/* All of a run. Returns the answer as a sentence. */
function showRun(played) {
  const read = readResult(played.result);
  const warmup = read.result.bottleneck.warmup_s;
  moments.clear();
  const sentence = showAnswer(played, read);
  showShares(read);
  showTime(played.series, warmup, read.result.bottleneck.rate_bps);
  showState(played.series, warmup, read.result.queue.name);
  byId("command").textContent = played.command;
  byId("version").textContent = read.result.version;
  return sentence;
}

/* The rows of all queues, empty; `choose` is called with the name of the one that is chosen. */
function layTable(queues, choose) {
  const row = ({ name, title }) => {
    const button = element("button", { type: "button", title }, name);
    button.addEventListener("click", () => choose(name));
    const made = element("tr", {}, element("th", { scope: "row" }, button),
      ...[0, 1, 2].map(() => element("td")));
    made.dataset.queue = name;
    return made;
  };
  byId("all").tBodies[0].replaceChildren(...queues.map(row));
}

/* A cell that shows `part` of 1 as a bar and as a figure. */
function fillBar(cell, part) {
  cell.className = "share";
  cell.replaceChildren(bar(part, grade(part)), element("span", {}, percent(part)));
}

/* What came of the same traffic through the queue of a row. */
function fillRow(name, played) {
  const row = document.querySelector(`#all tr[data-queue="${name}"]`);
  const read = readResult(played.result);
  fillBar(row.cells[1], read.share);
  fillBar(row.cells[2], read.worst);
  row.cells[3].textContent = milliseconds(read.wait);
  row.classList.remove("old");
}

/* The figures of all rows are of other traffic until they are filled again. */
function ageTable(chosen) {
  for (const row of byId("all").tBodies[0].rows) {
    row.classList.add("old");
    row.classList.toggle("chosen", row.dataset.queue === chosen);
    row.cells[0].firstChild.setAttribute("aria-pressed", String(row.dataset.queue === chosen));
  }
}

/* What is wrong, in sentences; nothing if there are none. */
function showTroubles(sentences) {
  const list = sentences.map((text) => element("p", { class: "trouble" }, text));
  byId("troubles").replaceChildren(...list);
}
