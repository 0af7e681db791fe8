// A fake sandbox process on the virtual clock. It runs requests one after the other, as the real process does; the text of a
// request decides how long the request takes and whether the process hangs or dies.
import { Duplex } from 'node:stream';
import { type Frame, FrameReader, writeFrame } from '../../../src/expression/sandbox/frames.ts';
import type { Launch, LaunchedProcess } from '../../../src/expression/sandbox/launch.ts';
import type { VirtualClock } from '../../virtual-clock.ts';

export interface FakeProcesses {
  launch: Launch;
  /** The texts that each process ran, in their order; the text of a request with its whole time has the prefix "long ". */
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
const costlyMs = 10;

export interface FakeOptions {
  /** What a real process needs after a time-out, to build the next isolate. */
  rebuildMs?: number;
  /** Where the request is more than a word. */
  wordOf?: (text: string) => string;
  answerTo?: (text: string) => string;
}

/**
 * Words: "hang…" never ends, "slow…" ends in a time-out, "die…" ends the process, "costly…" takes 10 ms, any other a millisecond.
 */
export function fakeProcesses(
  clock: VirtualClock,
  { rebuildMs = 0, wordOf = (text) => text, answerTo = (text) => `${text}!` }: FakeOptions = {},
): FakeProcesses {
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
    const send = (...frames: Frame[]) => {
      if (isDead) return;
      const pieces: Buffer[] = [];
      const gather = { write: (piece: string) => pieces.push(Buffer.from(piece)) };
      for (const frame of frames) writeFrame(gather as never, frame);
      channel.push(Buffer.concat(pieces));
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
      const frame = isBusy || isDead ? undefined : waiting.shift();
      if (frame === undefined) return;
      const { kind, number: ms } = frame;
      if (kind === 'setup') {
        const isFailing = fake.failingStarts > 0;
        if (isFailing) fake.failingStarts--;
        after(startMs, () => (isFailing ? die('exit code 1') : send({ kind: 'ready', number: ms, text: '' })));
        return;
      }
      const texts = frame.text.split('\n');
      const words = texts.map(wordOf);
      ran.push(...words.map((word) => (ms === softMs ? `long ${word}` : word)));
      const has = (prefix: string) => words.some((word) => word.startsWith(prefix));
      const tookMs = words.reduce((sum, word) => sum + (word.startsWith('costly') ? costlyMs : 1), 0);
      if (has('hang')) isBusy = true;
      else if (has('die')) after(1, () => die('SIGABRT'));
      else if (has('slow') || tookMs > ms)
        after(ms, () => {
          send({ kind: 'timeout', number: 0, text: '' });
          after(rebuildMs, () => {});
        });
      else
        after(tookMs, () => send(...texts.map((text): Frame => ({ kind: 'answer', number: 0, text: answerTo(text) }))));
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
