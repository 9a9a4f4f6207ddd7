"use strict";
// A band of the picture and its row belong together: pointing at one marks the other.
for (const area of document.querySelectorAll("svg .area")) {
  const row = document.getElementById("band-" + area.dataset.area);
  const twins = document.querySelectorAll(`svg .area[data-area="${area.dataset.area}"]`);
  const show = (isShown) => {
    for (const one of [row, ...twins]) one?.classList.toggle("is-shown", isShown);
  };
  for (const part of [area, row]) {
    part?.addEventListener("pointerenter", () => show(true));
    part?.addEventListener("pointerleave", () => show(false));
  }
  area.addEventListener("click", () => row?.scrollIntoView({ block: "nearest" }));
}
