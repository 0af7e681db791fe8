import { expect, it } from 'vitest';
import type { Answer } from '../../../../src/cluster/answer.ts';
import type { Writer } from '../../../../src/cluster/write/writer.ts';
import { createLog } from '../../../../src/log.ts';
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
