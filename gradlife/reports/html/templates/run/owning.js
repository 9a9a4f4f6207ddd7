"use strict";
// Draws who owns whom: names of the story above, below them what they lead to, ring by ring. An object of the engine that has
// a wrapper is one box of two halves, the wrapper above and the C++ object below; between them two arrows say how they hold
// each other.
const owning = (() => {
  const { svg } = gradlife;
  const SMALLEST = 0.75;
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
    const cycle = cycleOf(graph);
    const edges = graph.edges.map((edge) => edgeKey(nodes, edge, how, cycle));
    return { how, said: new Set([...graph.nodes.map((node) => nodeKey(node, how)), ...edges]) };
  }
  const edgeKey = (nodes, edge, { owns }, cycle) => {
    const [source, target, label, ownership, , , isUnseen] = edge;
    const sight = cycle.has(edge) && isUnseen ? "unseen" : "";
    return [titled(nodes.get(source)), label, owns(ownership), titled(nodes.get(target)), sight].join(" > ");
  };
  const oddNode = (node, others) => others !== null && !others.said.has(nodeKey(node, others.how));
  const oddEdge = (nodes, edge, others, cycle) =>
    others !== null && others.how.shown(edge[3]) && !others.said.has(edgeKey(nodes, edge, others.how, cycle));

  const nameOf = (node) => {
    if (node.kind === "name") return node.name;
    const number = node.id > 0 ? ` #${node.id}` : "";
    return `${node.subject ? `${node.subject}: ` : ""}${node.kind === "tensor" ? "tensor" : node.name}${number}`;
  };

  function inWords(graph) {
    const nodes = new Map(graph.nodes.map((node) => [node.id, node]));
    const ties = graph.nodes.filter((node) => node.wrapper).map((node) => `${nameOf(node)}: ${tie(node)}`);
    const cycle = cycleOf(graph);
    const edges = graph.edges.map((edge) => {
      const [source, target, label, ownership, from, to, isUnseen] = edge;
      const half = (is, node) => (node.wrapper ? (is ? " (its wrapper)" : " (its C++ object)") : "");
      const [one, other] = [nodes.get(source), nodes.get(target)];
      const words = label ? ` as ${label.trim()}` : "";
      const part = cycle.has(edge) ? `, in the cycle${isUnseen ? ", not seen by the collector" : ""}` : "";
      return `${nameOf(one)}${half(from, one)} holds ${nameOf(other)}${half(to, other)}${words}: ${ownership}${part}`;
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

  // References that keep, between halves: a wrapper and its C++ object are two where each has an owner of its own.
  function keeping(graph) {
    const nodes = new Map(graph.nodes.map((node) => [node.id, node]));
    const isOne = (node) => !node.wrapper || node.to_impl === "embeds";
    const half = (id, isWrapper) => (isOne(nodes.get(id)) ? `${id}` : `${id}${isWrapper ? "w" : "c"}`);
    const steps = graph.edges.filter((edge) => KEEPS.has(edge[3]))
      .map((edge) => [half(edge[0], edge[4]), half(edge[1], edge[5]), edge]);
    for (const node of graph.nodes.filter((one) => !isOne(one))) {
      if (KEEPS.has(node.to_impl)) steps.push([half(node.id, true), half(node.id, false), null]);
      if (KEEPS.has(node.to_wrapper)) steps.push([half(node.id, false), half(node.id, true), null]);
    }
    const halves = (node) => (isOne(node) ? [`${node.id}`] : [`${node.id}w`, `${node.id}c`]);
    return { steps, subjects: graph.nodes.filter((node) => node.subject).flatMap(halves) };
  }

  // The cycle that keeps a subject alive, if there is one: the shortest through it, else the nearest that leads to it.
  function cycleOf(graph) {
    const { steps, subjects } = keeping(graph);
    const into = new Map();
    steps.forEach((step) => into.set(step[1], [...(into.get(step[1]) || []), step]));
    const seen = new Set(subjects);
    for (let waiting = [...subjects]; waiting.length;) {
      const place = waiting.shift();
      const round = shortestRound(place, into);
      if (round.some((edge) => edge !== null)) return new Set(round.filter((edge) => edge !== null));
      for (const [from] of into.get(place) || []) if (!seen.has(from)) { seen.add(from); waiting.push(from); }
    }
    return new Set();
  }

  // Edges of the shortest path from a place back to itself, against their direction. A wrapper and its own C++ object have none.
  function shortestRound(start, into) {
    const paths = [[start, []]];
    const seen = new Set();
    while (paths.length) {
      const [place, path] = paths.shift();
      for (const [from, , edge] of into.get(place) || []) {
        const longer = [...path, edge];
        if (from === start && longer.some((one) => one !== null)) return longer;
        if (!seen.has(from) && from !== start) { seen.add(from); paths.push([from, longer]); }
      }
    }
    return [];
  }

  // Edges of one pair that own alike are drawn as one, with all their names.
  function merged(graph, cycle) {
    const found = new Map();
    for (const edge of graph.edges) {
      const [source, target, label, ownership, from, to, unseen] = edge;
      const isMarked = Boolean(unseen && cycle.has(edge));
      const key = [source, target, ownership, from, to, cycle.has(edge), isMarked].join();
      if (!found.has(key)) found.set(key, { source, target, ownership, from, to, isMarked, isCycle: cycle.has(edge), labels: [], edges: [] });
      if (label && !found.get(key).labels.includes(label.trim())) found.get(key).labels.push(label.trim());
      found.get(key).edges.push(edge);
    }
    return [...found.values()].map((edge) => {
      const text = shortened(edge.labels.join(", "), layers.LABEL);
      const room = 8 + (edge.isMarked ? 10 : 0) + layers.widthOf(text, layers.LABEL_FONT);
      return { ...edge, text, room };
    });
  }

  const shortened = (text, limit) => (text.length > limit ? `${text.slice(0, limit - 1)}…` : text);

  function draw(graph, least, others) {
    const cycle = cycleOf(graph);
    const { boxes, width, height, drawn } = layers.place(graph, rings(graph), merged(graph, cycle), least);
    const nodes = new Map(graph.nodes.map((node) => [node.id, node]));
    const prefix = `heads-${(drawings += 1)}`;
    const inCycle = new Set([...cycle].flatMap(([source, target]) => [source, target]));
    const shown = `Who owns whom: ${graph.nodes.length} objects and names, ${graph.edges.length} references`
      + `${cycle.size ? `, a cycle of ${cycle.size} among them` : ""}; the same in words below`;
    const scale = Math.max(SMALLEST, Math.min(1, least / width)); // wider drawings scroll
    const picture = svg("svg", { width: width * scale, height: height * scale, viewBox: `0 0 ${width} ${height}`, role: "img", class: "owning", "aria-label": shown });
    picture.append(heads(prefix));
    const lines = svg("g"), words = svg("g");
    // The cycle is drawn last, above the others.
    for (const one of [...drawn].sort((a, b) => a.edge.isCycle - b.edge.isCycle)) {
      const { edge, path } = one;
      const isOdd = edge.edges.some((each) => oddEdge(nodes, each, others, cycle));
      const kind = edge.isCycle ? "cycle" : edge.ownership;
      if (isOdd) lines.append(svg("path", { d: path, class: "edge halo" }));
      lines.append(svg("path", { d: path, class: `edge ${edge.ownership}${edge.isCycle ? " cycle" : ""}`, "marker-end": `url(#${prefix}-${kind})` }));
      if (edge.ownership === "coupled") lines.append(svg("path", { d: path, class: "edge inner" }));
      if (one.named) words.append(...label(one, isOdd));
    }
    picture.append(lines);
    for (const box of boxes.values()) picture.append(drawBox(box, oddNode(box.node, others), inCycle.has(box.node.id)));
    picture.append(words);
    return picture;
  }

  function heads(prefix) {
    const found = svg("defs");
    for (const kind of ["strong", "coupled", "weak", "borrowed", "cycle"]) {
      const marker = { id: `${prefix}-${kind}`, viewBox: "0 0 8 8", refX: 7, refY: 4, orient: "auto", markerUnits: "userSpaceOnUse", markerWidth: 9, markerHeight: 9 };
      found.append(svg("marker", marker, svg("path", { d: "M0,0 L8,4 L0,8 z", class: `head ${kind}` })));
    }
    return found;
  }

  // The name of a reference beside it, and on it the sign that the collector does not see it.
  function label({ edge, named, isLoop }, isOdd) {
    const made = [];
    const y = named.y + 10;
    const from = isLoop ? named.x - named.half : named.x;
    if (edge.isMarked) made.push(unseen(from, y));
    const x = from + (edge.isMarked ? 14 : 6);
    const classes = ["edge-label", isOdd ? "odd" : "", edge.isCycle ? "cycle" : ""].filter(Boolean).join(" ");
    const text = svg("text", { x, y: y + 4, class: classes }, edge.text);
    const sight = edge.isMarked ? "; the collector does not see it" : "";
    text.append(svg("title", {}, `${edge.labels.join(", ")}: ${edge.ownership}${sight}`));
    return edge.text ? [...made, text] : made;
  }

  const unseen = (x, y) => svg("g", { class: "unseen" },
    svg("circle", { cx: x, cy: y, r: 7 }), svg("path", { d: `M${x - 5},${y + 5} L${x + 5},${y - 5}` }));

  function drawBox(box, isOdd, isInCycle) {
    const { node, width, height } = box;
    const { line: tall, pad } = layers.BOX;
    const [x, y] = [box.x - width / 2, layers.boxTop(box)];
    const classes = ["box", node.kind, node.subject ? "subject" : "", isInCycle ? "in-cycle" : "", isOdd ? "odd" : ""];
    const made = svg("g", { class: classes.filter(Boolean).join(" ") });
    const room = width - 12 - (node.wrapper ? 24 : 0);
    const line = (text, number, isTag) => {
      const font = isTag ? layers.TAG_FONT : layers.BOX_FONT;
      const place = { x: box.x, y: y + pad + number * tall + 12.5, "text-anchor": "middle", class: isTag ? "tag" : null };
      return svg("text", place, layers.fitted(text, room, font));
    };
    const isPlain = node.kind === "python" || node.kind === "name";
    const round = { x, width, rx: node.kind === "name" ? 14 : 6 };
    made.append(svg("rect", { ...round, y, height, class: node.kind === "python" ? "python-half" : null }));
    const number = node.id > 0 ? ` #${node.id}` : "";
    const lower = isPlain ? node.name : `${node.kind === "tensor" ? "tensor" : node.name}${number}`;
    const tags = node.subject ? 1 : 0;
    if (node.wrapper) {
      const upper = pad + (tags + 1) * tall;
      made.append(svg("rect", { ...round, y, height: upper, class: "python-half" }));
      const count = node.refcount ? ` ×${node.refcount}` : "";
      made.append(line(`${node.wrapper}${count}`, tags), line(lower, tags + 1), ...ties(node, x, y + upper, width));
    } else made.append(line(lower, tags));
    if (node.subject) made.append(line(node.tag || node.subject, 0, true));
    made.append(svg("rect", { ...round, y, height, class: "outline" }));
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

  return { draw, sayings, inWords, cycleOf, nameOf };
})();
