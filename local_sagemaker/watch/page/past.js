// What has happened in the last minutes, by instance and model: from events, and from each state.

const KEPT_S = 600;
const MISSING_S = 5; // what no state has for so long has ended, whatever was not told

/** The past of one run. */
export class Past {
  #last = 0; // the sequence number of the last event

  constructor() {
    this.instances = new Map(); // by id
    this.rates = new Map(); // [second, calls, errors, p50, p95] by endpoint and variant
    this.events = [];
  }

  /** Take in a state. */
  add(state) {
    for (const event of state.events) this.#happened(event);
    for (const endpoint of state.endpoints) {
      for (const variant of endpoint.variants) {
        this.#counted(key(endpoint.name, variant.name), variant.rates, state.now);
        for (const instance of variant.instances) this.#seen(endpoint, variant, instance, state.now);
      }
    }
    this.#forget(state.now);
  }

  /** Return the rates of a variant, the oldest first. */
  ratesOf(endpoint, variant) {
    return this.rates.get(key(endpoint, variant)) ?? [];
  }

  /** Return the instances of a variant that there were since a time, the oldest first. */
  instancesOf(endpoint, variant, since) {
    return [...this.instances.values()].filter(
      (it) => it.endpoint === endpoint && it.variant === variant && !(it.ended < since),
    );
  }

  #happened(event) {
    if (event.sequence <= this.#last) return;
    this.#last = event.sequence;
    this.events.push(event);
    if (event.instance === null) return;
    const instance = this.#instance(event.endpoint, event.variant, event.instance, event.time);
    const at = event.time;
    if (event.model !== null) {
      stepped(row(instance, event.model, event.name), event.kind, at);
    } else if (event.kind === "instance healthy") {
      instance.healthy ??= at; // later ones: it passes pings again
    } else if (event.kind === "instance leaving") {
      instance.leaving = at;
    } else if (event.kind === "instance replaced") {
      instance.replaced = at;
    } else if (event.kind === "instance ended") {
      ended(instance, at);
    }
  }

  #instance(endpoint, variant, id, since) {
    if (!this.instances.has(id)) {
      this.instances.set(id, { id, endpoint, variant, since, models: new Map(), latest: null });
    }
    return this.instances.get(id);
  }

  #counted(name, told, now) {
    const rates = this.rates.get(name) ?? [];
    while (rates.length && rates.at(-1)[0] >= told.first) rates.pop();
    told.calls.forEach((calls, it) =>
      rates.push([told.first + it, calls, told.errors[it], told.p50[it], told.p95[it]]),
    );
    while (rates.length && rates[0][0] < now - KEPT_S) rates.shift();
    this.rates.set(name, rates);
  }

  #seen(endpoint, variant, told, now) {
    const instance = this.#instance(endpoint.name, variant.name, told.id, now - KEPT_S);
    if (instance.ended) return;
    instance.latest = told;
    instance.seen = now;
    for (const model of told.models) {
      const known = row(instance, model.target, model.name);
      let span = known.spans.at(-1);
      if (!span || span.to) {
        known.spans.push((span = { from: model.since }));
      }
      span.seen = now;
      if (model.state === "loaded") span.loaded ??= model.since;
      answered(known, model, now);
    }
  }

  #forget(now) {
    for (const instance of this.instances.values()) {
      if (!instance.ended && instance.seen < now - MISSING_S) ended(instance, instance.seen);
      if (instance.ended < now - KEPT_S) this.instances.delete(instance.id);
      for (const [target, model] of instance.models) {
        const seen = model.spans.at(-1)?.seen;
        if (seen < now - MISSING_S) left(model, seen);
        model.spans = model.spans.filter((it) => !(it.to < now - KEPT_S));
        while (model.served.length && model.served[0][0] < now - KEPT_S) model.served.shift();
        if (!model.spans.length) instance.models.delete(target);
      }
    }
    this.events = this.events.slice(-500);
  }
}

function key(endpoint, variant) {
  return `${endpoint}\n${variant}`;
}

/** A model of an instance: when it was there, and [time, calls a second] of what it answered. */
function row(instance, target, name) {
  if (!instance.models.has(target)) {
    instance.models.set(target, { target, name, spans: [], served: [], latest: null, counted: null });
  }
  return instance.models.get(target);
}

function stepped(model, kind, at) {
  let span = model.spans.at(-1);
  if (kind === "model downloading" || !span || span.to) {
    if (kind === "model deleted") return; // it was not loaded
    model.spans.push((span = { from: at }));
  }
  span.seen = at;
  if (kind === "model loading") span.loading = at;
  if (kind === "model loaded") span.loaded = at;
  if (kind === "model unloading") span.unloading = at;
  const end = { "model unloaded": "unloaded", "model evicted": "evicted", "model failed": "failed" }[kind];
  if (end) {
    span.to = at;
    span.end = end;
    model.counted = null;
  }
}

function ended(instance, at) {
  instance.ended = at;
  for (const model of instance.models.values()) left(model, at);
}

/** Have a model end, unless how it did was told. */
function left(model, at) {
  const span = model.spans.at(-1);
  if (!span || span.to) return;
  Object.assign(span, { to: at, end: "ended" });
  model.counted = null;
}

function answered(model, told, now) {
  const before = model.counted;
  model.latest = told;
  model.counted = { at: now, answered: told.answered };
  if (before && told.answered > before.answered && now > before.at) {
    model.served.push([now, (told.answered - before.answered) / (now - before.at)]);
  }
}
