"use strict";
// The objects of a snapshot: one of them at a time, with what it keeps, who refers to it and what it refers to.
(() => {
  const { file, total, types, objects, first } = gradlife.data("heap-objects");
  const NODE = 0, ABOVE = 1, KIND = 2, TYPE = 3, DETAIL = 4, ADDRESS = 5, BYTES = 6, RETAINED = 7, VIA = 8, STORAGES = 9,
    KEPT = 10, KEPT_COUNT = 11, REFERRERS = 12, REFERRER_COUNT = 13, REFERENTS = 14, REFERENT_COUNT = 15;
  const byNode = new Map(objects.map((one) => [one[NODE], one]));
  const place = document.getElementById("object");
  const { element, number } = gradlife;

  const size = (bytes) => {
    const units = ["B", "kB", "MB", "GB", "TB", "PB"];
    let value = bytes, unit = 0;
    while (value >= 999.5 && unit < units.length - 1) { value /= 1000; unit += 1; }
    return unit ? `${Number(value.toPrecision(3))} ${units[unit]}` : `${bytes} B`;
  };
  const shortType = (name) => {
    if (name.includes("<locals>.")) return name.split("<locals>.").pop();
    return /^[^ ]*::/.test(name) ? name.replace(/^[^ ]*::/, "") : name.split(".").pop();
  };
  const nameOf = (type, detail) => `${shortType(types[type])} ${detail}`.trim();
  const link = (node, text) => (byNode.has(node) ? element("a", { href: `#object-${node}` }, text) : element("span", {}, text));

  function item(node, text, via, retained, share) {
    const bar = element("span", { class: "bar", "aria-hidden": "true" });
    bar.style.inlineSize = `${Math.max(1, Math.min(100, 100 * share))}%`;
    const words = element("div", { class: "words" }, link(node, text));
    if (via) words.append(" ", element("span", { class: "held-as" }, via));
    return element("li", {}, words, element("span", { class: "amount" }, size(retained)), bar);
  }

  function list(title, rows, count, whole, rest) {
    const part = element("div", { class: "neighbours" }, element("h3", {}, `${title} (${number(count)})`));
    const items = rows.map((row) => item(row[0], nameOf(row[1], row[2]), row[5], row[4], row[4] / (whole || 1)));
    if (items.length) part.append(element("ul", {}, ...items));
    if (count > items.length) part.append(element("p", { class: "small" }, `and ${number(count - items.length)} more, ${rest}`));
    if (!count) part.append(element("p", { class: "small" }, "none"));
    return part;
  }

  function path(one) {
    const steps = [];
    for (let at = byNode.get(one[ABOVE]); at && steps.length < 40; at = byNode.get(at[ABOVE])) steps.unshift(at);
    const root = one[ABOVE] === -1 || (steps.length && steps[0][ABOVE] === -1) ? "no root reaches it" : "the roots";
    const items = steps.map((step) => element("li", {}, link(step[NODE], nameOf(step[TYPE], step[DETAIL]))));
    return element("ol", { class: "crumbs", "aria-label": "What alone keeps it, from the outermost" }, element("li", {}, root), ...items);
  }

  function facts(one) {
    const rows = [["Type", types[one[TYPE]]], ["Address", one[ADDRESS]], ["Itself", size(one[BYTES])],
      ["Retains", `${size(one[RETAINED])}, ${(100 * one[RETAINED] / (total || 1)).toFixed(1)} % of all`], ["Held as", one[VIA] || "-"]];
    for (const [device, bytes] of one[STORAGES]) rows.push([`Storages on ${device}`, size(bytes)]);
    return element("dl", { class: "facts" }, ...rows.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));
  }

  function show(node, isAsked) {
    const one = byNode.get(node);
    if (!one) return;
    const title = element("h2", { tabindex: "-1" }, nameOf(one[TYPE], one[DETAIL]));
    const more = element("p", { class: "small" }, "The whole path to it: ", element("code", {}, `gradlife why ${file} ${one[ADDRESS]}`));
    place.replaceChildren(title, path(one), facts(one),
      element("div", { class: "round" }, 
        list("Keeps alone", one[KEPT], one[KEPT_COUNT], one[RETAINED], "each of which retains no more"),
        list("Referred to by", one[REFERRERS], one[REFERRER_COUNT], total, "which are not on this page"),
        list("Refers to", one[REFERENTS], one[REFERENT_COUNT], total, "which are not on this page")), more);
    if (isAsked) {
      place.scrollIntoView();
      title.focus({ preventScroll: true });
    }
  }

  const asked = () => Number((/^#object-(\d+)$/.exec(location.hash) || [])[1] ?? NaN);
  const initial = byNode.has(first) ? first : objects.length && objects[0][NODE];
  addEventListener("hashchange", () => (location.hash ? show(asked(), true) : show(initial, false)));
  if (byNode.has(asked())) show(asked(), true);
  else show(initial, false);
})();
