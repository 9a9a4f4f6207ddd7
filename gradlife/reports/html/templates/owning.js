"use strict";
// Draws who owns whom: names of the story above, below them what they lead to, ring by ring. An object of the engine that has
// a wrapper is one box of two halves, the wrapper above and the C++ object below; between them two arrows say how they hold
// each other.
const owning = (() => {
  const { svg } = gradlife;
  const WIDTH = 150, TALL = 46, LOW = 28, GAP = 24, BETWEEN = 60, MARGIN = 22;
  const KEEPS = new Set(["strong", "coupled"]);
  let drawings = 0;

  // How a drawing is compared: by all that it says, or by what keeps, where one of the two knows no more than that.
  const comparing = (isWhole) => ({
    owns: (ownership) => (isWhole ? ownership : KEEPS.has(ownership) ? "keeps" : ""),
    shown: (ownership) => isWhole || KEEPS.has(ownership),
  });

  const titled = (node) => `${node.kind}|${node.name}|${node.subject || ""}`;
  const nodeKey = (node, { owns }) => `${titled(node)}|${node.wrapper || ""}|${owns(node.to_impl || "")}|${owns(node.to_wrapper || "")}`;

  // What another drawing says, without the numbers of its objects, to compare this one with.
  function sayings(graph, own) {
    const how = comparing(graph.source === "engine" && own.source === "engine");
    const nodes = new Map(graph.nodes.map((node) => [node.id, node]));
    const edges = graph.edges.map((edge) => edgeKey(nodes, edge, how));
    return { how, said: new Set([...graph.nodes.map((node) => nodeKey(node, how)), ...edges]) };
  }
  const edgeKey = (nodes, [source, target, label, ownership], { owns }) =>
    [titled(nodes.get(source)), label, owns(ownership), titled(nodes.get(target))].join(" > ");
  const oddNode = (node, others) => others !== null && !others.said.has(nodeKey(node, others.how));
  const oddEdge = (nodes, edge, others) =>
    others !== null && others.how.shown(edge[3]) && !others.said.has(edgeKey(nodes, edge, others.how));

  const nameOf = (node) => {
    if (node.kind === "name") return node.name;
    const number = node.id > 0 ? ` #${node.id}` : "";
    return `${node.subject ? `${node.subject}: ` : ""}${node.kind === "tensor" ? "tensor" : node.name}${number}`;
  };

  function inWords(graph) {
    const nodes = new Map(graph.nodes.map((node) => [node.id, node]));
    const ties = graph.nodes.filter((node) => node.wrapper).map((node) => `${nameOf(node)}: ${tie(node)}`);
    const edges = graph.edges.map(([source, target, label, ownership, from, to]) => {
      const half = (is, node) => (node.wrapper ? (is ? " (its wrapper)" : " (its C++ object)") : "");
      const [one, other] = [nodes.get(source), nodes.get(target)];
      const words = label ? ` as ${label.trim()}` : "";
      return `${nameOf(one)}${half(from, one)} holds ${nameOf(other)}${half(to, other)}${words}: ${ownership}`;
    });
    return [...edges, ...ties];
  }

  function tie(node) {
    if (node.to_impl === "embeds") return `the ${node.wrapper} has it inside itself: who owns it owns the ${node.wrapper}`;
    const refs = node.refcount ? ` (${node.refcount} references to it)` : "";
    return `wrapper ${node.wrapper}${refs}, which holds it: ${node.to_impl || "not at all"}; it holds the wrapper: ${node.to_wrapper || "not at all"}`;
  }

  // Rings from the names downwards; what no name keeps starts again from a subject.
  function rings(graph) {
    const out = new Map(graph.nodes.map((node) => [node.id, []]));
    const kept = new Set();
    for (const [source, target, , ownership] of graph.edges) {
      if (!KEEPS.has(ownership)) continue;
      out.get(source).push(target);
      if (source !== target) kept.add(target);
    }
    const depth = new Map();
    const spread = (starts, first) => {
      let ring = starts.filter((id) => !depth.has(id));
      ring.forEach((id) => depth.set(id, first));
      for (let level = first + 1; ring.length; level += 1) {
        const next = ring.flatMap((id) => out.get(id)).filter((id) => !depth.has(id));
        ring = [...new Set(next)];
        ring.forEach((id) => depth.set(id, level));
      }
    };
    const names = graph.nodes.filter((node) => node.kind === "name").map((node) => node.id);
    spread(names, 0);
    const first = names.length ? 1 : 0;
    const ids = (test) => graph.nodes.filter((node) => !depth.has(node.id) && test(node)).map((node) => node.id);
    spread(ids((node) => !kept.has(node.id) && node.subject), first);
    for (let left = ids((node) => node.subject); left.length; left = ids((node) => node.subject)) spread(left.slice(0, 1), first);
    spread(ids((node) => !kept.has(node.id)), first);
    for (let left = ids(() => true); left.length; left = ids(() => true)) spread(left.slice(0, 1), first);
    return depth;
  }

  function layout(graph, width) {
    const depth = rings(graph);
    const most = Math.max(1, Math.floor((width - 2 * MARGIN + GAP) / (WIDTH + GAP)));
    const boxes = new Map();
    const byRing = new Map();
    for (const node of graph.nodes) {
      const ring = depth.get(node.id);
      if (!byRing.has(ring)) byRing.set(ring, []);
      byRing.get(ring).push(node);
    }
    const holders = new Map(graph.nodes.map((node) => [node.id, []]));
    for (const [source, target] of graph.edges) holders.get(target).push(source);
    let y = 20, row = 0;
    for (const ring of [...byRing.keys()].sort((a, b) => a - b)) {
      const place = (node) => {
        const known = holders.get(node.id).map((id) => boxes.get(id)).filter(Boolean);
        return known.length ? known.reduce((sum, box) => sum + box.x, 0) / known.length : width / 2;
      };
      const nodes = byRing.get(ring).map((node) => [place(node), node]).sort((a, b) => a[0] - b[0]).map((pair) => pair[1]);
      for (let start = 0; start < nodes.length; start += most) {
        const part = nodes.slice(start, start + most);
        const total = part.length * (WIDTH + GAP) - GAP;
        const height = Math.max(...part.map((node) => (node.wrapper ? TALL : LOW)));
        part.forEach((node, number) => {
          const tall = node.wrapper ? TALL : LOW;
          const x = (width - total) / 2 + number * (WIDTH + GAP);
          boxes.set(node.id, { node, row, x, y: y + (height - tall) / 2, width: WIDTH, height: tall, used: {} });
        });
        y += height + BETWEEN;
        row += 1;
      }
    }
    return { boxes, height: y - BETWEEN + 20 };
  }

  // Where an edge leaves or reaches a box: the side, spread a little where several do.
  function port(box, isUpper, side) {
    const half = box.node.wrapper ? (isUpper ? 0.25 : 0.75) : 0.5;
    const place = `${side}${side === "left" || side === "right" ? half : ""}`;
    const number = (box.used[place] = (box.used[place] || 0) + 1) - 1;
    const shift = (number % 2 ? -1 : 1) * Math.ceil(number / 2);
    const across = Math.max(-50, Math.min(50, shift * 16));
    if (side === "top") return { x: box.x + box.width / 2 + across, y: box.y, dx: 0, dy: -1 };
    if (side === "bottom") return { x: box.x + box.width / 2 + across, y: box.y + box.height, dx: 0, dy: 1 };
    const y = box.y + box.height * half + Math.max(-8, Math.min(8, shift * 5));
    return side === "left" ? { x: box.x, y, dx: -1, dy: 0 } : { x: box.x + box.width, y, dx: 1, dy: 0 };
  }

  function ends(source, target, fromUpper, toUpper) {
    const isTall = (box) => Boolean(box.node.wrapper);
    const away = target.x > source.x ? "right" : target.x < source.x ? "left" : source.x > 0 ? "right" : "left";
    const back = { left: "right", right: "left" }[away];
    if (source === target) return [port(source, fromUpper, "right"), port(target, toUpper, "right")];
    if (target.row > source.row) {
      const start = isTall(source) && fromUpper ? away : "bottom";
      const end = isTall(target) && !toUpper ? (target.x === source.x ? "right" : back) : "top";
      return [port(source, fromUpper, start), port(target, toUpper, end)];
    }
    if (target.row < source.row) {
      const start = isTall(source) && !fromUpper ? (target.x === source.x ? "right" : away) : "top";
      const end = isTall(target) && toUpper ? (target.x === source.x ? "right" : back) : "bottom";
      return [port(source, fromUpper, start), port(target, toUpper, end)];
    }
    return [port(source, fromUpper, away), port(target, toUpper, back)];
  }

  function curve(start, end, width) {
    const reach = Math.max(28, Math.hypot(end.x - start.x, end.y - start.y) * 0.4);
    const inside = (x) => Math.max(6, Math.min(width - 6, x));
    const one = { x: inside(start.x + start.dx * reach), y: start.y + start.dy * reach };
    const other = { x: inside(end.x + end.dx * reach), y: end.y + end.dy * reach };
    const at = (t) => {
      const u = 1 - t;
      const mix = (name) => u ** 3 * start[name] + 3 * u * u * t * one[name] + 3 * u * t * t * other[name] + t ** 3 * end[name];
      return { x: mix("x"), y: mix("y") };
    };
    const path = `M${start.x},${start.y} C${one.x},${one.y} ${other.x},${other.y} ${end.x},${end.y}`;
    return { path, at };
  }

  // Edges of one pair that own alike are drawn as one, with all their names.
  function merged(graph) {
    const found = new Map();
    for (const edge of graph.edges) {
      const [source, target, label, ownership, from, to] = edge;
      const key = [source, target, ownership, from, to].join();
      if (!found.has(key)) found.set(key, { source, target, ownership, from, to, labels: [], edges: [] });
      if (label && !found.get(key).labels.includes(label.trim())) found.get(key).labels.push(label.trim());
      found.get(key).edges.push(edge);
    }
    return [...found.values()];
  }

  const overlaps = (a, b) => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
  const shortened = (text, limit) => (text.length > limit ? `${text.slice(0, limit - 1)}…` : text);

  function draw(graph, least, others) {
    const width = Math.max(least, WIDTH + 2 * MARGIN + 60);
    const { boxes, height } = layout(graph, width);
    const nodes = new Map(graph.nodes.map((node) => [node.id, node]));
    const prefix = `heads-${(drawings += 1)}`;
    const shown = `Who owns whom: ${graph.nodes.length} objects and names, ${graph.edges.length} references; the same in words below`;
    const picture = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": shown });
    const heads = svg("defs");
    for (const kind of ["strong", "coupled", "weak", "borrowed"]) {
      const marker = { id: `${prefix}-${kind}`, viewBox: "0 0 8 8", refX: 7, refY: 4, orient: "auto", markerUnits: "userSpaceOnUse", markerWidth: 9, markerHeight: 9 };
      heads.append(svg("marker", marker, svg("path", { d: "M0,0 L8,4 L0,8 z", class: `head ${kind}` })));
    }
    picture.append(heads);
    const lines = svg("g"), words = svg("g");
    const taken = [...boxes.values()].flatMap(({ node, x, y, width: w, height: h }) => {
      const tag = { x, y: y - 18, width: node.subject ? 8 * node.subject.length : 0, height: 16 };
      return [{ x, y: y - 2, width: w, height: h + 4 }, tag];
    });
    for (const edge of merged(graph)) {
      const [start, end] = ends(boxes.get(edge.source), boxes.get(edge.target), edge.from, edge.to);
      const { path, at } = curve(start, end, width);
      const isOdd = edge.edges.some((one) => oddEdge(nodes, one, others));
      const marker = `url(#${prefix}-${edge.ownership})`;
      if (isOdd) lines.append(svg("path", { d: path, class: "edge halo" }));
      lines.append(svg("path", { d: path, class: `edge ${edge.ownership}`, "marker-end": marker }));
      if (edge.ownership === "coupled") lines.append(svg("path", { d: path, class: "edge inner" }));
      if (edge.labels.length) words.append(label(edge, at, taken, isOdd, width));
    }
    picture.append(lines);
    for (const box of boxes.values()) picture.append(drawBox(box, oddNode(box.node, others)));
    picture.append(words);
    return picture;
  }

  function label(edge, at, taken, isOdd, width) {
    const whole = edge.labels.join(", ");
    const text = shortened(whole, 26);
    const size = { width: text.length * 6.2 + 4, height: 13 };
    const along = [0.5, 0.4, 0.6, 0.3, 0.7, 0.22, 0.78].map(at);
    const places = [0, 0.5, -0.5, 0.9, -0.9].flatMap((shift) => along.map(({ x, y }) => {
      const left = Math.max(2, Math.min(width - size.width - 2, x - size.width * (0.5 + shift)));
      return { x: left, y: y - size.height / 2, ...size };
    }));
    const place = places.find((one) => !taken.some((other) => overlaps(one, other))) || places[0];
    taken.push(place);
    const made = svg("text", { x: place.x + size.width / 2, y: place.y + 10, "text-anchor": "middle", class: `edge-label${isOdd ? " odd" : ""}` }, text);
    made.append(svg("title", {}, `${whole}: ${edge.ownership}`));
    return made;
  }

  function drawBox(box, isOdd) {
    const { node, x, y, width, height } = box;
    const classes = ["box", node.kind, node.subject ? "subject" : "", isOdd ? "odd" : ""].filter(Boolean).join(" ");
    const made = svg("g", { class: classes });
    const middle = x + width / 2;
    const line = (text, place) => svg("text", { x: middle, y: place, "text-anchor": "middle" }, shortened(text, 23));
    const isPlain = node.kind === "python" || node.kind === "name";
    const round = { x, width, rx: node.kind === "name" ? 14 : 6 };
    made.append(svg("rect", { ...round, y, height, class: node.kind === "python" ? "python-half" : null }));
    const number = node.id > 0 ? ` #${node.id}` : "";
    const lower = isPlain ? node.name : `${node.kind === "tensor" ? "tensor" : node.name}${number}`;
    if (node.wrapper) {
      made.append(svg("rect", { ...round, y, height: height / 2, class: "python-half" }));
      const count = node.refcount ? ` ×${node.refcount}` : "";
      made.append(line(`${node.wrapper}${count}`, y + 15), line(lower, y + height - 7));
      made.append(...ties(node, x, y + height / 2, width));
    } else made.append(line(lower, y + height / 2 + 4));
    made.append(svg("rect", { ...round, y, height, class: "outline" }));
    if (node.subject) made.append(svg("text", { x: x + 2, y: y - 5, class: "tag" }, shortened(node.subject, 20)));
    const weak = node.weak ? `, ${node.weak} weak` : "";
    const counts = node.strong ? `: ${node.strong} strong${weak}` : "";
    const about = isPlain ? node.name : `${node.kind} ${node.name}${number}${counts}`;
    made.append(svg("title", {}, node.wrapper ? `${about}; ${tie(node)}` : about));
    return made;
  }

  // Two short arrows across the border of the halves: how the wrapper holds the C++ object, and the other way.
  function ties(node, x, y, width) {
    const arrow = (place, ownership, isDown) => {
      const [from, to] = isDown ? [y - 7, y + 6] : [y + 7, y - 6];
      const tip = isDown ? -4 : 4;
      const head = `M${place - 4},${to + tip} L${place},${to} L${place + 4},${to + tip}`;
      return [
        svg("path", { d: `M${place},${from} L${place},${to}`, class: `edge ${ownership}` }),
        svg("path", { d: head, class: `edge ${ownership === "coupled" ? "strong" : ownership}`, "stroke-dasharray": "none" }),
      ];
    };
    const made = [];
    if (node.to_impl) made.push(...arrow(x + 9, node.to_impl === "embeds" ? "strong" : node.to_impl, true));
    if (node.to_wrapper) made.push(...arrow(x + width - 9, node.to_wrapper, false));
    return made;
  }

  return { draw, sayings, inWords };
})();
