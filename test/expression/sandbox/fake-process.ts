// A fake sandbox process on the virtual clock. It runs requests one after the other, as the real process does; the text of a
// request decides how long the request takes and whether the process hangs or dies.
import { Duplex } from 'node:stream';
import { type Frame, FrameReader, FrameWriter } from '../../../src/expression/sandbox/frames.ts';
import type { Launch, LaunchedProcess } from '../../../src/expression/sandbox/launch.ts';
import { firstSliceMs } from '../../../src/expression/sandbox/time-slice.ts';
import type { VirtualClock } from '../../virtual-clock.ts';

export interface FakeProcesses {
  launch: Launch;
  /** The texts that each process ran, in their order; the text of a long request has the prefix "long ". */
  readonly ran: string[][];
  readonly kills: () => number;
  /** Undefined: a system without /proc. */
  residentMb: number | undefined;
  /** How many of the next processes end before they are ready. */
  failingStarts: number;
}

const softMs = 500;
const startMs = 60;

/** Texts: "hang…" never ends, "slow…" ends in a time-out, "die…" ends the process, any other text is answered. */
export function fakeProcesses(clock: VirtualClock): FakeProcesses {
  let kills = 0;
  const fake: FakeProcesses = { launch, ran: [], kills: () => kills, residentMb: 60, failingStarts: 0 };
  return fake;

  function launch(): LaunchedProcess {
    const ran: string[] = [];
    fake.ran.push(ran);
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
      const next = isBusy || isDead ? undefined : waiting.shift();
      if (next === undefined) return;
      const { id, kind, text } = next;
      if (kind === 'setup') {
        const isFailing = fake.failingStarts > 0;
        if (isFailing) fake.failingStarts--;
        after(startMs, () => (isFailing ? die('exit code 1') : send(id, 'ready')));
        return;
      }
      ran.push(kind === 'long' ? `long ${text}` : text);
      if (text.startsWith('hang')) isBusy = true;
      else if (text.startsWith('die')) after(1, () => die('SIGABRT'));
      else if (text.startsWith('slow'))
        after(kind === 'long' ? softMs : firstSliceMs(text.length), () => send(id, 'timeout'));
      else after(1, () => send(id, 'answer', `${text}!`));
    }
    return {
      pid: undefined,
      channel,
      lastWords: '',
      kill: () => {
        if (!isDead) kills++;
        die('SIGKILL');
      },
      residentMb: () => fake.residentMb,
      ended,
    };
  }
}
