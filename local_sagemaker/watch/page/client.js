// Requests the state each second, one request at a time, with only the new events and rates.

const INTERVAL_MS = 1000;
const TIMEOUT_MS = 10000;
const OVERLAP_S = 3; // the latest rates are requested again: a second may have been incomplete

/**
 * Poll the state. `onRun()` is called when a new run of the local SageMaker starts, `onState(state)`
 * for each state, `onConnection(lostSince)` with a Date if a request fails, and with null if the next
 * one succeeds.
 */
export function poll({ onRun, onState, onConnection }) {
  let run = null;
  let after = 0;
  let since = 0;
  let lostSince = null;
  let timer = 0;
  let isRequesting = false;

  async function request() {
    const query = `?after=${after}&since=${since}`;
    const response = await fetch(`state${query}`, {
      cache: "no-store",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (!response.ok) throw new Error(`status ${response.status}`);
    return response.json();
  }

  async function update() {
    if (isRequesting) return;
    isRequesting = true;
    clearTimeout(timer);
    try {
      let state = await request();
      if (state.started !== run) {
        if (run !== null) {
          after = since = 0;
          state = await request();
        }
        run = state.started;
        onRun();
      }
      after = state.events.at(-1)?.sequence ?? after;
      since = Math.floor(state.now) - OVERLAP_S;
      onState(state);
      if (lostSince !== null) onConnection((lostSince = null));
    } catch {
      if (lostSince === null) onConnection((lostSince = new Date()));
    }
    isRequesting = false;
    if (!document.hidden) timer = setTimeout(update, INTERVAL_MS);
  }

  document.addEventListener("visibilitychange", () => {
    if (document.hidden) clearTimeout(timer);
    else update();
  });
  update();
}
