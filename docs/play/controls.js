"use strict";

/* The controls: sliders, lists and fields, and what they say of themselves. */

const SAID = {
  flood: (s) => (s.flood === 0 ? "none" : `${brief(floodRate(s))} Mbit/s, ${s.flood} × the line`),
  floods: (s) => (s.floods === 1 ? "1 host" : `${s.floods} hosts`),
  users: (s) => (s.users === 1 ? "1 user" : `${s.users} users`),
  rtt: (s) => `${s.rtt} ms`,
  rate: (s) => `${s.rate} Mbit/s`,
  buffer: (s) => `${s.buffer} ms`,
};

/* The step nearest to `value`. */
function nearest(steps, value) {
  const off = (i) => Math.abs(steps[i] - value);
  return steps.reduce((best, _, i) => (off(i) < off(best) ? i : best), 0);
}

/* Makes a slider of every place that is marked for one. `changed` is called with key and value. */
function laySliders(changed) {
  for (const place of document.querySelectorAll(".slider")) {
    const { key } = place.dataset;
    const { steps } = SETTINGS[key];
    const input = element("input", {
      type: "range", id: key, name: key, min: 0, max: steps.length - 1, step: 1,
    });
    input.addEventListener("input", () => changed(key, steps[Number(input.value)]));
    const label = element("label", { for: key }, place.textContent.trim());
    place.replaceChildren(label, element("output", { for: key, "aria-live": "off" }), input);
  }
}

function layChoices(changed) {
  const options = (words) => words.map((word) => element("option", { value: word }, word));
  byId("tcp").replaceChildren(...options(SETTINGS.tcp.words));
  for (const key of ["queue", "preset", "tcp"]) {
    byId(key).addEventListener("change", () => changed(key, byId(key).value));
  }
  byId("params").addEventListener("input", () => changed("params", byId("params").value));
  byId("ecn").addEventListener("change", () => changed("ecn", byId("ecn").checked ? "on" : "off"));
}

/* Fills the lists with the queues that there are. */
function layQueues(queues) {
  SETTINGS.queue.words = queues.map(({ name }) => name);
  const all = new Set(queues.flatMap(({ presets }) => presets));
  SETTINGS.preset.words = ["auto", ...[...all].filter((name) => name !== "auto").sort()];
  const option = ({ name }) => element("option", { value: name }, name);
  byId("queue").replaceChildren(...queues.map(option));
}

/* Has the controls show `settings`. */
function showSettings(settings, queues) {
  for (const input of document.querySelectorAll(".slider input")) {
    const key = input.name;
    const text = SAID[key](settings);
    input.value = nearest(SETTINGS[key].steps, settings[key]);
    input.setAttribute("aria-valuetext", text);
    input.style.setProperty("--part", input.value / input.max);
    input.parentElement.querySelector("output").textContent = text;
  }
  const queue = queues.find(({ name }) => name === settings.queue);
  const presets = queue.presets.map((name) => element("option", { value: name }, name));
  byId("preset").replaceChildren(...presets);
  for (const key of ["queue", "preset", "params", "tcp"]) {
    if (byId(key).value !== settings[key]) byId(key).value = settings[key];
  }
  byId("ecn").checked = settings.ecn === "on";
  byId("queue-title").textContent = `${queue.title[0].toUpperCase()}${queue.title.slice(1)}.`;
  byId("settings-said").textContent = said(settings);
  markTry(settings);
}

/* All settings in a line, for who prints the page. */
function said(settings) {
  const flood = settings.flood === 0 ? "no flood"
    : `a flood of ${SAID.flood(settings)} from ${SAID.floods(settings)}`;
  const ecn = settings.ecn === "on" ? "with ECN" : "without ECN";
  return `${queueText(settings)}; ${flood}; ${SAID.users(settings)} of ${settings.tcp} ${ecn}, ` +
    `round trip ${SAID.rtt(settings)}; a line of ${SAID.rate(settings)} with a buffer of ` +
    `${SAID.buffer(settings)}; seed ${settings.seed}.`;
}

/* Things to try, in turn: each is what it changes from the initial settings. */
const TRIES = [
  ["A quiet line", { flood: 0 }],
  ["Let a flood in", { flood: 2 }],
  ["Choose sfb", { flood: 2, queue: "sfb" }],
  ["fq_codel: shorter waits", { flood: 2, queue: "fq_codel" }],
  ["Now 50 hosts flood", { flood: 2, queue: "fq_codel", floods: 50 }],
  ["ECN under RED", { flood: 0.2, queue: "red", ecn: "on" }],
];

function layTries(choose) {
  const button = ([text, changed]) => {
    const made = element("button", { type: "button" }, text);
    made.addEventListener("click", () => choose({ ...initialSettings(), ...changed }));
    return element("li", {}, made);
  };
  byId("tries").replaceChildren(...TRIES.map(button));
}

/* Marks the one that `settings` are, if any. */
function markTry(settings) {
  [...byId("tries").children].forEach((item, i) => {
    const tried = { ...initialSettings(), ...TRIES[i][1] };
    const same = Object.keys(tried).every((key) => tried[key] === settings[key]);
    item.firstChild.setAttribute("aria-pressed", String(same));
  });
}
