"use strict";
// A block on the map, the row of its owner and the trace of that: choosing a block or a row shows all three.
(() => {
  const { element } = gradlife;
  const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

  function choose(device, owner, isFromMap) {
    for (const map of device.querySelectorAll("svg.memory-map")) {
      map.classList.toggle("has-chosen", owner >= 0);
      for (const run of map.querySelectorAll(".run")) run.classList.toggle("chosen", owner >= 0 && Number(run.dataset.owner) === owner);
    }
    for (const row of device.querySelectorAll("tbody tr")) {
      const is = row.dataset.tags === `owner-${owner}`;
      row.classList.toggle("chosen", is);
      row.querySelector("button")?.setAttribute("aria-pressed", String(is));
    }
    for (const trace of device.querySelectorAll(".owner-trace")) {
      trace.hidden = Number(trace.dataset.owner) !== owner;
      if (!trace.hidden && isFromMap) trace.scrollIntoView({ block: "nearest" });
    }
  }

  // Rows can be drawn later, so a click is heard by the device, and a row gets its button when it is there.
  function addButtons(device) {
    for (const heading of device.querySelectorAll("tbody th")) {
      if (heading.querySelector("button")) continue;
      heading.replaceChildren(element("button", { type: "button", "aria-pressed": "false" }, heading.textContent));
    }
  }

  // One block of a map can be reached with Tab, and the others from it: a map has thousands.
  function addKeys(device, map) {
    const runs = [...map.querySelectorAll(".run")];
    runs.forEach((run, number) => {
      run.setAttribute("role", "button");
      run.setAttribute("tabindex", number ? "-1" : "0");
    });
    map.addEventListener("keydown", (event) => {
      const here = runs.indexOf(event.target);
      const next = runs[here + (STEPS[event.key] ?? 0)];
      if (here < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
      if (event.key === "Enter" || event.key === " ") choose(device, Number(event.target.dataset.owner), true);
      else if (next && next !== event.target) {
        event.target.setAttribute("tabindex", "-1");
        next.setAttribute("tabindex", "0");
        next.focus();
      } else return;
      event.preventDefault();
    });
  }

  for (const device of document.querySelectorAll(".device")) {
    addButtons(device);
    new MutationObserver(() => addButtons(device)).observe(device, { childList: true, subtree: true });
    for (const map of device.querySelectorAll("svg.memory-map")) addKeys(device, map);
    device.addEventListener("click", (event) => {
      const run = event.target.closest(".run");
      const button = event.target.closest("tbody button");
      if (run) choose(device, Number(run.dataset.owner), true);
      else if (button) {
        const owner = Number(button.closest("tr").dataset.tags.replace("owner-", ""));
        choose(device, button.getAttribute("aria-pressed") === "true" ? -1 : owner, false);
      }
    });
  }
})();
