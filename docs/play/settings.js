"use strict";

/*
 * The settings: what each may be, how a link carries it, and what it changes in the scenario
 * `play`. A setting is a choice among `steps`, or among words.
 */
const range = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

const SETTINGS = {
  queue: { label: "queue", initial: "drop_tail", words: [] },
  preset: { label: "preset", initial: "auto", words: [] },
  params: { label: "parameters", initial: "", text: 200 },
  flood: {
    label: "flood", initial: 2, unit: "× the line",
    steps: range(0, 50).map((n) => n / 10),
  },
  floods: {
    label: "flooding hosts", initial: 1, whole: true,
    steps: [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 25, 32, 40, 50, 64],
  },
  users: { label: "users", initial: 20, whole: true, steps: range(1, 100) },
  rtt: {
    label: "round trip", initial: 40, unit: "ms",
    steps: [4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 120, 150, 200, 250, 300, 400],
  },
  tcp: {
    label: "TCP", initial: "newreno",
    words: ["newreno", "sack", "cubic", "bbr", "dctcp", "vegas"],
  },
  ecn: { label: "ECN", initial: "off", words: ["off", "on"] },
  rate: {
    label: "line", initial: 10, unit: "Mbit/s",
    steps: [1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 40, 50, 60, 80, 100],
  },
  buffer: {
    label: "buffer", initial: 100, unit: "ms",
    steps: [10, 15, 20, 30, 40, 50, 75, 100, 150, 200, 300, 400, 500, 750, 1000],
  },
  seed: { label: "seed", initial: 1, whole: true, steps: range(1, 999) },
};

/* A link longer than this was not made here. */
const LONGEST_LINK = 1000;

function initialSettings() {
  return Object.fromEntries(Object.entries(SETTINGS).map(([key, s]) => [key, s.initial]));
}

/* What is wrong with `text` as the setting `key`; null if it can be. */
function refusal(key, text) {
  const { steps, words, text: longest, whole } = SETTINGS[key];
  if (longest !== undefined) {
    const fits = text.length <= longest && !/[\u0000-\u001f]/.test(text);
    return fits ? null : `must be one line of at most ${longest} characters`;
  }
  if (words !== undefined) {
    return words.includes(text) ? null : `must be ${listed(words)}`;
  }
  const [least, most] = [steps[0], steps[steps.length - 1]];
  const form = whole ? /^\d{1,6}$/ : /^\d{1,6}(\.\d{1,6})?$/;
  const fits = form.test(text) && Number(text) >= least && Number(text) <= most;
  return fits ? null : `must be a ${whole ? "whole " : ""}number from ${least} to ${most}`;
}

function listed(words) {
  return words.length < 2 ? words.join() : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}

/* The text as a message may show it. */
function shortened(text) {
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}

/*
 * The settings that a link's fragment says, and what is wrong with it in sentences. Where it says
 * nothing, or what cannot be, the initial ones hold.
 */
function readLink(fragment) {
  const settings = initialSettings();
  const text = fragment.replace(/^#/, "");
  if (text.length > LONGEST_LINK) {
    return [settings, [`The link is longer than ${LONGEST_LINK} characters; all defaults hold.`]];
  }
  const wrong = [];
  const seen = new Set();
  for (const [key, value] of new URLSearchParams(text)) {
    const said = `In the link, ${shortened(`${key}=${value}`)}`;
    if (!Object.hasOwn(SETTINGS, key)) {
      const known = Object.keys(SETTINGS).join(", ");
      wrong.push(`${said}: there is no such setting; known are ${known}.`);
      continue;
    }
    const why = seen.has(key) ? "is given twice" : refusal(key, value);
    seen.add(key);
    if (why === null) {
      settings[key] = SETTINGS[key].steps ? Number(value) : value;
    } else {
      const holds = settings[key] === "" ? "none" : settings[key];
      wrong.push(`${said}: ${SETTINGS[key].label} ${why}; ${holds} holds.`);
    }
  }
  return [settings, wrong];
}

/* The fragment that carries all of `settings`. */
function writeLink(settings) {
  return `#${new URLSearchParams(settings)}`;
}

/* The queue as the command takes it: NAME[/PRESET][,param=value…]. */
function queueText({ queue, preset, params }) {
  const more = params.trim();
  return queue + (preset === "auto" ? "" : `/${preset}`) + (more === "" ? "" : `,${more}`);
}

/* A rate in bit/s with the unit that keeps it short. */
function exactRate(bps) {
  return bps % 1000 === 0 ? `${bps / 1e6} Mbit/s` : `${bps} bit/s`;
}

/* What `settings` change in the scenario, each as --set takes it. */
function changes(settings) {
  const initial = initialSettings();
  const differs = (...keys) => keys.some((key) => settings[key] !== initial[key]);
  const sets = [];
  if (differs("rate")) sets.push(`network.rate=${settings.rate} Mbit/s`);
  if (differs("rtt")) sets.push(`network.delay=${settings.rtt / 4} ms`);
  if (differs("buffer")) sets.push(`network.limit=${settings.buffer} ms`);
  if (differs("users")) sets.push(`group.users.count=${settings.users}`);
  if (differs("tcp")) sets.push(`group.users.source=${settings.tcp}`);
  if (differs("ecn")) sets.push(`group.users.ecn=${settings.ecn}`);
  if (settings.flood === 0) {
    sets.push("group.flood=");
  } else {
    if (differs("floods")) sets.push(`group.flood.count=${settings.floods}`);
    const each = Math.max(1000, Math.round((floodRate(settings) * 1e6) / settings.floods));
    if (differs("flood", "floods", "rate")) sets.push(`group.flood.rate=${exactRate(each)}`);
  }
  if (differs("seed")) sets.push(`run.seed=${settings.seed}`);
  return sets;
}

/* What all floods send together, in Mbit/s. */
function floodRate(settings) {
  return settings.flood * settings.rate;
}
