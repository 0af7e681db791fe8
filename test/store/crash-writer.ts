// A process that writes as fast as possible and prints every acknowledgement, until the test kills it.
import { systemClock } from '../../src/clock.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';

const store = new SqliteStore({ clock: systemClock, path: String(process.argv[2]) });
await store.start();
const writers = 16;
for (let writer = 0; writer < writers; writer++) {
  void (async () => {
    for (let n = 0; ; n++) {
      const result = await store.write(`/${writer}/${n}`, { expect: 0, value: `value ${n}` });
      process.send?.({ key: `/${writer}/${n}`, revision: result.revision });
    }
  })();
}
