// A fake sandbox process on the virtual clock. It runs requests one after the other, as the real process does; the text of a
// request decides how long the request takes and whether the process hangs or dies.
import { Duplex } from 'node:stream';
import { batchesOf } from '../../../src/expression/sandbox/batches.ts';
import { type Frame, FrameReader, FrameWriter } from '../../../src/expression/sandbox/frames.ts';
import type { Launch, LaunchedProcess } from '../../../src/expression/sandbox/launch.ts';
import { firstSliceMs } from '../../../src/expression/sandbox/time-slice.ts';
import type { VirtualClock } from '../../virtual-clock.ts';

export interface FakeProcesses {
  launch: Launch;
  /** The texts that each process ran, in their order; the text of a long request has the prefix "long ". */
  readonly ran: string[][];
  readonly kills: () => number;
  readonly living: () => number;
  /** Undefined: a system without /proc. */
  residentMb: number | undefined;
  /** The same for each process in the order of the starts, where it differs. */
  sizesMb: readonly (number | undefined)[];
  /** Processor time as a share of the time of the clock; undefined: the kernel does not tell. */
  cpuShare: number | undefined;
  /** How many of the next processes end before they are ready. */
  failingStarts: number;
}

const softMs = 500;
const startMs = 60;

/** Texts: "hang…" never ends, "slow…" ends in a time-out, "die…" ends the process, "costly…" is answered late, any other is answered. */
export function fakeProcesses(clock: VirtualClock): FakeProcesses {
  let kills = 0;
  let living = 0;
  const fake: FakeProcesses = {
    launch,
    ran: [],
    kills: () => kills,
    living: () => living,
    residentMb: 60,
    sizesMb: [],
    cpuShare: 1,
    failingStarts: 0,
  };
  return fake;

  function launch(): LaunchedProcess {
    const ran: string[] = [];
    living++;
    const number = fake.ran.push(ran) - 1;
    const reader = new FrameReader();
    const waiting: Frame[] = [];
    let isBusy = false;
    let isDead = false;
    let end: (how: string) => void = () => {};
    const ended = new Promise<string>((resolve) => {
      end = resolve;
    });
    const die = (how: string) => {
      if (isDead) return;
      isDead = true;
      living--;
      end(how);
    };
    const channel = new Duplex({
      read() {},
      write(chunk: Buffer, _encoding, done) {
        waiting.push(...reader.read(chunk));
        work();
        done();
      },
    });
    const send = (id: number, kind: Frame['kind'], text = '') => {
      if (isDead) return;
      const writer = new FrameWriter();
      writer.add({ id, kind, text });
      const frames: Buffer[] = [];
      writer.writeTo({ write: (piece: string) => frames.push(Buffer.from(piece)), cork() {}, uncork() {} } as never);
      channel.push(Buffer.concat(frames));
    };
    const after = (ms: number, act: () => void) => {
      isBusy = true;
      clock.after(ms, () => {
        isBusy = false;
        if (!isDead) act();
        work();
      });
    };
    function work(): void {
      const [batch] = isBusy || isDead ? [] : batchesOf(waiting);
      if (batch === undefined) return;
      waiting.splice(0, batch.length);
      const [{ id, kind }] = batch as [Frame];
      if (kind === 'setup') {
        const isFailing = fake.failingStarts > 0;
        if (isFailing) fake.failingStarts--;
        after(startMs, () => (isFailing ? die('exit code 1') : send(id, 'ready')));
        return;
      }
      for (const { text } of batch) ran.push(kind === 'long' ? `long ${text}` : text);
      const has = (prefix: string) => batch.some(({ text }) => text.startsWith(prefix));
      const sendAll = (answerOf: (text: string) => [Frame['kind'], string?]) => {
        for (const { id: each, text } of batch) send(each, ...answerOf(text));
      };
      const sliceMs = kind === 'long' ? softMs : firstSliceMs(batch.reduce((sum, { text }) => sum + text.length, 0));
      if (has('hang')) isBusy = true;
      else if (has('die')) after(1, () => die('SIGABRT'));
      else if (has('slow')) after(sliceMs, () => sendAll(() => [batch.length > 1 ? 'unsure' : 'timeout']));
      else after(batch.length, () => sendAll((text) => [text.startsWith('costly') ? 'costly' : 'answer', `${text}!`]));
    }
    return {
      pid: undefined,
      channel,
      lastWords: '',
      kill: () => {
        if (!isDead) kills++;
        die('SIGKILL');
      },
      residentMb: () => fake.sizesMb[number] ?? fake.residentMb,
      cpuMs: () => (fake.cpuShare === undefined ? undefined : clock.now() * fake.cpuShare),
      ended,
    };
  }
}
