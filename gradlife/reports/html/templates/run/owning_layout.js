"use strict";
// Lays out who owns whom in layers, so that no word lies on an arrow or on another word: a row of boxes, then a row of names
// of references, then the next boxes. Each reference that passes a row has a place of its own in it and runs straight through;
// arrows bend and cross only between rows, where no words are. See owning.js for what is drawn.
const layers = (() => {
  const BOX = { width: 150, line: 17, pad: 6 };
  const BETWEEN = 20, NAMES = 20, APART = 14, LANE = 11, MARGIN = 14, SWEEPS = 8;
  const LABEL = 26; // letters

  const pen = document.createElement("canvas").getContext("2d");
  function widthOf(text, font) {
    pen.font = font;
    return pen.measureText(text).width;
  }
  const FAMILY = getComputedStyle(document.body).fontFamily;
  const LABEL_FONT = `600 11px ${FAMILY}`, BOX_FONT = `12px ${FAMILY}`, TAG_FONT = `700 12px ${FAMILY}`;

  // A text that has room, or its beginning.
  function fitted(text, room, font) {
    if (widthOf(text, font) <= room) return text;
    let kept = text;
    while (kept && widthOf(`${kept}…`, font) > room) kept = kept.slice(0, -1);
    return `${kept}…`;
  }

  // Boxes of a ring side by side, as many as have room.
  function boxRows(graph, depth, most) {
    const byRing = new Map();
    for (const node of graph.nodes) {
      if (!byRing.has(depth.get(node.id))) byRing.set(depth.get(node.id), []);
      byRing.get(depth.get(node.id)).push(node);
    }
    const rows = [];
    for (const ring of [...byRing.keys()].sort((a, b) => a - b)) {
      const nodes = byRing.get(ring);
      for (let start = 0; start < nodes.length; start += most) rows.push(nodes.slice(start, start + most));
    }
    return rows;
  }

  // An item has a place x in a row, takes room on both sides of it, and is joined to items of the rows beside its own.
  const item = (left, right, more) => ({ left, right, x: 0, above: [], below: [], ...more });

  function boxOf(node, row) {
    const lines = (node.subject ? 1 : 0) + (node.wrapper ? 2 : 1);
    const height = lines * BOX.line + 2 * BOX.pad;
    return item(BOX.width / 2, BOX.width / 2, { node, row, height, width: BOX.width, top: [], bottom: [], lanes: 0 });
  }

  // Through which side of a box a reference comes: a wrapper is the upper half, the C++ object the lower one.
  function needsLane(box, isUpper, isBelow) {
    return Boolean(box.node.wrapper) && (isBelow ? isUpper : !isUpper);
  }

  function port(box, isUpper, isBelow) {
    const made = { box, isUpper, isBelow, lane: 0, side: 0, neighbour: null };
    if (needsLane(box, isUpper, isBelow)) {
      box.lanes += 1;
      made.side = box.lanes % 2 ? 1 : -1;
      made.lane = Math.ceil(box.lanes / 2);
    } else (isBelow ? box.bottom : box.top).push(made);
    return made;
  }

  function joined(upper, lower) {
    upper.below.push(lower);
    lower.above.push(upper);
  }

  // A reference between rows: a name in the row of names beside its source, and places to pass the rows between.
  function thread(edge, source, target, rows) {
    const isDown = target.row > source.row;
    const [upper, lower] = isDown ? [source, target] : [target, source];
    const ends = [port(source, edge.from, isDown), port(target, edge.to, !isDown)];
    const named = 2 * (isDown ? upper.row : lower.row - 1) + 1;
    const made = { edge, isDown, ends: isDown ? ends : ends.reverse(), items: [] };
    let before = upper;
    for (let level = 2 * upper.row + 1; level < 2 * lower.row; level += 1) {
      const isNamed = level === named && (edge.text || edge.isMarked);
      const place = item(8, isNamed ? edge.room : 8, { thread: made, isNamed });
      rows[level].push(place);
      joined(before, place);
      made.items.push(place);
      before = place;
    }
    joined(before, lower);
    made.ends[0].neighbour = made.items[0];
    made.ends[1].neighbour = made.items[made.items.length - 1];
    return made;
  }

  // A reference within a row: down, round its name, and up again.
  function loop(edge, source, target, rows) {
    const half = Math.max(16, edge.room / 2 + 6);
    const ends = [port(source, edge.from, true), port(target, edge.to, true)];
    const place = item(half, half, { isNamed: Boolean(edge.text), half });
    const made = { edge, isLoop: true, ends, items: [place] };
    place.thread = made;
    rows[2 * source.row + 1].push(place);
    joined(source, place);
    if (target !== source) joined(target, place);
    ends.forEach((end) => { end.neighbour = place; });
    return made;
  }

  // Places for a row that are as near to the wished ones as the room of each item allows, in this order.
  function settle(row, wishes) {
    const offsets = [];
    let sum = 0;
    row.forEach((one, number) => {
      if (number) sum += row[number - 1].right + one.left + APART;
      offsets.push(sum);
    });
    const blocks = [];
    row.forEach((_, number) => {
      let block = { mean: wishes[number] - offsets[number], count: 1 };
      while (blocks.length && blocks[blocks.length - 1].mean > block.mean) {
        const other = blocks.pop();
        const count = other.count + block.count;
        block = { mean: (other.mean * other.count + block.mean * block.count) / count, count };
      }
      blocks.push(block);
    });
    let number = 0;
    for (const block of blocks) for (let left = block.count; left; left -= 1, number += 1) row[number].x = block.mean + offsets[number];
  }

  const mean = (items) => items.reduce((sum, one) => sum + one.x, 0) / items.length;

  function sweep(rows, beside, isOrdered) {
    for (const row of rows) {
      const wished = (one) => (beside(one).length ? mean(beside(one)) : one.x);
      if (!isOrdered) {
        const wish = new Map(row.map((one) => [one, wished(one)]));
        row.sort((a, b) => wish.get(a) - wish.get(b));
      }
      settle(row, row.map(wished));
    }
  }

  function arrange(rows) {
    rows.forEach((row) => settle(row, row.map(() => 0)));
    const upwards = [...rows].reverse();
    for (let turn = 0; turn < SWEEPS; turn += 1) {
      sweep(rows, (one) => one.above, false);
      sweep(upwards, (one) => one.below, false);
    }
    for (let turn = 0; turn < 4 * SWEEPS; turn += 1) sweep(turn % 2 ? upwards : rows, (one) => [...one.above, ...one.below], true);
  }

  function heights(rows) {
    let y = MARGIN;
    rows.forEach((row, level) => {
      const isBoxes = level % 2 === 0;
      const height = isBoxes ? Math.max(...row.map((one) => one.height || 0)) : NAMES;
      row.forEach((one) => Object.assign(one, { y, tall: height }));
      if (row.length || isBoxes) y += height + BETWEEN;
    });
    return y - BETWEEN + MARGIN;
  }

  // Ports that come from above or below stand side by side, in the order of what they lead to.
  function spread(box) {
    for (const ports of [box.top, box.bottom]) {
      ports.sort((a, b) => a.neighbour.x - b.neighbour.x);
      const step = Math.min(24, (box.width - 32) / Math.max(1, ports.length - 1));
      ports.forEach((one, number) => { one.x = box.x + (number - (ports.length - 1) / 2) * step; });
    }
  }

  const boxTop = (box) => box.y + (box.tall - box.height) / 2;

  // From the box's border to the border of its row: straight, or out of its side and round the corner.
  function lead(end) {
    const { box, isBelow } = end;
    const top = boxTop(box);
    const edge = isBelow ? box.y + box.tall : box.y;
    if (!end.side) return [[end.x, isBelow ? top + box.height : top], [end.x, edge]];
    const middle = top + box.height - BOX.pad - BOX.line * (end.isUpper ? 1.5 : 0.5);
    const y = middle + (end.lane - 1) * (isBelow ? -4 : 4);
    const border = box.x + end.side * box.width / 2;
    const lane = border + end.side * LANE * end.lane;
    return [[border, y], [lane, y], [lane, edge]];
  }

  // Points, of which each pair is joined by a line; between rows the line is a curve.
  function route({ ends, items, isLoop }) {
    if (isLoop) {
      const [{ half, x, y }] = items;
      const turn = ends[0].box.x <= ends[1].box.x ? 1 : -1;
      const round = [[x - turn * half, y], [x - turn * half, y + NAMES], [x + turn * half, y + NAMES], [x + turn * half, y]];
      return [...lead(ends[0]), ...round, ...lead(ends[1]).reverse()];
    }
    const through = items.flatMap((one) => [[one.x, one.y], [one.x, one.y + one.tall]]);
    return [...lead(ends[0]), ...through, ...lead(ends[1]).reverse()];
  }

  function path(all, borders) {
    const points = all.filter(([x, y], number) => !number || x !== all[number - 1][0] || y !== all[number - 1][1]);
    let text = `M${points[0].join()}`;
    for (let number = 1; number < points.length; number += 1) {
      const [before, [x, y]] = [points[number - 1], points[number]];
      const isBetween = borders.has(`${before[1]}`) && borders.has(`${y}`) && Math.abs(before[1] - y) <= BETWEEN + 0.01 && before[1] !== y;
      const half = (before[1] + y) / 2;
      text += isBetween && before[0] !== x ? ` C${before[0]},${half} ${x},${half} ${x},${y}` : ` L${x},${y}`;
    }
    return text;
  }

  function place(graph, depth, edges, least) {
    const most = Math.max(1, Math.floor((least - 2 * MARGIN) / (BOX.width + APART)));
    const boxes = new Map();
    const nodes = boxRows(graph, depth, most);
    const rows = nodes.flatMap((row, number) => [row.map((node) => boxOf(node, number)), []]);
    rows.flat().forEach((box) => boxes.set(box.node.id, box));
    const threads = edges.map((edge) => {
      const [source, target] = [boxes.get(edge.source), boxes.get(edge.target)];
      return source.row === target.row ? loop(edge, source, target, rows) : thread(edge, source, target, rows);
    });
    for (const box of boxes.values()) {
      const lanes = LANE * Math.ceil(box.lanes / 2);
      box.left += lanes;
      box.right += lanes;
    }
    arrange(rows);
    const height = heights(rows);
    const all = rows.flat();
    const [left, right] = [Math.min(...all.map((one) => one.x - one.left)), Math.max(...all.map((one) => one.x + one.right))];
    const width = Math.max(least, right - left + 2 * MARGIN);
    const shift = (width - (right - left)) / 2 - left;
    all.forEach((one) => { one.x += shift; });
    boxes.forEach(spread);
    const borders = new Set(all.flatMap((one) => [`${one.y}`, `${one.y + one.tall}`]));
    return { boxes, width, height, drawn: threads.map((one) => drawnThread(one, borders)) };
  }

  function drawnThread(one, borders) {
    const points = route(one);
    const named = one.items.find((each) => each.isNamed);
    const isBackward = !one.isLoop && !one.isDown;
    return { edge: one.edge, path: path(isBackward ? points.reverse() : points, borders), named, isLoop: Boolean(one.isLoop) };
  }

  return { BOX, LABEL, LABEL_FONT, BOX_FONT, TAG_FONT, widthOf, fitted, place, boxTop };
})();
