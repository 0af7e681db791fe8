import { describe, expect, it } from 'vitest';
import { type Verdict, type VerdictPart, VerdictSince, verdictOf, worsened } from '../../../src/sync/report/verdict.ts';

const at = (second: number): Date => new Date(Date.UTC(2026, 0, 1, 0, 0, second, 500));
const time = (second: number): string => `2026-01-01T00:00:0${second}Z`;

function verdict(state: Verdict['state'], parts: readonly VerdictPart[], isWell = false): Verdict {
  return { state, isWell, parts, sentence: parts.map(({ text }) => text).join('; ') };
}

function inStep(objects: number): Verdict {
  return verdict('inStep', [{ name: 'inStep', text: `in step: ${objects} objects` }], true);
}

const behind = { name: 'behind', text: 'behind: 1 object waits' };
const blocked = { name: 'blocked', text: '3 objects cannot reach the host' };

describe('VerdictSince', () => {
  it('tells when the verdict became what it is, and not when its sentence changed', () => {
    const since = new VerdictSince();
    expect(since.note(inStep(1), at(1)).since).toBe(time(1));
    expect(since.note(inStep(2), at(2)).since).toBe(time(1));
    expect(since.note(verdict('blocked', [blocked]), at(3)).since).toBe(time(3));
    const more = { ...blocked, text: '4 objects cannot reach the host' };
    expect(since.note(verdict('blocked', [more]), at(9))).toEqual({
      state: 'blocked',
      isWell: false,
      sentence: '4 objects cannot reach the host',
      since: time(3),
    });
  });

  it('tells of each part since when it holds, also when another one comes first', () => {
    const since = new VerdictSince();
    since.note(verdict('blocked', [blocked]), at(1));
    expect(since.note(verdict('behind', [behind, blocked]), at(4))).toMatchObject({
      since: time(4),
      parts: [
        { part: behind.text, since: time(4) },
        { part: blocked.text, since: time(1) },
      ],
    });
    expect(since.note(verdict('blocked', [blocked]), at(6)).since).toBe(time(1));
    expect(since.note(verdict('behind', [behind, blocked]), at(8)).since).toBe(time(8));
  });

  it('goes on with the time of blocked objects after an outage', () => {
    const [since, fine] = [new VerdictSince(), { isSwitchedOff: false, waitsFor: undefined, isDryRun: false }];
    const facts = {
      ...fine,
      ...{ outages: [], standbyBehind: undefined, leaderless: undefined, ownerMissing: undefined },
      ...{ differences: 0, objects: 3, waiting: 0, oldestSeconds: 0 },
      blocked: new Map([['AddressRefused', 3]]),
      gaps: new Map([['PatchFailed', 1]]),
    };
    const outage = { cluster: 'host', kind: 'unreachable', since: time(3), seconds: 1, message: 'gone' } as const;
    since.note(verdictOf(facts), at(1));
    expect(since.note(verdictOf({ ...facts, outages: [outage] }), at(4)).parts?.map((one) => one.since)).toEqual([
      time(3),
      time(1),
      time(1),
    ]);
    expect(since.note(verdictOf(facts), at(9))).toMatchObject({ state: 'blocked', since: time(1) });
  });

  it('takes the time from a part that knows it better', () => {
    const outage = { name: 'host unreachable', text: 'cannot reach the host', since: time(2) };
    expect(new VerdictSince().note(verdict('unreachable', [outage]), at(5)).since).toBe(time(2));
  });

  it('begins again when the same state stops being well, for a reason other than the objects', () => {
    const since = new VerdictSince();
    since.note(inStep(1), at(1));
    const worse = worsened(inStep(1), ['the certificate ends']);
    expect(since.note(worse, at(4))).toMatchObject({
      since: time(4),
      sentence: 'the certificate ends; in step: 1 objects',
    });
    expect(since.note(inStep(1), at(5)).since).toBe(time(5));
  });
});
