import { describe, expect, it } from 'vitest';
import { decideRemoval, decideStrays } from '../../../src/sync/plan/decide/removal.ts';
import {
  controlledByKey,
  managedAnnotationsKey,
  markerLabel,
  objectKeys,
  pauseKey,
  skipBackSyncKey,
} from '../../../src/sync/plan/keys/reserved-keys.ts';
import type { HostItem } from '../../../src/sync/plan/kind.ts';
import type { Facts, Outcome } from '../../../src/sync/plan/step.ts';
import { asAnnotation, type Change, copyWith, factsWith, stepText, translation, virtualWith } from '../facts.ts';

const ineligible: Outcome = { kind: 'ineligible', reason: 'NoService', message: 'there is no Service' };
const gone = { virtual: undefined };
const isDeleting: Change = ({ metadata }) => Object.assign(metadata, { deletionTimestamp: 'now' });
const native: Change = ({ metadata }) => {
  metadata.labels = {};
  metadata.annotations = {};
};
const ofOther: Change = ({ metadata }) => {
  metadata.labels = { [markerLabel]: 'another' };
  delete metadata.annotations?.[objectKeys.kind];
};
/** vCluster copied the key from the tenant, so the host did not set it. */
const copied =
  (key: string, value: string): Change =>
  (object) => {
    asAnnotation(key, value)(object);
    asAnnotation(managedAnnotationsKey, key)(object);
  };

interface Row {
  rule: string;
  host?: Change;
  facts?: Partial<Facts>;
  step: string;
}

const rows: Row[] = [
  { rule: '2: our copy is deleted', step: 'host remove' },
  { rule: '2: there is no copy', facts: { host: undefined }, step: 'ineligible NoService' },
  { rule: '2: a native object stays', host: native, step: 'ineligible NoService' },
  { rule: '2: a foreign object stays', host: ofOther, step: 'ineligible NoService' },
  {
    rule: '2: a copy without object-name stays',
    host: asAnnotation(objectKeys.name, undefined),
    step: 'left NotOurs',
  },
  {
    rule: '2: a copy without object-namespace stays',
    host: asAnnotation(objectKeys.namespace, undefined),
    step: 'left NotOurs',
  },
  { rule: '3: a copy that is being deleted is not deleted again', host: isDeleting, step: 'ineligible NoService' },
  { rule: '9: a paused copy stays', host: asAnnotation(pauseKey, 'true'), step: 'left Paused' },
  {
    rule: '9: a copy with another controller stays',
    host: asAnnotation(controlledByKey, 'other'),
    step: 'left ControlledByOther',
  },
  {
    rule: '9: controlled-by copied from the tenant is ignored',
    host: copied(controlledByKey, 'other'),
    step: 'host remove',
  },
  {
    rule: '9: controlled-by that is also on the virtual object is ignored',
    host: asAnnotation(controlledByKey, 'other'),
    facts: { virtual: virtualWith(asAnnotation(controlledByKey, 'other')) },
    step: 'host remove',
  },
  {
    rule: '9: skip-backsync keeps the copy of a deleted object',
    host: asAnnotation(skipBackSyncKey, 'true'),
    facts: gone,
    step: 'left KeptByHost',
  },
  {
    rule: '9: skip-backsync does not keep the copy of an object that exists',
    host: asAnnotation(skipBackSyncKey, 'true'),
    step: 'host remove',
  },
  {
    rule: '9: skip-backsync copied from the tenant is ignored',
    host: copied(skipBackSyncKey, 'true'),
    facts: gone,
    step: 'host remove',
  },
  { rule: '15: a list is in doubt', facts: { isDeleteWithheld: true }, step: 'waiting DeleteWithheld' },
];

describe('a copy that must not exist', () => {
  it.each(rows)('$rule: $step', ({ host, facts, step }) => {
    const given = factsWith({ host: copyWith(host), ...facts });
    expect(stepText(decideRemoval(given, translation, ineligible))).toBe(step);
  });
});

describe('an old copy at a former place of the key', () => {
  const at = (namespace: string, change: Change = () => {}): HostItem =>
    copyWith((object) => {
      Object.assign(object.metadata, { namespace });
      change(object);
    });

  it.each<[rule: string, strays: HostItem[], step: string, from?: string]>([
    ['is deleted once its key is settled', [at('one')], 'host remove', 'one'],
    [
      'is deleted although a paused one before it stays',
      [at('one', asAnnotation(pauseKey, 'true')), at('two')],
      'host remove',
      'two',
    ],
    ['is not deleted again', [at('one', isDeleting)], 'inSync'],
  ])('%s', (_, strays, step, from) => {
    const decided = decideStrays(factsWith({ strays }), translation, { kind: 'inSync' });
    expect(stepText(decided)).toBe(step);
    if (from !== undefined) expect(decided).toMatchObject({ request: { place: { namespace: from } } });
  });

  it('stays while a list is in doubt', () => {
    const facts = factsWith({ strays: [at('one')], isDeleteWithheld: true });
    expect(stepText(decideStrays(facts, translation, { kind: 'inSync' }))).toBe('waiting DeleteWithheld');
  });
});
