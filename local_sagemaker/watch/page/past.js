// The last minutes of instances and models, collected from events and states.

const STORED_S = 600;
const MISSING_S = 5; // an instance or model that is missing in all states for so long has ended

/** The past of one run of the local SageMaker. */
export class Past {
  #last = 0; // the sequence number of the last event

  constructor() {
    this.instances = new Map(); // by id
    this.rates = new Map(); // [second, calls, errors, p50, p95] by endpoint and variant
    this.events = [];
  }

  /** Add the data of a state. */
  add(state) {
    for (const event of state.events) this.#addEvent(event);
    for (const endpoint of state.endpoints) {
      for (const variant of endpoint.variants) {
        this.#addRates(key(endpoint.name, variant.name), variant.rates, state.now);
        for (const instance of variant.instances) this.#addInstance(endpoint, variant, instance, state.now);
      }
    }
    this.#deleteOld(state.now);
  }

  /** Return the rates of a variant, the oldest first. */
  ratesOf(endpoint, variant) {
    return this.rates.get(key(endpoint, variant)) ?? [];
  }

  /** Return the instances of a variant that existed since a time, the oldest first. */
  instancesOf(endpoint, variant, since) {
    return [...this.instances.values()].filter(
      (instance) => instance.endpoint === endpoint && instance.variant === variant && !(instance.ended < since),
    );
  }

  #addEvent(event) {
    if (event.sequence <= this.#last) return;
    this.#last = event.sequence;
    this.events.push(event);
    if (event.instance === null) return;
    const instance = this.#instance(event.endpoint, event.variant, event.instance, event.time);
    const { time } = event;
    if (event.model !== null) {
      addStep(modelOf(instance, event.model, event.name), event.kind, time);
    } else if (event.kind === "instance healthy") {
      instance.healthy ??= time; // later events: it passes pings again
    } else if (event.kind === "instance leaving") {
      instance.leaving = time;
    } else if (event.kind === "instance replaced") {
      instance.replaced = time;
    } else if (event.kind === "instance ended") {
      endInstance(instance, time);
    }
  }

  #instance(endpoint, variant, id, since) {
    if (!this.instances.has(id)) {
      this.instances.set(id, { id, endpoint, variant, since, models: new Map(), latest: null });
    }
    return this.instances.get(id);
  }

  #addRates(name, newRates, now) {
    const rates = this.rates.get(name) ?? [];
    while (rates.length && rates.at(-1)[0] >= newRates.first) rates.pop();
    newRates.calls.forEach((calls, index) =>
      rates.push([
        newRates.first + index, calls, newRates.errors[index], newRates.p50[index], newRates.p95[index],
      ]),
    );
    while (rates.length && rates[0][0] < now - STORED_S) rates.shift();
    this.rates.set(name, rates);
  }

  #addInstance(endpoint, variant, record, now) {
    const instance = this.#instance(endpoint.name, variant.name, record.id, now - STORED_S);
    if (instance.ended) return;
    instance.latest = record;
    instance.seen = now;
    for (const modelRecord of record.models) {
      const model = modelOf(instance, modelRecord.target, modelRecord.name);
      let span = model.spans.at(-1);
      if (!span || span.to) {
        model.spans.push((span = { from: modelRecord.since }));
      }
      span.seen = now;
      if (modelRecord.state === "loaded") span.loaded ??= modelRecord.since;
      addAnswered(model, modelRecord, now);
    }
  }

  #deleteOld(now) {
    for (const instance of this.instances.values()) {
      if (!instance.ended && instance.seen < now - MISSING_S) endInstance(instance, instance.seen);
      if (instance.ended < now - STORED_S) this.instances.delete(instance.id);
      for (const [target, model] of instance.models) {
        const seen = model.spans.at(-1)?.seen;
        if (seen < now - MISSING_S) endModel(model, seen);
        model.spans = model.spans.filter((span) => !(span.to < now - STORED_S));
        while (model.callRates.length && model.callRates[0][0] < now - STORED_S) model.callRates.shift();
        if (!model.spans.length) instance.models.delete(target);
      }
    }
    this.events = this.events.slice(-500);
  }
}

function key(endpoint, variant) {
  return `${endpoint}\n${variant}`;
}

/** Return a model of an instance, with its `spans` of time and `callRates`: [time, calls per second]. */
function modelOf(instance, target, name) {
  if (!instance.models.has(target)) {
    instance.models.set(target, { target, name, spans: [], callRates: [], latest: null, lastCount: null });
  }
  return instance.models.get(target);
}

function addStep(model, kind, time) {
  let span = model.spans.at(-1);
  if (kind === "model downloading" || !span || span.to) {
    if (kind === "model deleted") return; // it was not loaded
    model.spans.push((span = { from: time }));
  }
  span.seen = time;
  if (kind === "model loading") span.loading = time;
  if (kind === "model loaded") span.loaded = time;
  if (kind === "model unloading") span.unloading = time;
  const end = { "model unloaded": "unloaded", "model evicted": "evicted", "model failed": "failed" }[kind];
  if (end) {
    span.to = time;
    span.end = end;
    model.lastCount = null;
  }
}

function endInstance(instance, time) {
  instance.ended = time;
  for (const model of instance.models.values()) endModel(model, time);
}

/** End a model, unless an event has already ended it. */
function endModel(model, time) {
  const span = model.spans.at(-1);
  if (!span || span.to) return;
  Object.assign(span, { to: time, end: "ended" });
  model.lastCount = null;
}

function addAnswered(model, record, now) {
  const last = model.lastCount;
  model.latest = record;
  model.lastCount = { time: now, answered: record.answered };
  if (last && record.answered > last.answered && now > last.time) {
    model.callRates.push([now, (record.answered - last.answered) / (now - last.time)]);
  }
}
