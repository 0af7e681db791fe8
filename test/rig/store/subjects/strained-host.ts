// A host as a store must take it: its stream lags behind its answers, and a stream that was opened again repeats changes.
import type { HostListener, HostRecords } from '../../../../src/store/kubernetes/records/host-records.ts';

/** Longer than some questions of a client, so that others read and write before a change is heard. */
const lagMs = 25;
/** Of the stream; may be longer for a while. */
export const lag = { ms: lagMs };

/** Long enough for others to make and remove something before it is heard. */
export async function lagBehind(forMs: number): Promise<void> {
  lag.ms = forMs;
  await new Promise((resolve) => setTimeout(resolve, forMs));
  lag.ms = lagMs;
}
/** Every so manieth change comes twice. */
const repeatEvery = 3;
/** Every so manieth answer to what was made is late, and every so manieth to what was removed is not. */
const lateEvery = 2;

export function strained(host: HostRecords): HostRecords {
  const follow = host.follow.bind(host);
  host.follow = (listener) => follow(late(listener));
  return host;
}

/** The other way round: the stream tells of a change, and of what others make of it, before whoever asked for the change has an answer. */
export function slowToAnswer(host: HostRecords): HostRecords {
  const [create, remove] = [host.create.bind(host), host.remove.bind(host)];
  let [made, removed] = [0, 0];
  host.create = async (...asked) => {
    const answer = await create(...asked);
    if (++made % lateEvery === 0) await whenLater();
    return answer;
  };
  host.remove = async (...asked) => {
    const answer = await remove(...asked);
    if (++removed % lateEvery !== 0) await whenLater();
    return answer;
  };
  return host;
}

/** In their order, also where the lag has changed. */
function late(listener: HostListener): HostListener {
  let changes = 0;
  const calls: (() => void)[] = [];
  let lastMs = 0;
  const pass = (call: () => void) => {
    calls.push(call);
    lastMs = Math.max(lastMs, performance.now() + lag.ms);
    setTimeout(() => calls.shift()?.(), lastMs - performance.now());
  };
  return {
    listed: (...list) => pass(() => listener.listed(...list)),
    changed(change) {
      changes++;
      pass(() => listener.changed(change));
      if (changes % repeatEvery === 0) pass(() => listener.changed(change));
    },
    wentBack: (message) => pass(() => listener.wentBack(message)),
    trouble: (message) => pass(() => listener.trouble(message)),
  };
}

function later(does: () => void): void {
  setTimeout(does, lagMs);
}

function whenLater(): Promise<void> {
  return new Promise((resolve) => later(resolve));
}
