"use strict";
// Draws what happened to each object from left to right: a lane an object, a column an event of the engine's log. A system
// that logs none has a lane for each watched subject, with what the probes read at each stage.
const lanes = (() => {
  const { svg } = gradlife;
  const LETTERS = {
    created: "C", wrapped: "W", dropped: "D", flipped: "F", resurrected: "R", saved: "S", packed: "P", unpacked: "U",
    released: "L", hook: "H", destroyed: "X",
  };
  const HEIGHT = 22, TOP = 22;

  function ofEvents(events, stages) {
    const rows = events.lanes.map(([name, isSubject]) => ({ name, isSubject, marks: [], end: null }));
    const ends = new Array(stages.length).fill(0);
    events.rows.forEach(([lane, stage, kind, detail, strong, weak], column) => {
      const words = `${rows[lane].name}: ${kind}${detail ? ` ${detail}` : ""}; ${strong} strong, ${weak} weak`;
      rows[lane].marks.push({ column, stage, kind, letter: LETTERS[kind] || "?", words });
      if (kind === "destroyed") rows[lane].end = column;
      ends[stage] = column + 1;
    });
    return { rows, ends: filled(ends), columns: events.rows.length };
  }

  // A stage in which nothing happened ends where the one before it ended.
  const filled = (ends) => ends.map((end, number) => Math.max(...ends.slice(0, number + 1)));

  function ofReadings(readings, stages) {
    const rows = new Map();
    for (const [stage, subject, probe, value] of readings) {
      if (!["expiry", "liveness"].includes(probe) || value === "inconclusive") continue;
      if (!rows.has(subject)) rows.set(subject, { name: subject, isSubject: true, marks: [], end: null });
      const row = rows.get(subject);
      const add = (column, kind, words) => {
        row.marks.push({ column, stage, kind, letter: kind === "alive" ? "A" : "X", words: `${subject} at '${stages[stage]}': ${words}` });
        if (kind === "dead") row.end = column;
      };
      if (row.end !== null) continue;
      if (probe === "expiry") add(stage, value, value);
      else if (value === "gc") add(stage + 0.35, "dead", "freed when the collector ran");
    }
    return { rows: [...rows.values()].filter((row) => row.marks.length), ends: stages.map((_, number) => number + 1), columns: stages.length };
  }

  // Names stand still while what happened is scrolled; the stage looked at is scrolled into sight.
  function draw(shown, stages, now, least, choose) {
    const room = Math.min(170, Math.max(96, Math.floor(least * 0.3)));
    const widest = shown.columns <= stages.length ? 60 : 22;
    const step = Math.max(11, Math.min(widest, (least - room - 24) / Math.max(1, shown.columns)));
    const width = Math.max(least - room, step * shown.columns + 24);
    const height = TOP + shown.rows.length * HEIGHT + 8;
    const words = `What happened: ${shown.rows.length} objects, ${shown.columns} columns; the same in words below`;
    const names = svg("svg", { width: room, height, viewBox: `0 0 ${room} ${height}`, "aria-hidden": "true" });
    const picture = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words });
    const middle = (number) => TOP + number * HEIGHT + HEIGHT / 2;
    const bands = stages.map((stage, number) => ({ stage, number, from: step * (number ? shown.ends[number - 1] : 0), to: step * shown.ends[number] }))
      .filter((band) => band.to > band.from);
    for (const band of bands) {
      const box = { x: band.from, y: 0, width: band.to - band.from, height };
      if (band.number === now) picture.append(svg("rect", { ...box, class: "now" }));
      picture.append(svg("line", { x1: band.to, x2: band.to, y1: 4, y2: height, class: "border" }));
      picture.append(svg("text", { x: (band.from + band.to) / 2, y: 14, class: "stage-number" }, String(band.number + 1)));
    }
    shown.rows.forEach((row, number) => {
      names.append(laneName(row, middle(number), room));
      picture.append(...drawLane(row, middle(number), { step, ends: shown.ends, now, width }));
    });
    for (const band of bands) {
      const box = { x: band.from, y: 0, width: band.to - band.from, height: TOP, class: "band" };
      const place = svg("rect", box, svg("title", {}, band.stage));
      place.addEventListener("click", () => choose(band.number));
      picture.append(place);
    }
    const seen = bands.find((band) => band.number === now) || { from: step * shown.ends[now], to: step * shown.ends[now] };
    return { names, picture, scrollTo: seen.to > least - room ? seen.from - 24 : 0 };
  }

  function laneName(row, y, room) {
    const limit = Math.floor((room - 8) / 6.9);
    const name = row.name.length > limit ? `${row.name.slice(0, limit - 1)}…` : row.name;
    return svg("text", { x: 6, y: y + 4, class: `lane-name${row.isSubject ? " subject" : ""}` }, name, svg("title", {}, row.name));
  }

  function drawLane(row, y, { step, ends, now, width }) {
    const made = [];
    const at = (column) => step * (column + 0.5);
    if (row.marks.length) {
      const first = row.marks[0].column;
      const end = row.end === null ? width - 18 : at(row.end);
      const isBorn = row.marks[0].stage <= now;
      const seen = isBorn ? Math.max(at(first), Math.min(end, step * ends[now])) : at(first);
      if (isBorn) made.push(svg("line", { x1: at(first), x2: seen, y1: y, y2: y, class: "lane" }));
      made.push(svg("line", { x1: seen, x2: end, y1: y, y2: y, class: "lane later" }));
      if (row.end === null) made.push(svg("text", { x: width - 10, y: y + 4, class: "mark later" }, ">", svg("title", {}, "not destroyed")));
    }
    for (const mark of row.marks) {
      const classes = `mark ${mark.kind}${mark.stage > now ? " later" : ""}`;
      made.push(svg("text", { x: at(mark.column), y: y + 4, class: classes }, mark.letter, svg("title", {}, mark.words)));
    }
    return made;
  }

  const legend = (shown) => {
    const found = new Map(shown.rows.flatMap((row) => row.marks.map((mark) => [mark.letter, mark.kind])));
    return [...found].sort();
  };
  const inWords = (shown, now) => shown.rows.flatMap((row) => row.marks).filter((mark) => mark.stage === now)
    .sort((a, b) => a.column - b.column).map((mark) => mark.words);

  return { ofEvents, ofReadings, draw, legend, inWords };
})();
