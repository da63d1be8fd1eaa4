// Asks for the state each second, one ask at a time, and only for what is new in it.

const EVERY_MS = 1000;
const TIMEOUT_MS = 10000;
const OVERLAP_S = 3; // seconds of the rates are asked for again: one may have been incomplete

/**
 * Calls `began(state)` for the first state of a run, `told(state)` for each, and
 * `lost(since)` with a Date when nothing answers, and `lost(null)` when something does again.
 */
export function follow({ began, told, lost }) {
  let run = null;
  let after = 0;
  let since = 0;
  let lostSince = null;
  let timer = 0;
  let asking = false;

  async function ask() {
    const query = `?after=${after}&since=${since}`;
    const answer = await fetch(`state${query}`, {
      cache: "no-store",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    return answer.json();
  }

  async function turn() {
    if (asking) return;
    asking = true;
    clearTimeout(timer);
    try {
      let state = await ask();
      if (state.started !== run) {
        if (run !== null) {
          after = since = 0;
          state = await ask();
        }
        run = state.started;
        began(state);
      }
      after = state.events.at(-1)?.sequence ?? after;
      since = Math.floor(state.now) - OVERLAP_S;
      told(state);
      if (lostSince !== null) lost((lostSince = null));
    } catch {
      if (lostSince === null) lost((lostSince = new Date()));
    }
    asking = false;
    if (!document.hidden) timer = setTimeout(turn, EVERY_MS);
  }

  document.addEventListener("visibilitychange", () => {
    if (document.hidden) clearTimeout(timer);
    else turn();
  });
  turn();
}
