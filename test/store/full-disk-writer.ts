// A process that writes until its disk is full, tells how it went, and then reads once more. Its parent limits the disk.
import { systemClock } from '../../src/clock.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';

const store = new SqliteStore({ clock: systemClock, path: String(process.argv[2]) });
await store.start();
const value = 'x'.repeat(4096);
let acknowledged = 0;
let fault: { code?: string; message?: string } = {};
const most = 5_000;
while (acknowledged < most) {
  try {
    await store.write(`/${acknowledged}`, { expect: 0, value });
    acknowledged++;
  } catch (error) {
    fault = error as { code?: string; message?: string };
    break;
  }
}
const again = await store.write('/again', { expect: 0, value }).then(
  () => 'written',
  (error: { code?: string }) => error.code,
);
const { record } = await store.get('/0');
const list = await store.list('/');
const readable = list.kind === 'page' ? list.records.length : -1;
const { code, message } = fault;
console.log(JSON.stringify({ acknowledged, code, message, again, isReadable: record?.value === value, readable }));
process.exit(0);
