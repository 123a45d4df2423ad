// Names for elements that the theme and the gallery leave without one, so that a screen reader can announce them.
document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll(".search-button-field").forEach((button) => button.setAttribute("aria-label", button.textContent.trim() || "Search"));
  document.querySelectorAll("nav summary").forEach((summary) => summary.setAttribute("aria-label", "Pages of this part"));
  document.querySelectorAll(".sphx-glr-thumbcontainer").forEach((box) => {
    const title = box.querySelector(".sphx-glr-thumbnail-title");
    box.querySelectorAll("a").forEach((link) => link.setAttribute("aria-label", title ? title.textContent : "Example"));
  });
  document.querySelectorAll("th:empty").forEach((head) => head.replaceWith(document.createElement("td")));
});
