"use strict";
// Draws the stages of the tour, two systems side by side.
(() => {
  const block = document.getElementById("tour-graphs");
  if (!block) return;
  const stops = gradlife.data("tour-graphs");
  const draw = () => document.querySelectorAll("[data-tour]").forEach((place) => {
    const [stop, side] = place.dataset.tour.split(" ").map(Number);
    const [own, other] = [stops[stop][side], stops[stop][1 - side]];
    const frame = place.querySelector(".frame");
    frame.replaceChildren(owning.draw(own, Math.floor(place.clientWidth) - 2, owning.sayings(other, own)));
    place.querySelector("ul").replaceChildren(...owning.inWords(own).map((line) => gradlife.element("li", {}, line)));
  });
  let waiting = 0;
  addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(draw, 150); });
  draw();
})();
