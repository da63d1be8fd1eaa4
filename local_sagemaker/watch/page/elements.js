// Elements, of text alone: what comes from a state is never markup.

export const $ = (id) => document.getElementById(id);

/** Make an element; of its properties `class` and those with a dash are attributes. */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "class" || name.includes("-")) element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children);
  return element;
}

/** Set a text, and touch nothing where it is that already. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * Have an element for each item, in the order of the items: `begin(item)` makes one, `update(element,
 * item)` brings one up to date. Elements that stay keep their focus.
 */
export function each(parent, items, keyOf, begin, update) {
  const known = new Map([...parent.children].map((it) => [it.dataset.key, it]));
  const wanted = new Set(items.map((it) => String(keyOf(it))));
  for (const [key, element] of known) if (!wanted.has(key)) element.remove();
  let next = parent.firstElementChild;
  for (const item of items) {
    const key = String(keyOf(item));
    let element = known.get(key);
    if (!element) {
      element = begin(item);
      element.dataset.key = key;
    }
    if (element === next) next = next.nextElementSibling;
    else parent.insertBefore(element, next);
    update(element, item);
  }
}
