// Records of a host whose stream of changes stops and goes on as a test says.
import type { HostListener, HostRecords } from '../../../src/store/kubernetes/records/host-records.ts';

export function stoppable(records: HostRecords) {
  let answered: (() => void) | undefined;
  const get = records.get.bind(records);
  records.get = async (...asked) => {
    const found = await get(...asked);
    setImmediate(() => answered?.());
    return found;
  };
  let waiting: (() => void)[] | undefined;
  const pass = (call: () => void) => (waiting === undefined ? call() : void waiting.push(call));
  const behind = (listener: HostListener): HostListener => ({
    listed: (...list) => pass(() => listener.listed(...list)),
    changed: (change) => pass(() => listener.changed(change)),
    wentBack: (message) => pass(() => listener.wentBack(message)),
    trouble: (message) => pass(() => listener.trouble(message)),
  });
  const follow = records.follow.bind(records);
  records.follow = (listener) => follow(behind(listener));
  return {
    host: records,
    stop() {
      waiting = [];
    },
    /** A record that was asked for is here, and who asked has it. */
    answered: () =>
      new Promise<void>((resolve) => {
        answered = resolve;
      }),
    /** Delivers what has waited. */
    goOn() {
      const calls = waiting ?? [];
      waiting = undefined;
      for (const call of calls) call();
    },
    /** How many calls wait. */
    get count() {
      return waiting?.length ?? 0;
    },
    /** Delivers what has waited but for the newest, which the host has forgotten: a whole list follows. */
    forgetNewest() {
      waiting?.pop();
      this.goOn();
      records.listAgain();
    },
  };
}
