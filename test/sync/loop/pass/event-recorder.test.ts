import { describe, expect, it } from 'vitest';
import type { Answer } from '../../../../src/cluster/answer.ts';
import type { Writer } from '../../../../src/cluster/write/writer.ts';
import { createLog, silentLog } from '../../../../src/log.ts';
import { endpointsKind } from '../../../../src/sync/kinds/endpoints/endpoints-kind.ts';
import { createEventRecorder } from '../../../../src/sync/loop/pass/event-recorder.ts';
import { settle, VirtualClock } from '../../../virtual-clock.ts';

it('the log says once that events may not be written, and again when the right came back and went', async () => {
  const lines: { msg: string; why: string }[] = [];
  let isAllowed = false;
  const answer = async (): Promise<Answer> =>
    isAllowed
      ? ({ kind: 'ok', object: {} } as unknown as Answer)
      : ({ kind: 'forbidden', message: 'events is forbidden', namespaceTerminating: false } as unknown as Answer);
  const writer = { create: answer, patch: answer } as unknown as Writer;
  const events = createEventRecorder({
    writer,
    kind: endpointsKind,
    clock: new VirtualClock(),
    log: createLog({ level: 'warn', destination: { write: (line) => void lines.push(JSON.parse(line)) } }),
    mayWrite: () => true,
    onOutcome: () => {},
  });
  const record = async (message: string): Promise<void> => {
    events.record({ key: 'shop/web', uid: 'u', type: 'Warning', reason: 'PatchFailed', message });
    await settle();
  };
  for (const message of ['one', 'two', 'three']) await record(message);
  expect(lines).toMatchObject([
    {
      msg: 'events may not be written in the virtual cluster, so tenants are told of no refusal',
      why: 'events is forbidden',
      fix: 'hostward doctor --rights virtual',
    },
  ]);
  isAllowed = true;
  await record('four');
  isAllowed = false;
  await record('five');
  expect(lines).toHaveLength(2);
});

describe('more events at once than may be written', () => {
  const clock = new VirtualClock();
  function stage() {
    const written: string[] = [];
    const outcomes: string[] = [];
    let isLeader = true;
    const answer = { kind: 'ok', object: {} } as unknown as Answer;
    const create = async (_: unknown, { message }: { message: string }): Promise<Answer> => {
      written.push(message);
      return answer;
    };
    const events = createEventRecorder({
      writer: { create, patch: async () => answer } as unknown as Writer,
      kind: endpointsKind,
      clock,
      log: silentLog,
      mayWrite: () => isLeader,
      onOutcome: (outcome) => outcomes.push(outcome),
    });
    const record = (name: string, message = name): void =>
      events.record({ key: `shop/${name}`, uid: 'u', type: 'Warning', reason: 'PatchFailed', message });
    const names = Array.from({ length: 60 }, (_, at) => `web-${at}`);
    for (const name of names) record(name);
    return { events, record, written, outcomes, names, loseLease: () => (isLeader = false) };
  }

  it('wait for their turn, and none is lost', async () => {
    const { written, outcomes, names } = stage();
    expect(written).toEqual(names.slice(0, 50));
    await clock.advance(1000);
    expect(written).toEqual(names.slice(0, 55));
    await clock.advance(1000);
    expect(written).toEqual(names);
    expect(new Set(outcomes)).toEqual(new Set(['written']));
    expect(clock.pendingTimers).toBe(0);
  });

  it('tell the newest message once, and nothing of an object that is well again', async () => {
    const { events, record, written, names } = stage();
    record('web-51', 'another fault');
    record('web-0');
    events.forget('shop/web-52');
    await clock.advance(60_000);
    const wanted = names.filter((name) => name !== 'web-52');
    expect(written).toEqual(wanted.map((name) => (name === 'web-51' ? 'another fault' : name)));
  });

  it('are dropped beyond five thousand, and counted', async () => {
    const { record, outcomes, events } = stage();
    for (let at = 0; at < 5000; at++) record(`more-${at}`);
    expect(outcomes.filter((one) => one === 'dropped')).toHaveLength(10);
    events.stop();
    expect(clock.pendingTimers).toBe(0);
  });

  it('are told by the next leader where the lease is lost meanwhile', async () => {
    const { written, loseLease, names } = stage();
    loseLease();
    await clock.advance(60_000);
    expect(written).toEqual(names.slice(0, 50));
    expect(clock.pendingTimers).toBe(0);
  });
});
