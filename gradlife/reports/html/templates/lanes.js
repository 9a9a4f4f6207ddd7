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
      if (probe !== "expiry" || value === "inconclusive") continue;
      if (!rows.has(subject)) rows.set(subject, { name: subject, isSubject: true, marks: [], end: null });
      const row = rows.get(subject);
      if (row.end !== null) continue;
      row.marks.push({ column: stage, stage, kind: value, letter: value === "alive" ? "A" : "X", words: `${subject} at '${stages[stage]}': ${value}` });
      if (value === "dead") row.end = stage;
    }
    return { rows: [...rows.values()], ends: stages.map((_, number) => number + 1), columns: stages.length };
  }

  function draw(told, stages, now, least, choose) {
    const room = Math.min(170, Math.max(96, least * 0.3));
    const step = Math.max(11, Math.min(told.columns <= stages.length ? 60 : 22, (least - room - 24) / Math.max(1, told.columns)));
    const width = Math.max(least, room + step * told.columns + 24);
    const height = TOP + told.rows.length * HEIGHT + 8;
    const words = `${told.rows.length} objects, ${told.columns} columns; the same in words below`;
    const picture = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `What happened: ${words}` });
    const at = (column) => room + step * (column + 0.5);
    stages.forEach((stage, number) => {
      const start = room + step * (number ? told.ends[number - 1] : 0), end = room + step * told.ends[number];
      if (end <= start) return;
      const box = { x: start, y: 0, width: end - start, height };
      if (number === now) picture.append(svg("rect", { ...box, class: "now" }));
      picture.append(svg("line", { x1: end, x2: end, y1: 4, y2: height, class: "border" }));
      picture.append(svg("text", { x: (start + end) / 2, y: 14, class: "stage-number" }, String(number + 1)));
    });
    told.rows.forEach((row, number) => picture.append(...drawLane(row, TOP + number * HEIGHT + HEIGHT / 2, { at, room, step, ends: told.ends, now, width })));
    stages.forEach((stage, number) => {
      const start = room + step * (number ? told.ends[number - 1] : 0), end = room + step * told.ends[number];
      if (end <= start) return;
      const band = svg("rect", { x: start, y: 0, width: end - start, height: TOP, class: "band" }, svg("title", {}, stage));
      band.addEventListener("click", () => choose(number));
      picture.append(band);
    });
    return picture;
  }

  function drawLane(row, y, { at, room, step, ends, now, width }) {
    const made = [];
    const limit = Math.floor((room - 8) / 6.6);
    const name = row.name.length > limit ? `${row.name.slice(0, limit - 1)}…` : row.name;
    made.push(svg("text", { x: 6, y: y + 4, class: `lane-name${row.isSubject ? " subject" : ""}` }, name, svg("title", {}, row.name)));
    if (row.marks.length) {
      const first = row.marks[0].column;
      const end = row.end === null ? width - 18 : at(row.end);
      const isBorn = row.marks[0].stage <= now;
      const seen = isBorn ? Math.min(end, room + step * ends[now]) : at(first);
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

  const legend = (told) => {
    const found = new Map(told.rows.flatMap((row) => row.marks.map((mark) => [mark.letter, mark.kind])));
    return [...found].sort();
  };
  const inWords = (told, now) => told.rows.flatMap((row) => row.marks).filter((mark) => mark.stage === now)
    .sort((a, b) => a.column - b.column).map((mark) => mark.words);

  return { ofEvents, ofReadings, draw, legend, inWords };
})();
