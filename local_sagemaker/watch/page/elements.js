// Elements. Values from a state are always set as text, never as markup.

export const $ = (id) => document.getElementById(id);

/** Create an element. The property `class` and names with a dash are set as attributes. */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "class" || name.includes("-")) element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children);
  return element;
}

/** Set the text of an element, unless it is unchanged. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * Show one element per item, in the order of the items. `create(item)` returns a new element, and
 * `update(element, item)` updates it. Existing elements are reused, so that they keep the focus.
 */
export function renderList(parent, items, keyOf, create, update) {
  const elements = new Map([...parent.children].map((element) => [element.dataset.key, element]));
  const keys = new Set(items.map((item) => String(keyOf(item))));
  for (const [key, element] of elements) if (!keys.has(key)) element.remove();
  let next = parent.firstElementChild;
  for (const item of items) {
    const key = String(keyOf(item));
    let element = elements.get(key);
    if (!element) {
      element = create(item);
      element.dataset.key = key;
    }
    if (element === next) next = next.nextElementSibling;
    else parent.insertBefore(element, next);
    update(element, item);
  }
}
