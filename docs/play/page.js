"use strict";

/* The page: settings change, the simulator runs, what came of it is shown. */
(async () => {
  /* The least time without a change before other queues are tried, and before it is said aloud. */
  const [QUIET_MS, ALOUD_MS] = [250, 900];
  /* No run takes this long; one that does is given up. */
  const PATIENCE_MS = 15000;

  const machine = new Machine(ENGINE, PATIENCE_MS);
  const state = { settings: null, queues: [], played: null, turn: 0, times: [] };
  const timers = {};

  function later(name, delay, action) {
    clearTimeout(timers[name]);
    timers[name] = setTimeout(action, delay);
  }

  function request(settings) {
    return { run: { sets: changes(settings), queue: queueText(settings) } };
  }

  /* Runs the settings as they are and shows what came of it; what is newer takes its place. */
  async function run() {
    const { settings } = state;
    const turn = (state.turn += 1);
    const asked = performance.now();
    ageTable(settings.queue);
    const reply = await machine.ask(request(settings));
    if (reply === null) return;
    if (reply.problem !== undefined) {
      if (turn === state.turn) showTroubles([reply.problem]);
      byId("stage").classList.add("old");
      return;
    }
    state.played = reply.played;
    const sentence = showRun(reply.played);
    byId("stage").classList.remove("old");
    state.times.push(performance.now() - asked);
    document.documentElement.dataset.shown = String(turn);
    if (turn !== state.turn) return;
    later("aloud", ALOUD_MS, () => { byId("live").textContent = sentence; });
    later("all", QUIET_MS, () => runAll(turn));
  }

  /* Tries every other queue with the same traffic, until something changes. */
  async function runAll(turn) {
    for (const { name } of state.queues) {
      if (turn !== state.turn) return;
      const other = { ...state.settings, queue: name, preset: "auto", params: "" };
      const reply = await machine.ask(request(other));
      if (reply?.played !== undefined && turn === state.turn) fillRow(name, reply.played);
    }
    if (turn === state.turn) document.documentElement.dataset.all = String(turn);
  }

  function choose(settings) {
    state.settings = settings;
    showSettings(settings, state.queues);
    showTroubles([]);
    later("link", 300, () => writeLocation(writeLink(settings)));
    run();
  }

  function changed(key, value) {
    const next = { ...state.settings, [key]: value };
    if (key === "queue") Object.assign(next, { preset: "auto", params: "" });
    choose(next);
  }

  function writeLocation(link) {
    try {
      history.replaceState(null, "", link);
    } catch {
      // A browser may refuse this to a page from a disk. The link can still be copied.
    }
  }

  /* Takes the settings of the page's own address. */
  async function followLink() {
    const [settings, wrong] = readLink(location.hash);
    const queue = state.queues.find(({ name }) => name === settings.queue);
    if (!queue.presets.includes(settings.preset)) {
      wrong.push(`In the link, preset=${settings.preset}: ${queue.name} has no such preset; ` +
        `known are ${queue.presets.join(", ")}. auto holds.`);
      settings.preset = "auto";
    }
    const tried = settings.params === "" ? null : await machine.ask(request(settings));
    if (tried?.problem !== undefined) {
      wrong.push(`In the link, params=${shortened(settings.params)}: ${tried.problem}. None hold.`);
      settings.params = "";
    }
    choose(settings);
    showTroubles(wrong);
  }

  async function copy(text, what) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Where there is no clipboard for pages, the old way may still do.
      const field = element("textarea", {}, text);
      document.body.append(field);
      field.select();
      document.execCommand("copy");
      field.remove();
    }
    byId("copied").textContent = `${what} is copied.`;
    later("copied", 3000, () => { byId("copied").textContent = ""; });
  }

  function save(name, text, type) {
    const url = URL.createObjectURL(new Blob([text], { type }));
    element("a", { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
  }

  function address() {
    return location.href.replace(/#.*$/, "") + writeLink(state.settings);
  }

  function layButtons() {
    const click = (id, action) => byId(id).addEventListener("click", action);
    const most = SETTINGS.seed.steps.length;
    click("dice", () => changed("seed", (state.settings.seed % most) + 1));
    click("reset", () => choose(initialSettings()));
    click("copy-link", () => copy(address(), "The link"));
    click("copy-command", () => copy(state.played.command, "The command"));
    click("save-scenario", () => save("play.toml", state.played.scenario, "application/toml"));
    click("save-result", () => save("result.json", `${state.played.result}\n`, "application/json"));
  }

  /* The charts are as wide as their places: they are drawn anew when those change. */
  function watchWidth() {
    let width = byId("stage").clientWidth;
    new ResizeObserver(() => {
      if (byId("stage").clientWidth === width || state.played === null) return;
      width = byId("stage").clientWidth;
      showRun(state.played);
    }).observe(byId("stage"));
  }

  laySliders(changed);
  layChoices(changed);
  const reply = await machine.ask("queues");
  if (reply.problem !== undefined) {
    showTroubles([reply.problem]);
    return;
  }
  state.queues = reply.queues;
  layQueues(state.queues);
  layTable(state.queues, (name) => changed("queue", name));
  layTries(choose);
  layButtons();
  watchWidth();
  window.addEventListener("hashchange", followLink);
  window.tidegate = state; // For tests.
  await followLink();
})().catch((error) => showTroubles([`The page cannot run here: ${error.message}`]));
