import { describe, expect, it } from 'vitest';
import type { Answer } from '../../../src/cluster/answer.ts';
import { endpointsKind } from '../../../src/sync/kinds/endpoints/endpoints-kind.ts';
import { createRules } from '../../../src/sync/loop/pass/rules.ts';
import { StoredAsRequested } from '../../../src/sync/loop/pass/stored-as-requested.ts';
import { decide } from '../../../src/sync/plan/decide/decide.ts';
import type { HostItem } from '../../../src/sync/plan/kind.ts';
import { type Facts, freshMemory, type RequestStep } from '../../../src/sync/plan/step.ts';
import {
  asAddress,
  asAnnotation,
  asLabel,
  type Change,
  copyWith,
  factsWith,
  key,
  rules,
  virtualWith,
} from '../facts.ts';
import { defaultSettings } from '../fake-sync.ts';

const moved: Change = asAddress('10.0.0.2');
const creates = factsWith({ host: undefined });
/** The tenant has changed the address and a label. */
const updates = factsWith({
  virtual: virtualWith((object) => {
    moved(object);
    asLabel('team', 'b')(object);
  }),
});

const updatesTwo = factsWith({ virtual: virtualWith(asAddress('10.0.0.2', '10.0.0.3')) });

function stepOf(facts: Facts): RequestStep {
  const step = decide(facts, freshMemory(), rules.translation);
  if (step.kind !== 'request') throw new Error('there is nothing to request');
  return step;
}

/** The host copy that the server has stored. */
function stored(facts: Facts, change: Change): HostItem {
  const { request } = stepOf(facts);
  const { mergePatch } = request as { mergePatch?: { metadata: { labels: object; annotations: object } } };
  return copyWith((object) => {
    if (mergePatch !== undefined) {
      moved(object);
      Object.assign(object.metadata.labels ?? {}, mergePatch.metadata.labels);
      Object.assign(object.metadata.annotations ?? {}, mergePatch.metadata.annotations);
    }
    object.metadata.resourceVersion = '21';
    change(object);
  });
}

interface Given {
  facts?: Facts;
  step?: Partial<RequestStep>;
  /** The difference between the stored copy and the request. */
  change?: Change;
  answer?: Partial<Answer>;
  hasNews?: boolean;
  hasNewRules?: boolean;
}

function endsAtOnce({
  facts = updates,
  step,
  change = () => {},
  answer,
  hasNews = false,
  hasNewRules,
}: Given): boolean {
  const host = stored(facts, change);
  const world = { rules: hasNewRules ? createRules(endpointsKind, defaultSettings) : rules, hostOf: () => host };
  const fastEnd = new StoredAsRequested(world, { looking: () => {}, hasNews: () => hasNews });
  const object = { metadata: { ...facts.place, resourceVersion: '21' } };
  const answered = { kind: 'ok', status: 200, object, ...answer } as Answer;
  const after = fastEnd.hostAfter({ ...stepOf(facts), ...step }, answered, { facts, rules });
  expect([undefined, host]).toContain(after);
  return after !== undefined;
}

describe('a pass ends after its last write', () => {
  it.each<[name: string, given: Given]>([
    ['when a create was stored as requested', { facts: creates }],
    ['when an update was stored as requested', {}],
    [
      'when the host reorders addresses and is known for it',
      { facts: { ...updatesTwo, ignoreOrder: true }, change: asAddress('10.0.0.3', '10.0.0.2') },
    ],
  ])('%s', (_, given) => {
    expect(endsAtOnce(given)).toBe(true);
  });
});

describe('a pass looks again', () => {
  it.each<[name: string, given: Given]>([
    ['when its write was not the last one', { step: { isLast: false } }],
    ['when the write failed', { answer: { kind: 'conflict', message: '' } }],
    ['when an event has come since the look', { hasNews: true }],
    ['when the rules have changed', { hasNewRules: true }],
    ['when the watch has brought a later version', { change: ({ metadata }) => (metadata.resourceVersion = '22') }],
    ['when the host stored other addresses', { change: asAddress('10.0.0.3') }],
    ['when the host reorders addresses', { facts: updatesTwo, change: asAddress('10.0.0.3', '10.0.0.2') }],
    ['when the host added a label', { change: asLabel('hook', 'h') }],
    ['when the host changed a label of the write', { change: asLabel('team', 'c') }],
    ['when the host dropped an existing label', { change: asLabel('vcluster.loft.sh/managed-by', undefined) }],
    ['when the host added an annotation', { change: asAnnotation('hook', 'h') }],
    ['when the host dropped an annotation of the write', { change: asAnnotation('hostward.dev/base', undefined) }],
    ['when the host dropped the owner', { change: ({ metadata }) => delete metadata.ownerReferences }],
    ['when another object has taken the name', { change: ({ metadata }) => (metadata.uid = 'h-2') }],
    [
      'when the copy is being deleted',
      { change: ({ metadata }) => Object.assign(metadata, { deletionTimestamp: 'x' }) },
    ],
    ['when a create was stored with another label', { facts: creates, change: asLabel('hook', 'h') }],
    ['when a create was stored with other addresses', { facts: creates, change: asAddress('10.0.0.3') }],
  ])('%s', (_, given) => {
    expect(endsAtOnce(given)).toBe(false);
  });
});

describe('while a host copy is written', () => {
  const ends = {
    ok: async () => ({ kind: 'gone', message: '' }) as const,
    fault: () => Promise.reject(new Error('no')),
  };
  it.each(['ok', 'fault'] as const)(
    'its events count as events of our own write, until the write ends: %s',
    async (end) => {
      const fastEnd = new StoredAsRequested(
        { rules, hostOf: () => undefined },
        { looking: () => {}, hasNews: () => false },
      );
      expect(fastEnd.isWriting(key)).toBe(false);
      let isWriting = false;
      const written = fastEnd.whileWriting(key, stepOf(updates), () => {
        isWriting = fastEnd.isWriting(key);
        return ends[end]();
      });
      await written.catch(() => {});
      expect([isWriting, fastEnd.isWriting(key)]).toEqual([true, false]);
    },
  );

  it('a delete and a back-flow do not count as such writes', async () => {
    const fastEnd = new StoredAsRequested(
      { rules, hostOf: () => undefined },
      { looking: () => {}, hasNews: () => false },
    );
    const removes = stepOf(factsWith({ verdict: { kind: 'ineligible', reason: 'NoService', sentence: '' } }));
    const backFlow = stepOf(factsWith({ host: copyWith(asLabel('team', 'c')) }));
    for (const step of [removes, backFlow])
      await fastEnd.whileWriting(key, step, async () => {
        expect(fastEnd.isWriting(key)).toBe(false);
        return { kind: 'gone', message: '' };
      });
    expect.assertions(2);
  });

  it('a look starts with all events until then, and with the rules in force', () => {
    const looked: string[] = [];
    const news = { looking: (one: string) => void looked.push(one), hasNews: () => false };
    const fastEnd = new StoredAsRequested({ rules, hostOf: () => undefined }, news);
    expect(fastEnd.beginLook(key)).toBe(rules);
    expect(looked).toEqual([key]);
  });
});
