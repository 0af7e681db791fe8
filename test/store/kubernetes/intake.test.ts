import { describe, expect, it } from 'vitest';
import { Intake } from '../../../src/store/kubernetes/intake.ts';
import type { HostRecord } from '../../../src/store/kubernetes/records/host-records.ts';
import { nameOf, recordData, replicaData, replicaName } from '../../../src/store/kubernetes/records/record-format.ts';
import { type Judge, type RecordReaderOptions, whyNot } from '../../../src/store/kubernetes/trust/record-reader.ts';
import { Seals } from '../../../src/store/kubernetes/trust/seals.ts';
import { Timeline } from '../../../src/store/timeline.ts';
import { VirtualClock } from '../../virtual-clock.ts';

/** A store of one replica that has read nothing yet. */
function opened(options: RecordReaderOptions = {}) {
  const seals = new Seals([{ version: 1, bytes: new Uint8Array(32) }]);
  seals.useStore('first');
  const intake = new Intake({ clock: new VirtualClock(), seals: () => seals, ...options });
  const timeline = new Timeline();
  const recordOf = (key: string, value: string, version: number): HostRecord => {
    const data = recordData(key, value, undefined, { offset: 0, after: version - 1 });
    return { name: nameOf(key), version, data: seals.applied(nameOf(key), data) };
  };
  const replicaOf = (replica: string, version: number): HostRecord => {
    const sight = {
      epoch: 'first',
      reached: 1,
      since: 1,
      putBack: [],
      guesses: [],
      gone: [],
      isNew: false,
      isSetBack: false,
    };
    const data = replicaData({ replica, beat: 1, about: '' }, sight);
    return { name: replicaName(replica), version, data: seals.applied(replicaName(replica), data) };
  };
  const list = (records: readonly HostRecord[], judge: Judge = () => undefined) => {
    const taken = intake.takeAll(records, { offset: 0, before: timeline, judge });
    timeline.restore({ versions: taken.map((one) => ({ ...one, before: undefined, atMs: 0 })), compactedRevision: 0 });
  };
  const change = (found: HostRecord, isThere: boolean) => {
    const read = isThere ? intake.read(found, 0) : undefined;
    const taken = intake.take(found, read, { offset: 0, timeline });
    if (taken !== undefined) timeline.apply({ ...taken, before: timeline.newest(taken.key), atMs: 0 });
  };
  return { intake, list, change, recordOf, replicaOf };
}

describe('Intake', () => {
  it('counts the records and values that are there, however often they were replaced and removed', () => {
    const { intake, list, change, recordOf } = opened();
    list([recordOf('/a', '"1234567"', 1)]);
    for (let version = 2; version < 50; version++) change(recordOf('/a', '"12"', version), true);
    change(recordOf('/b', '"1"', 60), true);
    expect(intake.size).toEqual({ records: 2, bytes: 7 });
    change(recordOf('/a', '"12"', 61), false);
    expect(intake.size).toEqual({ records: 1, bytes: 3 });
    list([recordOf('/b', '"1"', 60)]);
    expect(intake.size).toEqual({ records: 1, bytes: 3 });
  });

  it('leaves a record aside whose value nobody can use, sealed or not, and takes it in when it is good again', () => {
    const told: [string, string | undefined, boolean][] = [];
    const isUsable = ({ value }: { value: string }) => value.startsWith('"');
    const { intake, list, change, recordOf } = opened({
      isUsable,
      unusable: (name, why, { gone }) => void told.push([name, why, gone]),
    });
    list([recordOf('/a', 'broken', 1), recordOf('/b', '"fine"', 2)]);
    expect([...intake.aside]).toEqual([[nameOf('/a'), 'its value is damaged']]);
    expect(intake.size).toEqual({ records: 1, bytes: 6 });
    change(recordOf('/a', '"good"', 3), true);
    expect([...intake.aside]).toEqual([]);
    change(recordOf('/a', 'broken', 4), true);
    change(recordOf('/a', 'broken', 5), false);
    expect(told).toEqual([
      [nameOf('/a'), 'its value is damaged', false],
      [nameOf('/a'), undefined, false],
      [nameOf('/a'), 'its value is damaged', false],
      [nameOf('/a'), undefined, true],
    ]);
  });

  it.each([
    ['is written again', true],
    ['is deleted', false],
  ])('names a record that was put back no longer when it %s', (_, isThere) => {
    const { intake, list, change, recordOf } = opened();
    list([recordOf('/a', '"old"', 30)], () => 'old');
    expect([...intake.putBack, ...intake.aside]).toEqual([
      [nameOf('/a'), 30],
      [nameOf('/a'), whyNot.old],
    ]);
    change(recordOf('/a', '"new"', 31), isThere);
    expect([intake.putBack.size, intake.aside.size]).toEqual([0, 0]);
  });

  it('believes a record that was made again by somebody who had read its deletion, which this replica has missed', () => {
    const { intake, list, recordOf } = opened();
    list([recordOf('/a', '"old"', 10)]);
    const old = recordOf('/a', '"old"', 10);
    list([recordOf('/b', '"1"', 15)]);
    // Its history begins anew with the list. The writer had read up to version 12, and says so.
    const timeline = new Timeline();
    timeline.restore({ versions: [], compactedRevision: 15 });
    const again = { ...recordOf('/a', '"new"', 13), version: 16 };
    expect(intake.readNext(again, 0, timeline)).toMatchObject({ kind: 'record' });
    expect(intake.readNext({ ...old, version: 17 }, 0, timeline)).toMatchObject({ kind: 'unusable' });
  });

  it('hears no replica any more whose record a whole list lacks', () => {
    const { intake, list, replicaOf } = opened();
    list([replicaOf('one', 5), replicaOf('two', 6)]);
    list([replicaOf('two', 7)]);
    expect([...intake.replicas.beats.keys()]).toEqual(['two']);
  });
});
