import { describe, expect, it } from 'vitest';
import { freshPass, type PassMemory } from '../../../src/sync/kinds/content/pass-memory.ts';
import { contentFactsOf, type FactSources, versionOf } from '../../../src/sync/loop/content/content-facts.ts';

const key = 'default/db';

interface Given {
  seen?: { resourceVersion: string; data: string };
  isExported?: boolean;
  isComplete?: boolean;
  isListInDoubt?: boolean;
  isWithheld?: boolean;
  isMentioned?: boolean;
}

function sources(given: Given): FactSources {
  return {
    world: {
      rules: { translation: { placement: {}, labels: {} } },
      windows: { virtual: new Map(given.seen && [[key, given.seen]]), copies: new Map() },
      kind: { kind: 'Secret' },
      copyPlaceOf: () => ({ namespace: 'vcluster-vc', name: 'db-x' }),
      importPlaceOf: () => undefined,
      importableAt: () => undefined,
      straysOf: () => [],
      referenceOf: () => ({ kind: 'Secret', namespace: 'default', name: 'db' }),
      isExported: given.isExported ?? true,
    },
    registry: { isComplete: given.isComplete ?? true, isReferenced: () => false },
    owner: () => ({ kind: 'none' }),
    isMentioned: () => given.isMentioned ?? false,
    isListInDoubt: () => given.isListInDoubt ?? false,
    isWithheld: () => given.isWithheld ?? false,
    goneMarkOf: () => undefined,
  } as unknown as FactSources;
}
const facts = (given: Given, memory: Partial<PassMemory> = {}) =>
  contentFactsOf(key, { ...freshPass(), ...memory }, sources(given));

describe('contentFactsOf()', () => {
  it.each<[string, Given, boolean]>([
    ['nothing speaks against it', {}, true],
    ['not all references are counted', { isComplete: false }, false],
    ['the list of referring objects is in doubt', { isListInDoubt: true }, false],
    ['the list of the content is in doubt', { isWithheld: true }, false],
    ['a copy that could not be changed may still name it', { isMentioned: true }, false],
  ])('a copy may be removed where %s', (_, given, mayRemove) => {
    expect(facts(given).mayRemove).toBe(mayRemove);
  });

  it('takes what the pass has read only as long as the window shows no other version', () => {
    const read = { resourceVersion: '5', data: 'whole' } as unknown as PassMemory['read'];
    expect(facts({ seen: { resourceVersion: '5', data: '' } }, { read }).virtual).toMatchObject({ data: 'whole' });
    expect(facts({ seen: { resourceVersion: '6', data: '' } }, { read }).virtual).toMatchObject({ data: '' });
    expect(facts({}, { read }).virtual).toBeUndefined();
  });
});

describe('versionOf()', () => {
  it('is another one when the sync of the kind is switched', () => {
    expect(versionOf(facts({ isExported: true }))).not.toBe(versionOf(facts({ isExported: false })));
  });
});
