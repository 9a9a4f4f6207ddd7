"use strict";
// A block on the map and the row of its owner: choosing one marks the other.
(() => {
  const { element } = gradlife;

  function choose(device, owner, isFromMap) {
    for (const map of device.querySelectorAll("svg.memory-map")) {
      map.classList.toggle("has-chosen", owner >= 0);
      for (const run of map.querySelectorAll(".run")) run.classList.toggle("chosen", owner >= 0 && Number(run.dataset.owner) === owner);
    }
    for (const row of device.querySelectorAll("tbody tr")) {
      const is = row.dataset.tags === `owner-${owner}`;
      row.classList.toggle("chosen", is);
      row.querySelector("button")?.setAttribute("aria-pressed", String(is));
      if (is && isFromMap) {
        row.scrollIntoView({ block: "nearest" });
        row.querySelector("button")?.focus({ preventScroll: true });
      }
    }
  }

  // Rows can be drawn later, so a click is heard by the device, and a row gets its button when it is there.
  function addButtons(device) {
    for (const heading of device.querySelectorAll("tbody th")) {
      if (heading.querySelector("button")) continue;
      heading.replaceChildren(element("button", { type: "button", "aria-pressed": "false" }, heading.textContent));
    }
  }

  for (const device of document.querySelectorAll(".device")) {
    addButtons(device);
    new MutationObserver(() => addButtons(device)).observe(device, { childList: true, subtree: true });
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
