// What lies on what in a drawing: words on words, arrows on words, arrows on boxes. Called with the element of the drawing.
(picture) => {
  const SHRINK = 0.75, STEP = 2;
  const rect = (node) => {
    const { x, y, width, height } = node.getBBox();
    return { node, x: x + SHRINK, y: y + SHRINK, right: x + width - SHRINK, bottom: y + height - SHRINK };
  };
  const words = [...picture.querySelectorAll("text")].filter((one) => one.textContent).map(rect);
  const outlines = [...picture.querySelectorAll(".outline, .dot, .unseen circle")].map(rect);
  const arrows = [...picture.querySelectorAll("path.edge:not(.halo):not(.inner), path.arrow")].filter((one) => !one.closest(".box"));
  // Lines and curves of a path are followed here, which is some hundred times as quick as getPointAtLength; arcs are not.
  const pointsOf = (arrow) => {
    const parts = arrow.getAttribute("d").match(/[A-Z][^A-Z]*/g).map((part) => [part[0], part.slice(1).trim().split(/[\s,]+/).map(Number)]);
    const points = [];
    if (parts.some(([kind]) => !"MLC".includes(kind))) {
      for (let at = 0, length = arrow.getTotalLength(); at <= length; at += STEP) points.push(arrow.getPointAtLength(at));
      return points;
    }
    let [x, y] = [0, 0];
    for (const [kind, numbers] of parts) {
      const [ex, ey] = numbers.slice(-2);
      const [ax, ay, bx, by] = kind === "C" ? numbers : [x, y, ex, ey];
      const count = kind === "M" ? 0 : Math.ceil((Math.abs(ex - x) + Math.abs(ey - y)) / STEP);
      for (let number = 0; number <= count; number += 1) {
        const t = count ? number / count : 1, u = 1 - t;
        const mix = (one, two, three, four) => u * u * u * one + 3 * u * u * t * two + 3 * u * t * t * three + t * t * t * four;
        points.push({ x: mix(x, ax, bx, ex), y: mix(y, ay, by, ey) });
      }
      [x, y] = [ex, ey];
    }
    return points;
  };
  const named = (node) => node.textContent || node.getAttribute("class");
  const found = [];
  const meet = (a, b) => a.x < b.right && b.x < a.right && a.y < b.bottom && b.y < a.bottom;
  words.forEach((one, number) => words.slice(number + 1).forEach((other) => {
    if (meet(one, other)) found.push(`words '${named(one.node)}' and '${named(other.node)}'`);
  }));
  const free = words.filter((one) => !one.node.closest(".box"));
  for (const word of free) for (const box of outlines) if (meet(word, box)) found.push(`words '${named(word.node)}' on ${named(box.node)}`);
  for (const arrow of arrows) {
    const points = pointsOf(arrow);
    const inside = (one) => points.some((at) => at.x > one.x && at.x < one.right && at.y > one.y && at.y < one.bottom);
    for (const word of words) if (inside(word)) found.push(`an arrow on '${named(word.node)}'`);
    for (const box of outlines) {
      if (box.node.matches(".outline") && inside(box)) found.push(`an arrow through ${box.node.parentElement.querySelector("title").textContent}`);
    }
  }
  return found;
}
