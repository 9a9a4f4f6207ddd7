"use strict";
// One story in two systems side by side, at one stage. Stories lie packed in the page, some at a time.
(() => {
  const { element, data } = gradlife;
  const { systems, batch, stories } = data("run");
  const packed = data("packed");
  const find = (id) => document.getElementById(id);
  const picks = [find("pick-0"), find("pick-1")];
  const sides = [find("side-0"), find("side-1")];
  const slider = find("stage");
  const places = new Map(stories.map(([id], number) => [id, number]));
  const unpacked = new Map();
  let story = null, current = -1, asked = 0;

  function unpack(number) {
    if (!unpacked.has(number)) {
      const bytes = Uint8Array.from(atob(packed[number]), (letter) => letter.charCodeAt(0));
      const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
      unpacked.set(number, new Response(stream).json());
    }
    return unpacked.get(number);
  }

  async function choose(number) {
    const turn = (asked += 1);
    const found = (await unpack(Math.floor(number / batch)))[number % batch];
    if (turn !== asked) return;
    story = found;
    current = number;
    find("pick-story").value = String(number);
    picks.forEach((pick, side) => { pick.value = String(stories[number][3 + side]); });
    slider.max = String(Math.max(0, story.stages.length - 1));
    slider.value = slider.max;
    document.querySelectorAll("#matrix-table th[aria-current]").forEach((cell) => cell.removeAttribute("aria-current"));
    const link = document.querySelector(`#matrix-table a[href="#${CSS.escape(anchor(number))}"]`);
    if (link) link.parentElement.setAttribute("aria-current", "true");
    about();
    show();
  }

  const anchor = (number) => `story/${encodeURIComponent(stories[number][0]).replaceAll("%2F", "/")}`;

  function about() {
    const [, name, suite] = stories[current];
    const parts = [element("p", {}, element("strong", {}, story.title), ` (${suite}/${name})`)];
    if (story.fixes) parts.push(element("p", {}, `Repairs ${story.fixes}: ${story.fix}`));
    const from = [story.pattern, ...story.origin].filter(Boolean).join(", ");
    if (from) parts.push(element("p", { class: "muted" }, from));
    if (story.story) {
      parts.push(element("details", {}, element("summary", {}, "The story"), element("p", { class: "story-text" }, story.story)));
    }
    find("about").replaceChildren(...parts);
  }

  function show() {
    const now = Number(slider.value);
    const name = story.stages[now] ?? "no stage was reached";
    find("stage-name").textContent = `${now + 1} of ${Math.max(1, story.stages.length)}: ${name}`;
    slider.setAttribute("aria-valuetext", name);
    find("stage-back").disabled = now === 0;
    find("stage-on").disabled = now >= Number(slider.max);
    const runs = picks.map((pick) => story.runs[Number(pick.value)]);
    const graphs = runs.map((run) => run && run.graphs.find((graph) => graph.stage === now));
    runs.forEach((run, side) => {
      const other = graphs[1 - side] && picks[0].value !== picks[1].value ? owning.sayings(graphs[1 - side], graphs[side] || {}) : null;
      fill(sides[side], systems[Number(picks[side].value)], run, graphs[side], other, now);
    });
  }

  function fill(side, system, run, graph, other, now) {
    const width = Math.floor(side.clientWidth) - 2;
    const opened = new Set([...side.querySelectorAll("details[open]")].map((part) => part.dataset.part));
    const head = element("div", {}, element("h3", {}, system));
    side.replaceChildren(head);
    if (!run) head.append(element("p", {}, "This story was not shown here."));
    else side.append(...runParts(head, run, graph, other, now, width));
    side.querySelectorAll("details").forEach((part) => { part.open = opened.has(part.dataset.part); });
  }

  // Four parts, which stand beside those of the other side.
  function runParts(head, run, graph, other, now, width) {
    if (run.outcome !== "ok") head.append(element("p", {}, element("strong", {}, run.outcome), run.reason ? `: ${run.reason}` : ""));
    head.append(verdicts(run, now));
    const owners = element("div", {}, element("h4", {}, "Who owns whom"));
    owners.append(...(graph ? drawing(graph, other, width) : [element("p", { class: "muted" }, whyNoDrawing(run))]));
    const source = run.events ? "the engine's log" : "as the probes read it, stage by stage";
    const happened = element("div", {}, element("h4", {}, `What happened: ${source}`), ...timeline(run, now, width));
    return [owners, happened, element("div", {}, readings(run, now))];
  }

  const READ = "Read of PyTorch's own objects, by the heap graph: only references that keep, without their counts.";

  const whyNoDrawing = (run) => (run.graphs.length
    ? "The story did not come to this stage here."
    : "This system does not tell who owns whom: gradlife's engine does, and a PyTorch that runs here. What was read of it stands below.");

  function verdicts(run, now) {
    const found = run.readings.filter(([stage, , probe]) => probe === "liveness" && stage <= now);
    const last = new Map(found.map(([, subject, , value]) => [subject, value]));
    const chips = [...last].map(([subject, value]) => element("li", {}, `${subject} `, element("span", { class: `chip ${value}` }, value)));
    if (!chips.length) return element("p", { class: "muted" }, "No verdict yet: names are left.");
    return element("ul", { class: "verdicts", "aria-label": "Verdicts" }, ...chips);
  }

  function framed(picture, label) {
    return element("div", { class: "frame", tabindex: "0", role: "region", "aria-label": label }, picture);
  }

  function listed(title, lines) {
    const items = lines.map((line) => element("li", {}, line));
    const summary = element("summary", {}, `${title} (${lines.length})`);
    return element("details", { "data-part": title }, summary, element("ul", {}, ...items));
  }

  function drawing(graph, other, width) {
    if (!graph.nodes.length) return [element("p", { class: "muted" }, "Nothing of the engine is left.")];
    const parts = [framed(owning.draw(graph, width, other), "Drawing of owners")];
    if (graph.source !== "engine") parts.push(element("p", { class: "muted" }, READ));
    if (graph.left_out) parts.push(element("p", { class: "muted" }, `and ${gradlife.number(graph.left_out)} more objects`));
    parts.push(listed("The same in words", owning.inWords(graph)));
    return parts;
  }

  function timeline(run, now, width) {
    const shown = run.events ? lanes.ofEvents(run.events, story.stages) : lanes.ofReadings(run.readings, story.stages);
    if (!shown.rows.length) return [element("p", { class: "muted" }, "Nothing was watched.")];
    const { names, picture, scrollTo } = lanes.draw(shown, story.stages, now, width, move);
    const scrolled = framed(picture, "Timeline");
    requestAnimationFrame(() => { scrolled.scrollLeft = scrollTo; });
    const parts = [element("div", { class: "lanes" }, names, scrolled)];
    const key = lanes.legend(shown).flatMap(([letter, kind]) => [element("b", {}, letter), ` ${kind}  `]);
    parts.push(element("p", { class: "mark-legend" }, ...key, element("b", {}, ">"), run.events ? " not destroyed" : " not seen dead"));
    const { objects_left_out: objects, events_left_out: events } = run.events || {};
    if (objects || events) {
      const words = `and ${gradlife.number(objects)} more objects; ${gradlife.number(events)} events are not drawn`;
      parts.push(element("p", { class: "muted" }, words));
    }
    parts.push(listed("What happened in this stage", lanes.inWords(shown, now)));
    return parts;
  }

  function readings(run, now) {
    const rows = run.readings.filter(([stage]) => stage === now).map(([, subject, probe, value, mark]) => element(
      "tr", {}, element("th", { scope: "row" }, subject), element("td", {}, probe), element("td", {}, value + (mark ? ` ${mark}` : "")),
    ));
    const head = element("tr", {}, ...["Subject", "Probe", "Value"].map((name) => element("th", { scope: "col" }, name)));
    const table = element("table", { class: "data" }, element("thead", {}, head), element("tbody", {}, ...rows));
    const frame = element("div", { class: "table-frame", tabindex: "0", role: "region", "aria-label": "Readings" }, table);
    const summary = element("summary", {}, `Readings at this stage (${rows.length})`);
    return element("details", { "data-part": "readings" }, summary, frame);
  }

  function move(stage) {
    slider.value = String(stage);
    show();
  }

  function fillPickers() {
    const groups = new Map();
    stories.forEach(([, name, suite], number) => {
      if (!groups.has(suite)) groups.set(suite, element("optgroup", { label: suite }));
      groups.get(suite).append(element("option", { value: String(number) }, name));
    });
    find("pick-story").append(...groups.values());
    picks.forEach((pick) => pick.append(...systems.map((name, number) => element("option", { value: String(number) }, name))));
  }

  function follow() {
    const [part, ...rest] = location.hash.slice(1).split("/");
    const number = part === "story" && rest.length ? places.get(decodeURIComponent(rest.join("/"))) : undefined;
    if (number === undefined) return false;
    choose(number).then(() => find("story").scrollIntoView());
    return true;
  }

  const begin = () => {
    const differing = stories.findIndex((one) => one[5]);
    return Math.max(0, differing);
  };

  if (!stories.length) return;
  find("explorer").hidden = false;
  fillPickers();
  find("pick-story").addEventListener("change", (event) => choose(Number(event.target.value)));
  picks.forEach((pick) => pick.addEventListener("change", show));
  slider.addEventListener("input", show);
  find("stage-back").addEventListener("click", () => move(Number(slider.value) - 1));
  find("stage-on").addEventListener("click", () => move(Number(slider.value) + 1));
  addEventListener("hashchange", follow);
  let waiting = 0;
  addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(() => story && show(), 150); });
  if (!follow()) choose(begin());
})();
