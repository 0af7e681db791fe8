// A host as a store must take it: its stream lags behind its answers, and a stream that was opened again repeats changes.
import type { HostListener, HostRecords } from '../../../../src/store/kubernetes/records/host-records.ts';

/** Longer than some questions of a client, so that others read and write before a change is heard. */
const lagMs = 25;
/** Every so manieth change comes twice. */
const repeatEvery = 3;
/** Every so manieth answer to what was made is late. */
const lateEvery = 2;

export function strained(host: HostRecords): HostRecords {
  const follow = host.follow.bind(host);
  host.follow = (listener) => follow(late(listener));
  return host;
}

/** The other way round: the stream tells of a change, and of what others make of it, before whoever asked for the change has an answer. */
export function slowToAnswer(host: HostRecords): HostRecords {
  const [create, remove] = [host.create.bind(host), host.remove.bind(host)];
  let made = 0;
  host.create = async (...asked) => {
    const answer = await create(...asked);
    if (++made % lateEvery === 0) await whenLater();
    return answer;
  };
  host.remove = async (...asked) => {
    const answer = await remove(...asked);
    await whenLater();
    return answer;
  };
  return host;
}

/** Timers of one length fire in their order. */
function late(listener: HostListener): HostListener {
  let changes = 0;
  return {
    listed: (...list) => later(() => listener.listed(...list)),
    changed(change) {
      changes++;
      later(() => listener.changed(change));
      if (changes % repeatEvery === 0) later(() => listener.changed(change));
    },
    wentBack: (message) => later(() => listener.wentBack(message)),
    trouble: (message) => later(() => listener.trouble(message)),
  };
}

function later(does: () => void): void {
  setTimeout(does, lagMs);
}

function whenLater(): Promise<void> {
  return new Promise((resolve) => later(resolve));
}
