"use strict";

/* The page of a running gate: it hears events, keeps the last minutes, and draws. */
(() => {
  /* As many points are kept, one a second. */
  const KEPT = 300;
  /* A gate that says nothing for so long is stopped, in milliseconds. */
  const SILENCE_MS = 5000;
  /* How soon a refused stream is asked for again. */
  const AGAIN_MS = 2000;
  /* Figures of a link that are older have no news, in seconds. */
  const STALE_S = 3;

  const state = { snapshot: null, rates: [], past: [], heard: 0, ended: false, drawn: 0 };
  const sections = new Map();
  let [stream, chosen, held] = [null, null, false];

  function say(kind, text, ...more) {
    const line = byId("state");
    const said = `${kind} ${text}`;
    if (line.dataset.said === said) return;
    line.dataset.said = said;
    line.className = `state ${kind}`;
    line.replaceChildren(text, ...more);
    byId("ways").classList.toggle("stale", kind === "broken");
  }

  function connect() {
    stream?.close();
    stream = new EventSource("events");
    const on = (name, heed) => stream.addEventListener(name, ({ data }) => heed(JSON.parse(data)));
    on("past", (points) => Object.assign(state, { past: points.slice(-KEPT), ended: false }));
    on("now", hear);
    on("end", () => {
      state.ended = true;
      say("broken", `The gate ended at ${clock(Date.now() / 1e3)}. Waiting for the next.`);
    });
    on("away", () => {
      stream.close();
      const button = element("button", { type: "button" }, "Take a place again");
      button.addEventListener("click", connect);
      say("broken", "Newer pages have taken all places at this gate.", button);
    });
    stream.addEventListener("error", ({ target }) => {
      if (target !== stream) return;
      lost("The stream from the gate broke");
      if (target.readyState === EventSource.CLOSED) setTimeout(connect, AGAIN_MS);
    });
  }

  function lost(what) {
    if (state.ended) return;
    const heard = state.heard === 0 ? "" : `; last heard at ${clock(state.heard / 1e3)}`;
    say("broken", `${what}${heard}. Trying again.`);
  }

  function hear({ snapshot, rates, point }) {
    if (state.snapshot !== null && snapshot.version !== state.snapshot.version) location.reload();
    Object.assign(state, { snapshot, rates, heard: Date.now(), ended: false });
    if (state.past.at(-1)?.time_s !== point.time_s) state.past.push(point);
    state.past.splice(0, state.past.length - KEPT);
    say("live", held ? "Held; the gate goes on" : "Live");
    if (!document.hidden) draw();
  }

  const card = (title, ...more) =>
    element("section", { class: "card" }, element("h3", {}, title), ...more);

  function table(...names) {
    const head = names.map((name) => {
      return element("th", { scope: "col", class: name === "" ? "picture" : "" }, name);
    });
    return element("table", {}, element("thead", {}, element("tr", {}, ...head)),
      element("tbody"));
  }

  const tableCard = (title, empty, ...names) =>
    card(title, element("div", { class: "scroll" }, table(...names)),
      element("p", { class: "empty" }, empty));

  /* The places for what a direction shows. */
  function lay(managed, whole) {
    const [title, sentence] = [element("h2"), element("p", { class: "sentence" })];
    const made = { title, sentence, times: element("div", { class: "grid times" }) };
    const times = card("The last minutes", made.times);
    const node = element("section", { class: "way" }, title,
      element("div", { class: "card answer" }, sentence));
    made.node = node;
    if (managed) {
      made.tiles = element("div", { class: "tiles" });
      node.append(made.tiles);
    }
    node.append(times);
    if (!whole) return made;
    made.reasons = tableCard("Why frames are lost or marked", "None was, so far.", "reason", "",
      "now", "since the start");
    if (!managed) {
      node.append(made.reasons);
      return made;
    }
    made.flows = tableCard("Who sends most", "Nobody yet.", "flow", "", "rate", "share",
      "of fair", "offender for", "lost");
    made.flows.classList.add("flows");
    made.classes = tableCard("Classes", "There are none.", "class", "out", "lost", "waiting");
    made.what = element("p", { class: "what" });
    made.set = element("p", { class: "what" });
    const set = element("details", {}, element("summary", {}, "Its parameters"), made.set);
    made.gauges = element("div", { class: "grid" });
    node.append(element("div", { class: "sides" }, made.flows, made.reasons), made.classes,
      card("Inside the queue", made.what, made.gauges, set));
    return made;
  }

  function section(key, managed, whole) {
    const kind = `${managed} ${whole}`;
    const old = sections.get(key);
    if (old?.kind === kind) return old;
    const made = { ...lay(managed, whole), kind };
    sections.set(key, made);
    return made;
  }

  /* How a link stands that does not go on as it should. */
  function trouble(link) {
    const silent = state.snapshot.time_s - link.taken_s;
    if (!link.running) return "This link has ended: the gate moves no frames of it any more. ";
    if (silent <= STALE_S) return "";
    return `The link has reported nothing for ${since(silent)}: it is stopped. `;
  }

  function drawWay(number, side, whole, time) {
    const link = state.snapshot.links[number];
    const way = side === 0 ? link.managed : link.reverse;
    const { queue } = way;
    const last = lately(way, state.rates[number]?.[side]);
    const made = section(`${link.name}/${side}`, queue !== null, whole);
    const ways = state.past.map((point) => point.links[number]?.[side] ?? null);
    const about = queue === null ? "not managed" : `${queue.label}, ${bits(queue.rate_bps)}`;
    made.title.replaceChildren(`${link.name}: ${way.from} → ${way.to}`,
      element("small", {}, about));
    const flow = `${bits(last.received)} in, ${bits(last.sent)} out, ${bits(last.lost)} lost`;
    const [first, ...rest] = queue === null ? [flow] : sentences(way, last);
    const more = rest.length === 0 ? "." : `; ${rest.join("; ")}.`;
    made.sentence.replaceChildren(element("b", {}, trouble(link)), element("b", {}, first), more);
    made.draw = () => {
      const fill = (host, charts) => boxes(host, charts.length).forEach((box, i) => {
        lines(box, charts[i]);
      });
      const charts = timeCharts(way, ways, time);
      fill(made.times, whole ? charts : charts.slice(0, 2));
      if (queue !== null && whole) fill(made.gauges, gaugeCharts(queue, ways, time));
    };
    made.tiles?.replaceChildren(...(queue === null ? [] : tiles(way, last)));
    if (whole) drawTables(made, way, last);
    return made;
  }

  function drawTables(made, way, last) {
    const { queue } = way;
    const fill = (host, rows) => fillTable(host.querySelector("table"), rows);
    fill(made.reasons, reasonRows(way, last));
    if (queue === null) return;
    fill(made.flows, flowRows(queue, state.snapshot.time_s));
    fill(made.classes, classRows(queue, last));
    made.classes.hidden = queue.classes.length === 0;
    [made.what.textContent, made.set.textContent] = settings(queue);
  }

  function drawProcess({ version, uptime_s: up, resident_bytes: memory, reloads, time_s: now }) {
    const { done, refused, last_error: error } = reloads;
    const read = done + refused === 0 ? "" : ` · ${done + refused} reloads, ${refused} refused`;
    byId("process").textContent = `Tidegate ${version} · up ${since(up)} · ${bytes(memory)}` +
      `${read} · ${new Date(now * 1e3).toLocaleDateString("en-CA")} ${clock(now)}`;
    byId("process").title = error ?? "";
  }

  /* A button for every link, and one for all of them. */
  function drawLinks(links) {
    const names = links.length < 2 ? [] : [null, ...links.map(({ name }) => name)];
    const host = byId("links");
    if (host.children.length !== names.length ||
        names.some((name, i) => host.children[i].textContent !== (name ?? "All links"))) {
      host.replaceChildren(...names.map((name) => {
        const button = element("button", { type: "button" }, name ?? "All links");
        button.addEventListener("click", () => choose(name));
        return button;
      }));
    }
    names.forEach((name, i) => host.children[i].setAttribute("aria-pressed", name === chosen));
  }

  function choose(name) {
    chosen = name;
    history.replaceState(null, "", name === null ? "#" : `#${encodeURIComponent(name)}`);
    show();
  }

  function draw() {
    if (!held) show();
  }

  function show() {
    const { snapshot, past } = state;
    if (snapshot === null || past.length === 0) return;
    const { links } = snapshot;
    if (!links.some(({ name }) => name === chosen)) chosen = null;
    const shown = links.map((_, i) => i).filter((i) => [null, links[i].name].includes(chosen));
    const whole = shown.length === 1;
    const time = axis(past);
    drawProcess(snapshot);
    drawLinks(links);
    const made = shown.flatMap((i) => [0, 1].map((side) => drawWay(i, side, whole, time)));
    const host = byId("ways");
    const same = host.children.length === made.length &&
      made.every(({ node }, i) => host.children[i] === node);
    if (!same) host.replaceChildren(...made.map(({ node }) => node));
    // Charts are as wide as their places, which have a width only now.
    for (const { draw: drawCharts } of made) drawCharts();
    pointAt(pointed);
    state.drawn += 1;
  }

  /* The link that an address names, if it does. */
  function nameIn(hash) {
    try {
      return decodeURIComponent(hash.slice(1)) || null;
    } catch {
      return null;
    }
  }

  function hold() {
    held = !held;
    byId("pause").setAttribute("aria-pressed", String(held));
    if (!held) show();
  }

  chosen = nameIn(location.hash);
  byId("pause").addEventListener("click", hold);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) draw(); });
  window.addEventListener("resize", draw);
  setInterval(() => {
    if (state.heard > 0 && Date.now() - state.heard > SILENCE_MS &&
        stream.readyState === EventSource.OPEN) {
      lost(`The gate has said nothing for ${SILENCE_MS / 1000} s`);
    }
  }, 1000);
  window.tidegate = state; // For tests.
  connect();
})();
