"""Measurement of text contrasts in a page."""

MIN_CONTRAST = 4.5
"""Minimum contrast of text (WCAG 2.2, success criterion 1.4.3)."""

CONTRASTS = """
(roots) => {
  const channels = (colour) => (colour.match(/[\\d.]+/g) || []).map(Number);
  const over = (top, below) => {
    const alpha = top.length > 3 ? top[3] : 1;
    return [0, 1, 2].map((channel) => top[channel] * alpha + below[channel] * (1 - alpha));
  };
  const background = (element) => {
    const layers = [];
    for (let ancestor = element; ancestor; ancestor = ancestor.parentElement) {
      layers.unshift(channels(getComputedStyle(ancestor).backgroundColor));
    }
    return layers.reduce((below, top) => over(top, below), [255, 0, 255]);
  };
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((channel) => channel / 255).map(
      (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrasts = [];
  for (const root of document.querySelectorAll(roots)) {
    const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const text = texts.currentNode.textContent.trim();
      const element = texts.currentNode.parentElement;
      if (!text || !element.checkVisibility()) continue;
      const style = getComputedStyle(element);
      const below = background(element);
      const colour = element instanceof SVGElement ? style.fill : style.color;
      const [high, low] = [luminance(over(channels(colour), below)), luminance(below)]
        .sort((first, second) => second - first);
      contrasts.push([text, (high + 0.05) / (low + 0.05)]);
    }
  }
  return contrasts;
}
"""
"""Script that returns each visible text below the elements of a selector with its contrast to the
background, according to WCAG 2.2's relative luminance."""
